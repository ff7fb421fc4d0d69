package databasetest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/member"
	"github.com/coreos/dbtester/pkg/process"
	"github.com/coreos/dbtester/pkg/yamlfile"
)

// readyWithin bounds the time in which a member must start: twice as long as a JVM on a busy
// machine.
const readyWithin = Patience

// Start starts that many members on free ports at the suite addresses, and returns when all are
// ready.
func Start(t testing.TB, s Suite, members int) *Cluster {
	t.Helper()
	driver := s.Database.New()
	if err := yamlfile.DecodeOptions([]byte(s.Options), driver); err != nil {
		t.Fatalf("decode options: %v", err)
	}
	c := &Cluster{
		t: t, suite: s, driver: driver, dir: t.TempDir(),
		hosts:   hosts(t, s, members),
		members: make([]*member.Member, members),
	}
	t.Cleanup(func() {
		c.t = t // not a subtest that has ended
		for i, m := range c.members {
			if m != nil {
				c.Kill(i) // a case in the suite tests clean stops
			}
		}
	})
	for i := range c.members {
		c.start(i, true)
	}
	if s.Admit == nil {
		c.WaitReady()
		return c
	}
	c.suite.Auth = nil
	c.WaitReady()
	s.Admit(t, c)
	c.suite.Auth = s.Auth
	return c
}

// hosts gives every member a free port for every role.
func hosts(t testing.TB, s Suite, members int) []database.Host {
	t.Helper()
	out := make([]database.Host, members)
	for i := range out {
		addr := fmt.Sprintf("127.0.0.%d", i+1)
		if i < len(s.Addrs) {
			addr = s.Addrs[i]
		}
		out[i] = database.Host{Addr: addr, Ports: map[string]int{}}
		for role := range s.Database.Info.Ports {
			// Listeners are kept until all ports are chosen, so that all differ.
			l := listenApart(t, addr)
			defer l.Close()
			out[i].Ports[role] = l.Addr().(*net.TCPAddr).Port
		}
	}
	return out
}

// listenApart listens on a free port outside the ephemeral port range. No outgoing connection can
// then take the port of a member that is down or about to listen: Consul members connect from their
// own addresses.
func listenApart(t testing.TB, addr string) net.Listener {
	t.Helper()
	const first, number = 10_000, 20_000 // Linux assigns ports from 32,768 on
	for {
		l, err := net.Listen("tcp", net.JoinHostPort(addr, strconv.Itoa(first+rand.IntN(number))))
		if err == nil {
			return l
		}
		if !errors.Is(err, syscall.EADDRINUSE) {
			t.Fatalf("listen on loopback: %v", err)
		}
	}
}

// Driver returns the driver for the suite options.
func (c *Cluster) Driver() database.Driver { return c.driver }

// Target returns all member addresses, with no preference.
func (c *Cluster) Target() database.Target {
	t := database.Target{Prefer: -1, TLS: c.suite.TLS, Auth: c.suite.Auth}
	for _, h := range c.hosts {
		t.Endpoints = append(t.Endpoints, net.JoinHostPort(h.Addr, strconv.Itoa(h.Ports["client"])))
	}
	return t
}

// To returns the target with that member preferred.
func (c *Cluster) To(member int) database.Target {
	t := c.Target()
	t.Prefer = member
	return t
}

// Addr returns the address for one member port.
func (c *Cluster) Addr(member int, role string) string {
	return net.JoinHostPort(c.hosts[member].Addr, strconv.Itoa(c.hosts[member].Ports[role]))
}

// member returns a member for a plan.
func (c *Cluster) member(index int) database.Member {
	return database.Member{Index: index, Hosts: c.hosts, Dir: c.memberDir(index), Tools: c.suite.Tools, TLS: c.suite.TLS}
}

// Plan returns the plan for a member.
func (c *Cluster) Plan(index int) database.Plan {
	c.t.Helper()
	plan, err := c.driver.Plan(c.member(index))
	if err != nil {
		c.t.Fatalf("plan a member: %v", err)
	}
	return plan
}

// Logs returns the path of the log that a member command writes.
func (c *Cluster) Logs(index int, command string) string {
	return filepath.Join(c.memberDir(index), "logs", command+".log")
}

// Kill ends a member at once, without a chance to clean up.
func (c *Cluster) Kill(index int) {
	c.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // skips to SIGKILL
	if err := c.members[index].Stop(ctx, stopDeadlines()); err != nil {
		c.t.Fatalf("stop the member: %v", err)
	}
	c.members[index] = nil
}

// Restart starts a stopped member in its existing directories. It does not wait until the member is
// ready.
func (c *Cluster) Restart(index int) {
	c.t.Helper()
	c.start(index, false)
}

// Stop stops all running members in parallel, and returns the exits of their commands, by member
// and in the order of the plan.
func (c *Cluster) Stop() [][]process.Exit {
	c.t.Helper()
	return c.stop(stopDeadlines())
}

