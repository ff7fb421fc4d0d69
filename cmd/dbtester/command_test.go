package main

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/databasetest"
	"github.com/coreos/dbtester/pkg/mark"
	"github.com/coreos/dbtester/pkg/results"
)

// hostGroups counts the assigned groups of loopback addresses.
var hostGroups atomic.Int32

// freeHosts returns three loopback addresses on which the default ports for agents and etcd are
// free, and which no other test in this process uses.
func freeHosts(t testing.TB) []string {
	t.Helper()
	for hostGroups.Load() < 250 {
		var hosts []string
		group := fmt.Sprintf("127.%d.%d.", 1+os.Getpid()%250, hostGroups.Add(1))
		for i := 1; i <= 3; i++ {
			hosts = append(hosts, group+strconv.Itoa(i))
		}
		if portsFree(hosts) {
			return hosts
		}
	}
	t.Fatal("no free loopback addresses")
	return nil
}

// portsFree reports whether the default ports for agents and etcd are free.
func portsFree(hosts []string) bool {
	for _, host := range hosts {
		for _, port := range []string{"2379", "2380", "3500"} {
			l, err := net.Listen("tcp", net.JoinHostPort(host, port))
			if err != nil {
				return false
			}
			l.Close()
		}
	}
	return true
}

// place is a separate folder for one test. Processes that name it must not outlive the test.
type place struct {
	t   testing.TB
	dir string
}

