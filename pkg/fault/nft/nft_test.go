//go:build linux

package nft

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/nftables"
	"golang.org/x/sys/unix"

	"github.com/coreos/dbtester/pkg/process/namespacetest"
	"github.com/coreos/dbtester/pkg/sleep/slowtest"
)

const (
	// ownerEnv is set in the process that [TestOwner] kills.
	ownerEnv = "NFT_TEST_OWNER"
	// enough suffices for packets on a busy machine, and silent for packets that never come.
	enough = 2 * time.Minute
	silent = 300 * time.Millisecond
)

// alone reports whether this process is in a separate network namespace.
func alone(t *testing.T) bool {
	t.Helper()
	return namespacetest.Again(t, syscall.CLONE_NEWNET, 0)
}

// listen starts an echo server.
func listen(t *testing.T, addr string) netip.AddrPort {
	t.Helper()
	l, err := net.Listen("tcp", net.JoinHostPort(addr, "0"))
	if err != nil {
		t.Fatalf("listen: %v", err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				b := make([]byte, 1)
				for {
					if _, err := c.Read(b); err != nil {
						return
					}
					if _, err := c.Write(b); err != nil {
						return
					}
				}
			}()
		}
	}()
	return netip.MustParseAddrPort(l.Addr().String())
}

// echo returns an error if a connection gets no answer within a time.
func echo(c net.Conn, within time.Duration) error {
	if err := c.SetWriteDeadline(time.Now().Add(enough)); err != nil {
		return err
	}
	if _, err := c.Write([]byte{1}); err != nil {
		return err
	}
	if err := c.SetReadDeadline(time.Now().Add(within)); err != nil { // not before: what was not sent cannot arrive
		return err
	}
	_, err := c.Read(make([]byte, 1))
	return err
}

