package main

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/coreos/dbtester/pkg/databasetest"
	"github.com/coreos/dbtester/pkg/metric"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/sleep/slowtest"
)

// network is a client machine and three database machines: network namespaces, joined by a bridge
// in the one for the client.
type network struct {
	p      place
	client int   // process in the client namespace
	agents []int // in the namespaces of database machines
	hosts  []string
}

// newNetwork makes a client machine and three others.
func newNetwork(t *testing.T) *network {
	t.Helper()
	return newNetworkOf(t, 3)
}

// newNetworkOf makes a client machine and that many others. It skips the test if this process lacks
// the permission.
func newNetworkOf(t *testing.T, machines int) *network {
	t.Helper()
	for _, tool := range []string{"unshare", "nsenter", "ip"} {
		if _, err := exec.LookPath(tool); err != nil {
			databasetest.Skip(t, "needs "+tool)
		}
	}
	n := &network{p: newPlace(t)}
	n.client = n.machine(append([]string{"unshare"}, n.own("-Ur", "-n")...)...)
	n.ip("link", "set", "lo", "up")
	n.ip("link", "add", "bridge0", "type", "bridge")
	n.ip("link", "set", "bridge0", "up")
	n.ip("addr", "add", "10.77.0.1/24", "dev", "bridge0")
	for i := range machines {
		pid := n.machine(append(n.inside(n.client), "unshare", "-n")...)
		host, far, near := fmt.Sprintf("10.77.0.%d", i+2), fmt.Sprintf("far%d", i), fmt.Sprintf("near%d", i)
		n.ip("link", "add", near, "type", "veth", "peer", "name", far)
		n.ip("link", "set", near, "master", "bridge0", "up")
		n.ip("link", "set", far, "netns", strconv.Itoa(pid))
		n.in(pid, "ip", "link", "set", "lo", "up")
		n.in(pid, "ip", "link", "set", far, "up")
		n.in(pid, "ip", "addr", "add", host+"/24", "dev", far)
		n.agents, n.hosts = append(n.agents, pid), append(n.hosts, host)
	}
	return n
}

// own is a flag list whose first element is for users other than root.
func (n *network) own(user string, flags ...string) []string {
	if os.Getuid() == 0 {
		return flags
	}
	return append([]string{user}, flags...)
}

// inside is the beginning of a command line in the namespaces of a process.
func (n *network) inside(pid int) []string {
	line := append([]string{"nsenter", "--target", strconv.Itoa(pid)}, n.own("--user", "-n")...)
	if os.Getuid() != 0 {
		line = append(line, "--preserve-credentials")
	}
	return line
}