func newPlace(t testing.TB) place {
	t.Helper()
	p := place{t, t.TempDir()}
	t.Cleanup(func() {
		for pid, args := range p.processes("") {
			t.Errorf("process %d is left over: %s", pid, args)
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	return p
}

// path is a path in the place.
func (p place) path(elem ...string) string { return filepath.Join(append([]string{p.dir}, elem...)...) }

// steady is an etcd option with which members on a busy machine keep their leader.
const steady = "election_timeout: 5s"

// experiment writes an experiment with one etcd on the hosts that logs little, and few
// plots: drawing takes long with the race detector. Several members are [steady].
func (p place) experiment(name string, hosts []string, load string) string {
	p.t.Helper()
	options := "log_level: error"
	if len(hosts) > 1 {
		options += ", " + steady
	}
	text := fmt.Sprintf("title: %s\nresults: %s\nhosts: [%s]\nload: %s\nplots: [AVG-THROUGHPUT]\ndatabases:\n  etcd: {options: {%s}}\n",
		name, p.path("results"), strings.Join(hosts, ", "), load, options)
	path := p.path(name + ".yaml")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		p.t.Fatalf("write a file for the test: %v", err)
	}
	return path
}

// processes returns, by pid, the arguments of processes that name the place and contain word.
// Zombies have no arguments.
func (p place) processes(word string) map[int]string {
	found := map[int]string{}
	for pid, line := range databasetest.CommandLines(p.t) {
		args := string(bytes.ReplaceAll(line, []byte{0}, []byte(" ")))
		if strings.Contains(args, p.dir) && strings.Contains(args, word) {
			found[pid] = args
		}
	}
	return found
}

// members are the pids of the embedded members that run in the place.
func (p place) members() []int {
	var pids []int
	for pid := range p.processes(" serve etcd ") {
		pids = append(pids, pid)
	}
	return pids
}

// runs returns the result folders in the place, oldest first.
func (p place) runs() []*results.Folder {
	p.t.Helper()
	paths, err := filepath.Glob(p.path("results", "*", "*", results.FileManifest))
	if err != nil {
		p.t.Fatalf("list the files: %v", err)
	}
	var folders []*results.Folder
	for _, path := range paths {
		f, err := results.Open(filepath.Dir(path))
		if err != nil {
			p.t.Fatalf("open the result folder: %v", err)
		}
		folders = append(folders, f)
	}
	slices.SortFunc(folders, func(a, b *results.Folder) int {
		return manifest(p.t, a).Started.Compare(manifest(p.t, b).Started)
	})
	return folders
}

// tidy checks that a run left no work directory next to its results.
func (p place) tidy() {
	p.t.Helper()
	left, err := filepath.Glob(p.path("results", ".work-*"))
	if err != nil || len(left) > 0 {
		p.t.Errorf("left over: %v, %v", left, err)
	}
}

func manifest(t testing.TB, f *results.Folder) *results.Manifest {
	t.Helper()
	m, err := f.Manifest()
	if err != nil {
		t.Fatalf("read the manifest: %v", err)
	}
	return m
}

// command is a dbtester in a separate process.
type command struct {
	t        testing.TB
	cmd      *exec.Cmd
	out, err *watched
	began    time.Time
	ended    chan struct{}
}

// watched holds the output of a command, to be read while it runs.
type watched struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (w *watched) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.Write(p)
}

func (w *watched) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

// start runs dbtester in the place. It is killed if the test ends before it.
func (p place) start(args ...string) *command {
	p.t.Helper()
	return p.launch("dbtester", args...)
}

// launch is [place.start] for a program that becomes dbtester.
func (p place) launch(program string, args ...string) *command {
	p.t.Helper()
	c := &command{
		t: p.t, cmd: exec.Command(program, args...), out: &watched{}, err: &watched{},
		began: time.Now(), ended: make(chan struct{}),
	}
	c.cmd.Dir, c.cmd.Stdout, c.cmd.Stderr = p.dir, c.out, c.err
	c.cmd.Env = append(os.Environ(), "XDG_CONFIG_HOME="+p.path(".config")) // for the token
	if err := c.cmd.Start(); err != nil {
		p.t.Fatalf("start the command: %v", err)
	}
	go func() {
		defer close(c.ended)
		_ = c.cmd.Wait() // its exit code is read from its state
	}()
	p.t.Cleanup(func() {
		_ = c.cmd.Process.Kill()
		<-c.ended
		if p.t.Failed() {
			p.t.Logf("dbtester %s\n%s%s", strings.Join(args, " "), c.out, c.err)
		}
	})
	return c
}

// signal sends a signal.
func (c *command) signal(s os.Signal) {
	c.t.Helper()
	if err := c.cmd.Process.Signal(s); err != nil {
		c.t.Fatalf("send %v: %v", s, err)
	}
}

// exits waits for the end and checks the exit code. A run that must succeed may be marked as
// not valid only because the machine was too busy for its clients.
func (c *command) exits(code int, within time.Duration) {
	c.t.Helper()
	begin := time.Now()
	select {
	case <-c.ended:
	case <-time.After(within):
		c.signal(syscall.SIGQUIT)
		<-c.ended
		c.t.Fatalf("did not end within %v:\n%s%s", within, c.out, c.err)
	}
	if got := c.cmd.ProcessState.ExitCode(); got != code && !(code == exitDone && got == exitInvalid && busy(c.err.String())) {
		c.t.Fatalf("exit code %d, want %d:\n%s%s", got, code, c.out, c.err)
	}
	if text := c.err.String(); strings.Contains(text, "DATA RACE") || strings.Contains(text, "panic:") {
		c.t.Errorf("standard error:\n%s", text)
	}
	c.t.Logf("dbtester %s ended %.1fs after it began, %.1fs after that was waited for", c.cmd.Args[1], time.Since(c.began).Seconds(), time.Since(begin).Seconds())
}

// ofMachine are the codes of marks caused by busy machines.
var ofMachine = [...]string{mark.Saturated, mark.Late, mark.Rate, mark.Stopped, mark.OtherLoad}

// busy reports whether runs are not valid only because their clients were too slow.
func busy(text string) bool {
	_, reasons, found := strings.Cut(text, "not valid:\n")
	for line := range strings.Lines(reasons) {
		found = found && slices.ContainsFunc(ofMachine[:], func(code string) bool { return strings.Contains(line, ": "+code+": ") })
	}
	return found
}

// says waits until standard error matches pattern and returns the match.
func (c *command) says(pattern string) string {
	c.t.Helper()
	expression := regexp.MustCompile(pattern)
	var match string
	eventually(c.t, "dbtester says "+pattern, func() bool {
		match = expression.FindString(c.err.String())
		select {
		case <-c.ended:
			if match == "" {
				c.t.Fatalf("ended without saying %s:\n%s%s", pattern, c.out, c.err)
			}
		default:
		}
		return match != ""
	})
	return match
}

// loading waits until requests have been answered.
func (c *command) loading() {
	c.t.Helper()
	c.says(`clients?, [1-9][0-9,/]* requests`)
}

// sampled waits until the load has gone on for some seconds since requests were answered, in which
// its machines were sampled.
func (c *command) sampled() {
	c.t.Helper()
	c.says(`(?s)clients?, [1-9][0-9,/]* requests.*clients?, [1-9][0-9,/]* requests`)
}

// notShort skips a test of half a minute or longer in make check and make test-fast.
func notShort(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: waits long")
	}
}

// patience bounds operations that need not be quick: only a hang takes so long on any machine.
const patience = 5 * time.Minute

// eventually waits for a condition.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !holds(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", patience, what)
		}
	}
}

// wantText checks that text matches every pattern.
func wantText(t testing.TB, what, text string, patterns ...string) {
	t.Helper()
	for _, pattern := range patterns {
		if !regexp.MustCompile(pattern).MatchString(text) {
			t.Errorf("%s does not match %q:\n%s", what, pattern, text)
		}
	}
}