// dial opens a connection.
func dial(t *testing.T, to netip.AddrPort) net.Conn {
	t.Helper()
	c, err := net.DialTimeout("tcp", to.String(), enough)
	if err != nil {
		t.Fatalf("dial: %v", err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// end returns an address as one end of a packet.
func end(a netip.AddrPort) End { return End{a.Addr(), a.Port()} }

// tables returns the names of all tables here.
func tables(t *testing.T) []string {
	t.Helper()
	names, err := Names()
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// Packets to one address and port are dropped, in one direction or the other, for open and for
// new connections, and nothing else is affected. Two tables end in any order.
func TestDrop(t *testing.T) {
	slowtest.Skip(t)
	if !alone(t) {
		return
	}
	if err := Check(); err != nil {
		t.Skipf("this machine has no tables: %v", err)
	}
	for _, addr := range []string{"127.0.0.2", "::1"} {
		victim, other := listen(t, addr), listen(t, addr)
		before, beside := dial(t, victim), dial(t, other)
		first, err := Drop("first", []Rule{{In: true, To: end(victim)}}, Whole)
		if err != nil {
			t.Fatalf("drop: %v", err)
		}
		second, err := Drop("second", []Rule{{From: end(victim)}}, Whole)
		if err != nil {
			t.Fatalf("drop: %v", err)
		}
		for range 2 {
			if err := echo(before, silent); !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("an open connection got %v", err)
			}
			if _, err := net.DialTimeout("tcp", victim.String(), silent); err == nil {
				t.Error("a connection was opened")
			}
			if err := echo(beside, enough); err != nil {
				t.Errorf("another port got %v", err)
			}
			n, err := first.Counted()
			if err != nil {
				t.Fatalf("count: %v", err)
			}
			if first == second && n.Matched == 0 {
				continue // only packets that came before are answered
			}
			if n.Dropped == 0 || n.Dropped != n.Matched {
				t.Errorf("counted %v", n)
			}
			if err := first.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
			first = second
		}
		if err := second.Close(); err != nil {
			t.Errorf("close again: %v", err)
		}
		if left := tables(t); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
		if err := echo(before, enough); err != nil {
			t.Errorf("afterwards the open connection got %v", err)
		}
		dial(t, victim)
	}
}

// Many tables are made and removed at the same time, each by its own connection.
func TestManyAtOnce(t *testing.T) {
	if !alone(t) {
		return
	}
	if err := Check(); err != nil {
		t.Skipf("this machine has no tables: %v", err)
	}
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			table, err := Drop(fmt.Sprintf("many-%d", i), []Rule{{In: true, To: End{netip.MustParseAddr("127.0.0.9"), 9}}}, 1)
			if err != nil {
				t.Errorf("drop: %v", err)
				return
			}
			if _, err := table.Counted(); err != nil {
				t.Errorf("count: %v", err)
			}
			if err := table.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
		})
	}
	wg.Wait()
	if left := tables(t); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// A share of packets is dropped: connections slow down but survive.
func TestShare(t *testing.T) {
	slowtest.Skip(t)
	if !alone(t) {
		return
	}
	if err := Check(); err != nil {
		t.Skipf("this machine has no tables: %v", err)
	}
	victim := listen(t, "127.0.0.2")
	c := dial(t, victim)
	table, err := Drop("share", []Rule{{In: true, To: end(victim)}}, Whole/10)
	if err != nil {
		t.Fatalf("drop: %v", err)
	}
	defer table.Close()
	for range 200 {
		if err := echo(c, enough); err != nil {
			t.Fatalf("echo: %v", err)
		}
	}
	n, err := table.Counted()
	if err != nil || n.Matched < 200 || n.Dropped < 2 || n.Dropped > n.Matched/3 {
		t.Errorf("counted %+v, %v; want some tenth of hundreds", n, err)
	}
}

// The kernel removes the table of a killed process, and no other process can.
func TestOwner(t *testing.T) {
	if !alone(t) {
		return
	}
	if err := Check(); err != nil {
		t.Skipf("this machine has no tables: %v", err)
	}
	if os.Getenv(ownerEnv) != "" {
		if _, err := Drop("owner", []Rule{{In: true, To: End{netip.MustParseAddr("127.0.0.9"), 9}}}, Whole); err != nil {
			t.Fatalf("drop: %v", err)
		}
		fmt.Println("made")
		select {}
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestOwner$")
	cmd.Env = append(os.Environ(), ownerEnv+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatalf("make a pipe: %v", err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatalf("start: %v", err)
	}
	if _, err := out.Read(make([]byte, 5)); err != nil {
		t.Fatalf("read: %v", err)
	}
	if got := tables(t); len(got) != 1 || got[0] != "owner" {
		t.Errorf("tables: %v", got)
	}
	c, err := nftables.New()
	if err != nil {
		t.Fatalf("open nftables: %v", err)
	}
	c.DelTable(&nftables.Table{Name: "owner", Family: nftables.TableFamilyINet})
	if err := c.Flush(); !errors.Is(err, unix.EPERM) {
		t.Errorf("another process deleted the table: %v", err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatalf("kill: %v", err)
	}
	_ = cmd.Wait()
	if left := tables(t); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// The sockets of a control group are told apart from others on the same address.
func TestGroup(t *testing.T) {
	mount := "/sys/fs/cgroup"
	if _, err := os.Stat(filepath.Join(mount, "unified")); err == nil {
		mount = filepath.Join(mount, "unified")
	}
	dir := filepath.Join(mount, fmt.Sprintf("nft-test-%d", os.Getpid()))
	if os.Getenv("NFT_TEST_GROUP") == "" {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Skipf("needs the right to make control groups of version 2: %v", err)
		}
		defer os.Remove(dir)
		t.Setenv("NFT_TEST_GROUP", dir)
	}
	if !alone(t) {
		return
	}
	if err := Check(); err != nil {
		t.Skipf("this machine has no tables: %v", err)
	}
	victim := listen(t, "127.0.0.2")
	dir = os.Getenv("NFT_TEST_GROUP")
	ours := dial(t, victim) // before this process is in the group
	if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte("0"), 0o644); err != nil {
		t.Skipf("needs the right to enter a control group: %v", err)
	}
	theirs := dial(t, victim)
	for _, in := range []bool{false, true} {
		r := Rule{In: in, To: end(victim), Group: dir}
		if in {
			r = Rule{In: true, From: end(victim), Group: dir}
		}
		table, err := Drop("group", []Rule{r}, Whole)
		if err != nil {
			t.Fatalf("drop: %v", err)
		}
		if err := echo(theirs, silent); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("a connection of the group got %v", err)
		}
		if err := echo(ours, enough); err != nil {
			t.Errorf("another connection got %v", err)
		}
		if n, err := table.Counted(); err != nil || n.Dropped == 0 {
			t.Errorf("counted %+v, %v", n, err)
		}
		if err := table.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		// The packets that were held back arrive now, so that the connection is in step again.
		if err := theirs.SetDeadline(time.Now().Add(enough)); err != nil {
			t.Fatal(err)
		}
		if _, err := theirs.Read(make([]byte, 1)); err != nil {
			t.Errorf("afterwards: %v", err)
		}
	}
}