func (c *Cluster) stop(within process.Deadlines) [][]process.Exit {
	c.t.Helper()
	var wg sync.WaitGroup
	errs := make([]error, len(c.members))
	exits := make([][]process.Exit, len(c.members))
	for i, m := range c.members {
		if m == nil {
			continue
		}
		c.Resume(i)
		wg.Go(func() {
			errs[i] = m.Stop(context.Background(), within)
			for _, child := range m.Children() {
				exits[i] = append(exits[i], child.Exit)
			}
		})
	}
	wg.Wait()
	clear(c.members)
	if err := errors.Join(errs...); err != nil {
		c.t.Fatalf("stop the members: %v", err)
	}
	return exits
}

// stopDeadlines returns more time than the defaults after SIGINT, because this machine may be busy,
// and less between SIGTERM and SIGKILL: a command that ignored SIGINT hangs.
func stopDeadlines() process.Deadlines {
	return process.Deadlines{Interrupt: time.Minute, Terminate: time.Second, Kill: Patience}
}

// WaitReady returns when every running member is ready.
func (c *Cluster) WaitReady() {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), readyWithin)
	defer cancel()
	for i, m := range c.members {
		if m == nil {
			continue
		}
		for {
			err := c.ready(ctx, i)
			if err == nil {
				break
			}
			select {
			case <-m.Done():
				c.t.Fatalf("member %d ended before it was ready: %v\n%s", i, err, c.tails(i))
			case <-ctx.Done():
				c.t.Fatalf("member %d is not ready after %v: %v\n%s", i, readyWithin, err, c.tails(i))
			case <-time.After(50 * time.Millisecond):
			}
		}
	}
}

func (c *Cluster) ready(ctx context.Context, index int) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	return c.driver.Ready(ctx, c.Target(), index)
}

// start runs a member; fresh empties its data directories first.
func (c *Cluster) start(index int, fresh bool) {
	c.t.Helper()
	plan := c.Plan(index)
	if !fresh {
		plan.DataDirs = nil // listed directories would be emptied
	}
	ctx, cancel := context.WithTimeout(context.Background(), readyWithin)
	defer cancel()
	var err error
	c.members[index], err = member.Start(ctx, member.Options{
		Plan: plan, Dir: c.memberDir(index), LogDir: filepath.Join(c.memberDir(index), "logs"), Self: Self(),
	})
	if err != nil {
		c.t.Fatalf("start member %d: %v", index, err)
	}
}

// dataBytes returns the size of a member's data directories in bytes.
func (c *Cluster) dataBytes(index int) int64 {
	c.t.Helper()
	var size int64
	for _, dir := range c.Plan(index).DataDirs {
		err := filepath.WalkDir(filepath.Join(c.memberDir(index), dir), func(_ string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			info, err := d.Info()
			if err == nil {
				size += info.Size()
			}
			return err
		})
		if err != nil {
			c.t.Fatalf("size of the data directory %s: %v", dir, err)
		}
	}
	return size
}

// tails returns the ends of a member's logs.
func (c *Cluster) tails(index int) string {
	var text string
	for _, child := range c.members[index].Children() {
		tail, err := process.Tail(child.Log, 20)
		if err != nil {
			tail = err.Error()
		}
		text += fmt.Sprintf("%s: %s\n%s\n", child.Name, child.Exit, tail)
	}
	return text
}

func (c *Cluster) memberDir(index int) string { return filepath.Join(c.dir, strconv.Itoa(index)) }

// Resume continues a member's paused processes.
func (c *Cluster) Resume(index int) {
	c.t.Helper()
	c.signal(index, unix.SIGCONT)
}

// signal sends a signal to the process groups of the named commands that a member runs, or of all
// commands without names, and returns the commands.
func (c *Cluster) signal(index int, signal unix.Signal, commands ...string) []member.Child {
	c.t.Helper()
	var sent []member.Child
	for _, child := range c.members[index].Children() {
		if !child.Running || (len(commands) > 0 && !slices.Contains(commands, child.Name)) {
			continue
		}
		// A process that has just exited is not an error.
		if err := unix.Kill(-child.Pid, signal); err != nil && !errors.Is(err, unix.ESRCH) {
			c.t.Fatalf("send %v to %s of member %d: %v", signal, child.Name, index, err)
		}
		sent = append(sent, child)
	}
	return sent
}

// await waits until a condition holds.
func (c *Cluster) await(what string, holds func() bool) {
	c.t.Helper()
	Until(c.t, signalWithin, time.Millisecond, func() error {
		if !holds() {
			return fmt.Errorf("it must hold that %s", what)
		}
		return nil
	})
}

// stopped reports whether every thread of a process is stopped.
func stopped(pid int) bool {
	threads, err := procfs.AllThreads(pid)
	if err != nil {
		return false
	}
	for _, thread := range threads {
		if stat, err := thread.Stat(); err != nil || stat.State != "T" {
			return false
		}
	}
	return true
}

// signalWithin is the time in which processes must stop or end after a signal.
const signalWithin = 10 * time.Second
