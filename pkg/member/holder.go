package member

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/procfs"

	"github.com/coreos/dbtester/pkg/database"
)

// listening is the kernel number for a TCP socket in state LISTEN.
const listening = 0x0A

// holders names the processes that listen on an address in a plan, such as "etcd (pid 4711)".
// Processes of other users cannot be inspected without privileges.
func holders(procRoot, listen string) []string {
	fs, err := procfs.NewFS(procRoot)
	if err != nil {
		return nil
	}
	return owners(fs, listenInodes(fs, listen))
}

// listenInodes returns the inodes of the sockets that listen on the plan's address listen, or on
// its port at the unspecified address.
func listenInodes(fs procfs.FS, listen string) []uint64 {
	addr, udp := strings.CutSuffix(listen, database.UDP)
	host, service, err := net.SplitHostPort(addr)
	if err != nil {
		return nil
	}
	port, err := strconv.ParseUint(service, 10, 16)
	if err != nil {
		return nil
	}
	ips := resolve(host)
	var inodes []uint64
	for _, line := range socketsOf(fs, udp) {
		// A UDP socket receives datagrams as soon as it is bound.
		if !udp && line.St != listening || line.LocalPort != port {
			continue
		}
		same := func(ip net.IP) bool { return ip.Equal(line.LocalAddr) || ip.IsUnspecified() }
		if line.LocalAddr.IsUnspecified() || slices.ContainsFunc(ips, same) {
			inodes = append(inodes, line.Inode)
		}
	}
	return inodes
}

// socketsOf returns the sockets of one protocol in both address families. A disabled family has no
// file.
func socketsOf(fs procfs.FS, udp bool) procfs.NetTCP {
	if udp {
		v4, _ := fs.NetUDP()
		v6, _ := fs.NetUDP6()
		return procfs.NetTCP(slices.Concat(v4, v6))
	}
	//lint:ignore SA1019 /proc needs no netlink socket, and is read once per start
	v4, _ := fs.NetTCP()
	//lint:ignore SA1019 as above
	v6, _ := fs.NetTCP6()
	return slices.Concat(v4, v6)
}

// resolve returns the addresses of host; an empty host is the unspecified address.
func resolve(host string) []net.IP {
	if host == "" {
		return []net.IP{net.IPv4zero}
	}
	ips, _ := net.LookupIP(host) // a literal address is returned without a query
	return ips
}

// owners names the processes that have one of these sockets open.
func owners(fs procfs.FS, inodes []uint64) []string {
	sockets := map[string]bool{}
	for _, inode := range inodes {
		sockets[fmt.Sprintf("socket:[%d]", inode)] = true
	}
	procs, _ := fs.AllProcs()
	var names []string
	for _, proc := range procs {
		targets, _ := proc.FileDescriptorTargets() // access denied or process gone
		if !slices.ContainsFunc(targets, func(target string) bool { return sockets[target] }) {
			continue
		}
		comm, err := proc.Comm()
		if err != nil {
			comm = "a process"
		}
		names = append(names, fmt.Sprintf("%s (pid %d)", comm, proc.PID))
	}
	return names
}