// machine starts a process that holds a namespace until the test ends.
func (n *network) machine(line ...string) int {
	n.p.t.Helper()
	cmd := exec.Command(line[0], append(line[1:], "sh", "-c", "echo up; exec sleep infinity")...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := cmd.StdoutPipe()
	if err != nil {
		n.p.t.Fatalf("make a pipe: %v", err)
	}
	if err := cmd.Start(); err != nil {
		n.p.t.Fatalf("start the command: %v", err)
	}
	n.p.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	if _, err := out.Read(make([]byte, 3)); err != nil {
		n.p.t.Skip("needs the right to make network namespaces")
	}
	return cmd.Process.Pid
}

// in runs a command in the namespaces of a process.
func (n *network) in(pid int, args ...string) {
	n.p.t.Helper()
	line := append(n.inside(pid), args...)
	if out, err := exec.Command(line[0], line[1:]...).CombinedOutput(); err != nil {
		if text := string(out); strings.Contains(text, "Operation not supported") || strings.Contains(text, "not permitted") || strings.Contains(text, "Unknown device type") {
			n.p.t.Skipf("needs bridges and pairs of interfaces: %s", text)
		}
		n.p.t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

func (n *network) ip(args ...string) {
	n.p.t.Helper()
	n.in(n.client, append([]string{"ip"}, args...)...)
}

// start runs dbtester on a machine.
func (n *network) start(pid int, args ...string) *command {
	n.p.t.Helper()
	line := append(n.inside(pid), "dbtester")
	return n.p.launch(line[0], append(line[1:], args...)...)
}

// Three machines with their own addresses, and certificates, as in the README.
func TestThreeMachines(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	n := newNetwork(t)
	p := n.p
	p.start("certs", "init", "--hosts", strings.Join(n.hosts, ",")).exits(exitDone, patience)
	agents := make([]*command, len(n.hosts))
	for i, host := range n.hosts {
		refused := n.start(n.agents[i], "agent", "--agent-port", host+":3500", "--work-dir", p.path("agent-"+host))
		refused.exits(exitUsage, patience)
		agents[i] = n.start(n.agents[i], "agent", "--agent-port", host+":3500", "--work-dir", p.path("agent-"+host), "--certs", p.path("certs", "agent-"+host))
	}
	for _, a := range agents {
		a.says("agent listens")
	}
	file := p.experiment("machines", n.hosts, "{duration: 6s, clients: 8, key_size: 64, value_size: 4096}")
	c := n.start(n.client, "control", "--config", file)
	c.exits(exitUsage, patience)
	wantText(t, "control in plaintext", c.err.String(), `agent 10\.77\.0\.2:3500: it is on another machine and would be contacted without TLS; pass --certs`)
	c = n.start(n.client, "control", "--config", file, "--insecure")
	c.exits(exitFailed, patience)
	wantText(t, "control in plaintext that is meant", c.err.String(), `agent 10\.77\.0\.4:3500 cannot be reached: it demands TLS \(control --certs\)`)

	c = n.start(n.client, "control", "--config", file, "--certs", "certs/control")
	c.exits(exitDone, patience)
	run := p.runs()[0]
	db := manifest(t, run).Databases[0]
	if db.State != results.StateComplete || db.Totals.OK == 0 {
		t.Fatalf("the run: %s, %+v", db.State, db.Totals)
	}
	n.wantSamples(run, db)
	c = p.start("analyze", "--all", "--config", file, run.Dir())
	c.exits(exitDone, patience)
	wantText(t, "the report", c.out.String(), `SHARED-HOST +\| +3 members \+ client`, `shared by 3 members( \+ client)?: counted once`)
}

// wantSamples checks the member samples: each has the network of its own machine, and all have the
// same disk.
func (n *network) wantSamples(run *results.Folder, db *results.DatabaseRun) {
	t := n.p.t
	t.Helper()
	namespaces := map[string]bool{manifest(t, run).Client.NetNS: true}
	received, disk, written := map[int64]bool{}, map[string]bool{}, map[int64]bool{}
	for i, m := range db.Members {
		namespaces[m.Host.NetNS] = true
		samples, err := results.ReadSamples(run.Path(db.Tag, results.ServerFile(i+1)))
		if err != nil || len(samples) < 2 {
			t.Fatalf("samples of member %d: %d, %v", i+1, len(samples), err)
		}
		first, last := samples[0], samples[len(samples)-1]
		if want := fmt.Sprintf("far%d", i); last.Interface != want {
			t.Errorf("member %d: samples of interface %q, want %q", i+1, last.Interface, want)
		}
		grown := func(name metric.Name) int64 { return int64(last.Get(name) - first.Get(name)) }
		if got := grown(metric.ReceiveBytes); got <= 0 {
			t.Errorf("member %d received %d bytes by its samples", i+1, got)
		} else {
			received[got] = true
		}
		written[grown(metric.WriteBytes)] = true
		disk[m.Disk.Device] = true
	}
	if len(namespaces) != 4 {
		t.Errorf("client and members are in %d network namespaces, want 4", len(namespaces))
	}
	if len(received) < 2 || len(written) < 2 {
		t.Errorf("bytes received %v and written %v by members: they must differ", received, written)
	}
	if len(disk) != 1 {
		t.Errorf("the members' disks %v: want one", disk)
	}
}
