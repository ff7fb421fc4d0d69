package main

import (
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/sleep/slowtest"
)

// TestInterrupt interrupts a load: the cluster is stopped cleanly, and the records are
// complete up to that moment.
func TestInterrupt(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	p, hosts := newPlace(t), freeHosts(t)
	file := p.experiment("interrupted", hosts, "{duration: 5m, clients: 8}")
	c := p.start("control", "--local", "--config", file)
	c.loading()
	c.signal(syscall.SIGINT)
	c.exits(exitInterrupted, patience)
	p.tidy()
	wantText(t, "progress", c.err.String(), `dbtester: interrupt: stopping; repeat to exit at once`, `stop members`, `collect measurements`)
	wantText(t, "output", c.out.String(), `results in results/`)
	run := p.runs()[0]
	m := manifest(t, run)
	if m.State != results.StateInterrupted || len(m.Databases) != 1 {
		t.Fatalf("manifest: %+v", m)
	}
	db := m.Databases[0]
	if db.Totals == nil || db.Totals.OK == 0 || !db.Totals.Reconcile() || db.Keys == nil || db.Keys.Error != "" {
		t.Errorf("recorded: %+v, %+v", db.Totals, db.Keys)
	}
	for _, member := range db.Members {
		if len(member.Exit) != 1 || member.Exit[0] != "etcd: exit 0 after interrupt" || len(member.Files) == 0 {
			t.Errorf("member %d: %v, %v", member.Index+1, member.Exit, member.Files)
		}
	}
	c = p.start("analyze", "--all", "--config", file, run.Dir())
	c.exits(exitInvalid, patience)
	wantText(t, "table", c.out.String(), `INVALID incomplete: the run was interrupted`, `TOTAL-REQUEST-NUMBER \| +[1-9]`, `SERVER-MAX-CPU-USAGE \| +[1-9]`)
}

// TestInterruptTwice does not wait for anything, and leaves no member.
func TestInterruptTwice(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	p, hosts := newPlace(t), freeHosts(t)
	file := p.experiment("interrupted-twice", hosts, "{duration: 5m, clients: 8}")
	c := p.start("control", "--local", "--config", file)
	c.loading()
	members := p.members()
	if len(members) != 3 {
		t.Fatalf("%d members run, want 3", len(members))
	}
	// A paused member does not stop before the second signal.
	if err := syscall.Kill(members[0], syscall.SIGSTOP); err != nil {
		t.Fatalf("stop a member: %v", err)
	}
	c.signal(syscall.SIGINT)
	c.says(`stopping; repeat`)
	time.Sleep(2 * oneSignal) // a second signal from a person, not the same one twice
	eventually(t, "control ends", func() bool {
		_ = c.cmd.Process.Signal(syscall.SIGINT) // it may have ended
		select {
		case <-c.ended:
			return true
		case <-time.After(2 * oneSignal): // a busy machine may have delayed control between the two
			return false
		}
	})
	c.exits(exitInterrupted, patience)
	eventually(t, "no member runs", func() bool { return len(p.members()) == 0 })
	left, err := filepath.Glob(p.path("results", ".work-*"))
	if err != nil || len(left) != 1 {
		t.Fatalf("left over: %v, %v", left, err)
	}
	leftBehind := `(?m)^dbtester: left behind: results/` + regexp.QuoteMeta(filepath.Base(left[0])) + ` \([0-9.]+ .B\): `
	wantText(t, "last words", c.err.String(), leftBehind)
	wantText(t, "output", c.out.String(), `(?m)^results in results/interrupted-twice/\S+$`)

	// The next run names the leftovers, and leaves nothing itself.
	next := p.start("control", "--local", "--config", p.experiment("next", hosts, "{requests: 20, clients: 2}"))
	next.exits(exitDone, patience)
	wantText(t, "next run", next.err.String(), leftBehind)
	if now, err := filepath.Glob(p.path("results", ".work-*")); err != nil || !slices.Equal(now, left) {
		t.Errorf("left over: %v, %v, want %v", now, err, left)
	}
	c = p.start("analyze", "--all", "--config", file, p.runs()[0].Dir())
	c.exits(exitInvalid, patience)
	wantText(t, "table", c.out.String(), `INVALID incomplete: according to the manifest`)
}

// TestInterruptStart interrupts while members start.
func TestInterruptStart(t *testing.T) {
	t.Parallel()
	p, hosts := newPlace(t), freeHosts(t)
	c := p.start("control", "--local", "--config", p.experiment("early", hosts, "{duration: 5m, clients: 8}"))
	c.says(`start members`)
	c.signal(syscall.SIGTERM)
	c.exits(exitInterrupted, patience)
	p.tidy()
	if m := manifest(t, p.runs()[0]); m.State != results.StateInterrupted {
		t.Errorf("the run is %s", m.State)
	}
}

// Locked directories are not leftovers.
func TestLeftovers(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	held, err := localWorkDir(folder)
	if err != nil {
		t.Fatalf("make the work directory: %v", err)
	}
	left, err := localWorkDir(folder)
	if err != nil {
		t.Fatalf("make the work directory: %v", err)
	}
	hold, err := holdDir(held)
	if err != nil {
		t.Fatalf("hold the directory: %v", err)
	}
	if got := leftovers(folder); !slices.Equal(got, []string{left}) {
		t.Errorf("%v, want %s", got, left)
	}
	if err := hold.Close(); err != nil {
		t.Fatalf("release the directory: %v", err)
	}
	if got := leftovers(folder); len(got) != 2 {
		t.Errorf("%v, want both", got)
	}
}

// TestHangUp: losing the terminal stops a run cleanly, as TERM does.
func TestHangUp(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	p, hosts := newPlace(t), freeHosts(t)
	heard := make(chan os.Signal, 1)
	signal.Notify(heard, syscall.SIGHUP) // control must not inherit that this process ignores it, as below nohup
	defer signal.Stop(heard)
	c := p.start("control", "--local", "--config", p.experiment("hung-up", hosts, "{duration: 5m, clients: 8}"))
	c.loading()
	c.signal(syscall.SIGHUP)
	c.exits(exitInterrupted, patience)
	p.tidy()
	wantText(t, "progress", c.err.String(), `dbtester: hangup: stopping; repeat to exit at once`, `collect measurements`)
	if m := manifest(t, p.runs()[0]); m.State != results.StateInterrupted || len(m.Databases) != 1 || len(m.Databases[0].Members[0].Files) == 0 {
		t.Errorf("manifest: %+v", m)
	}
}

// TestNobodyReads: a run continues to its end although nobody reads its output any more.
func TestNobodyReads(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	p, hosts := newPlace(t), freeHosts(t)
	file := p.experiment("unread", hosts, "{requests: 300, clients: 4}")
	c := p.launch("sh", "-c", "{ dbtester control --local --config "+file+"; echo $? > code; } 2>&1 | head -n 1")
	select {
	case <-c.ended:
	case <-time.After(patience):
		t.Fatal("the run does not end")
	}
	p.tidy()
	code, err := os.ReadFile(p.path("code"))
	if got := strings.TrimSpace(string(code)); err != nil || got != strconv.Itoa(exitDone) && got != strconv.Itoa(exitInvalid) { // runs on a busy machine may be invalid
		t.Errorf("control ended with %q: %v", got, err)
	}
	if m := manifest(t, p.runs()[0]); m.State != results.StateComplete || len(m.Databases[0].Members[0].Files) == 0 {
		t.Errorf("manifest: %+v", m)
	}
}
