package forecast

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/machine/sysmetrics"
)

// Machine describes the memory and disk that data can fill on this machine. A fact that is 0 is not
// known.
type Machine struct {
	MemoryBytes int64
	// FreeBytes are free for the members' directories. The directories are below Folder, or only
	// usually are if Usually is set. A full file system has 1.
	FreeBytes int64
	Folder    string
	Usually   bool
}

// Here returns the facts about this machine. Member directories are below folder, which need not
// exist; "" if that is not known.
func Here(folder string) *Machine {
	var m Machine
	host, _ := sysmetrics.HostFacts() // unreadable facts are not known
	m.MemoryBytes = host.MemoryBytes
	if folder == "" {
		return &m
	}
	m.Folder = folder
	dir, err := filepath.Abs(folder)
	if err != nil {
		return &m
	}
	for {
		var fs unix.Statfs_t
		err := unix.Statfs(dir, &fs)
		if err == nil {
			m.FreeBytes = max(int64(fs.Bavail)*int64(fs.Bsize), 1)
		}
		if !os.IsNotExist(err) || filepath.Dir(dir) == dir {
			return &m
		}
		dir = filepath.Dir(dir)
	}
}

// local reports whether all members of db are started on this machine.
func local(db *config.Database) bool {
	for _, h := range db.Hosts {
		if ip, err := netip.ParseAddr(h.Addr); err != nil || !ip.IsLoopback() {
			return false
		}
	}
	return len(db.Hosts) > 0 && len(db.Endpoints) == 0 && db.Steps.Start
}

// limit returns the share of r for each of n members on the machine, and who sets it; 0 is not
// known.
func (m *Machine) limit(r database.Resource, n int) (limit int64, of string) {
	switch r {
	case database.ResourceMemory, database.ResourceHeap:
		limit, of = m.MemoryBytes, "the memory of this machine"
	case database.ResourceDisk:
		limit, of = m.FreeBytes, "the free space below "+m.Folder
	}
	if n > 1 {
		of += fmt.Sprintf(", shared by %d members,", n)
	}
	return share(limit, int64(n)), of
}

// surely reports whether members will certainly use r on this machine.
func (m *Machine) surely(r database.Resource) bool { return r != database.ResourceDisk || !m.Usually }
