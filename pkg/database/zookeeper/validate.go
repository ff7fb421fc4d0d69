package zookeeper

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/files/pattern"
)

// Validate reports every option the JVM or ZooKeeper would refuse or misunderstand, and a heap
// larger than this host's memory.
func (o *Options) Validate(h database.HostFacts) error {
	errs := []error{o.validHeap(h)}
	atLeast := func(name string, value, least int) {
		if value < least {
			errs = append(errs, fmt.Errorf("%s must be at least %d, got %d", name, least, value))
		}
		if value > math.MaxInt32 {
			errs = append(errs, fmt.Errorf("%s must be at most %d, got %d", name, math.MaxInt32, value))
		}
	}
	atLeast("jute_max_buffer", o.JuteMaxBuffer, 4<<10)
	atLeast("tick_time", o.TickTime, 1)
	atLeast("init_limit", o.InitLimit, 1)
	atLeast("sync_limit", o.SyncLimit, 1)
	// ZooKeeper replaces smaller values with 2.
	atLeast("snap_count", o.SnapCount, 2)
	atLeast("max_client_connections", o.MaxClientConnections, 0)
	atLeast("listen_backlog", o.ListenBacklog, 1)
	atLeast("pre_alloc_size", o.PreAllocSize, 1)
	if o.AdminPort < 0 || o.AdminPort > 65535 {
		errs = append(errs, fmt.Errorf("admin_port must be from 0 to 65535, got %d", o.AdminPort))
	}
	if o.PreAllocSize > 1<<20 {
		errs = append(errs, fmt.Errorf("pre_alloc_size must be at most %d (1 GiB), got %d", 1<<20, o.PreAllocSize))
	}
	errs = append(errs, ValidParents(o.KeyParents), o.Transport.Validate())
	for _, f := range o.Flags {
		errs = append(errs, validFlag(f))
	}
	return errors.Join(errs...)
}

// maxParents bounds the znodes created before a load and counted after it.
const maxParents = 100_000

// ValidParents refuses a number of parents outside its bounds.
func ValidParents(n int) error {
	if n < 1 || n > maxParents {
		return fmt.Errorf("key_parents must be from 1 to %d, got %d", maxParents, n)
	}
	return nil
}

// validHeap checks both heap sizes, and that the first is not above the second.
func (o *Options) validHeap(h database.HostFacts) error {
	var errs []error
	size := func(name, text string) int64 {
		bytes, err := heapBytes(text)
		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("%s %w", name, err))
		case h.MemoryBytes > 0 && bytes > h.MemoryBytes:
			errs = append(errs, fmt.Errorf("%s must be at most this host's memory, %[3]s, got %[2]s", name, text, humanize.IBytes(uint64(h.MemoryBytes))))
		}
		return bytes
	}
	least, most := size("java_xms", o.JavaXms), size("java_xmx", o.JavaXmx)
	if least > most && most > 0 {
		errs = append(errs, fmt.Errorf("java_xms must be at most java_xmx (%s), got %s", o.JavaXmx, o.JavaXms))
	}
	return errors.Join(errs...)
}

var heapSize = pattern.New(`^([1-9][0-9]{0,15})([kKmMgGtT]?)$`)

// heapBytes parses a size as the JVM does. The empty text is 0.
func heapBytes(text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	parts := heapSize().FindStringSubmatch(text)
	if parts == nil {
		return 0, fmt.Errorf("must be a size such as 512M or 8G, got %q", text)
	}
	n, err := strconv.ParseInt(parts[1], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%q: %w", text, err)
	}
	shift := 10 * (strings.IndexByte(" KMGT", (strings.ToUpper(parts[2]) + " ")[0]))
	if n > math.MaxInt64>>shift {
		return 0, fmt.Errorf("must be a size that a machine can have, got %q", text)
	}
	return n << shift, nil
}

// plannedArgs and plannedFlags are arguments, and beginnings of arguments, that Plan writes, or
// that would make the JVM run another program.
var (
	plannedArgs  = []string{"-cp", "-classpath", "--class-path", "-jar", "-m", "--module"}
	plannedFlags = []string{
		"-Xms", "-Xmx", "-ms", "-mx", "-XX:Flags=", "-XX:VMOptionsFile=", "-Djava.class.path=", "-XX:InitialHeapSize=", "-XX:MaxHeapSize=", "-XX:MinHeapSize=", "-Djute.maxbuffer=",
		"--class-path=", "--module=",
		"-Dzookeeper.snapCount=", "-Dzookeeper.preAllocSize=", "-Dzookeeper.forceSync=",
		"-Dzookeeper.clientPortListenBacklog=", "-Dzookeeper.admin.", "-Dzookeeper.4lw.",
	}
)

// validFlag refuses text that is not one JVM argument, and arguments that Plan sets: a member must
// run as its plan is recorded.
func validFlag(f string) error {
	begins := func(planned string) bool { return strings.HasPrefix(f, planned) }
	switch {
	case !strings.HasPrefix(f, "-") || strings.Trim(f, "-") == "":
		return fmt.Errorf("flag must be written as -NAME or -NAME=VALUE, got %q", f)
	case slices.Contains(plannedArgs, f) || slices.ContainsFunc(plannedFlags, begins):
		return fmt.Errorf("flag %q is set by the plan or by an option of its own", f)
	}
	return nil
}
