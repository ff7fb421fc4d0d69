package tap

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/coreos/dbtester/pkg/process"
)

// patience is how long anything may take on a busy machine: only a hang takes longer.
const patience = 2 * time.Minute

// TestMain is also the program under the tap: with "sync FILE" it puts a file on disk, prints the
// result, and does so again after each byte from a named pipe.
func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == "sync" {
		os.Exit(syncs(os.Args[2], os.Args[3]))
	}
	os.Exit(m.Run())
}

// syncs calls fdatasync on a file once, and then once for each byte that comes.
func syncs(file, pipe string) int {
	f, err := os.Create(file)
	if err != nil {
		return 1
	}
	orders, err := os.Open(pipe)
	if err != nil {
		return 1
	}
	for one := make([]byte, 1); ; {
		if err := unix.Fdatasync(int(f.Fd())); err != nil {
			os.Stdout.WriteString(err.Error() + "\n")
		} else {
			os.Stdout.WriteString("done\n")
		}
		if n, err := orders.Read(one); n == 0 || err != nil {
			return 0
		}
	}
}

// tapped is a process under a tap.
type tapped struct {
	t      *testing.T
	tap    *Tap
	handle *process.Handle
	log    string
	orders *os.File
}

func start(t *testing.T) *tapped {
	t.Helper()
	if err := Check(); err != nil {
		t.Fatalf("this kernel has no taps: %v", err)
	}
	dir := t.TempDir()
	p := &tapped{t: t, tap: New(), log: filepath.Join(dir, "log")}
	pipe := filepath.Join(dir, "orders")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	var err error
	p.handle, err = process.Start(process.Command{Name: "sync", Path: os.Args[0], Args: []string{"sync", filepath.Join(dir, "file"), pipe}, Log: p.log, Place: p.tap.Place})
	if err != nil {
		t.Fatalf("start the process: %v", err)
	}
	t.Cleanup(func() {
		p.handle.Stop(t.Context(), process.Deadlines{})
		p.tap.Close()
	})
	if p.orders, err = os.OpenFile(pipe, os.O_WRONLY, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.orders.Close() })
	return p
}

// again has the process make another call.
func (p *tapped) again() {
	p.t.Helper()
	if _, err := p.orders.Write([]byte("x")); err != nil {
		p.t.Fatal(err)
	}
}

// await waits until the process has printed these lines.
func (p *tapped) await(lines ...string) {
	p.t.Helper()
	want := strings.Join(lines, "\n") + "\n"
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if got, _ := os.ReadFile(p.log); string(got) == want {
			return
		}
	}
	got, _ := os.ReadFile(p.log)
	p.t.Fatalf("the process printed %q, want %q", got, want)
}

// affected waits until calls were affected.
func (p *tapped) affected(n int64) {
	p.t.Helper()
	for deadline := time.Now().Add(patience); p.tap.Affected() != n; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			p.t.Fatalf("%d calls were affected, want %d", p.tap.Affected(), n)
		}
	}
}

// Calls pass, wait, fail or take longer, as the tap is set. Waiting calls are made when it is set
// again.
func TestTap(t *testing.T) {
	p := start(t)
	p.await("done")
	p.tap.Set(Effect{Stall: true})
	p.again()
	p.affected(1)
	if got, _ := os.ReadFile(p.log); !bytes.Equal(got, []byte("done\n")) {
		t.Errorf("a call that is held has ended: %q", got)
	}
	p.tap.Set(Effect{Errno: syscall.ENOSPC})
	p.await("done", "done")
	p.again()
	p.await("done", "done", syscall.ENOSPC.Error())
	p.tap.Set(Effect{Delay: 10 * time.Millisecond})
	p.again()
	p.await("done", "done", syscall.ENOSPC.Error(), "done")
	p.affected(1)
	p.tap.Set(Effect{})
	p.again()
	p.await("done", "done", syscall.ENOSPC.Error(), "done", "done")
}

// The cost of a tap is measured by calls with and without it, in turns. They pass it, and a call
// that is held while it is measured only takes longer.
func TestCost(t *testing.T) {
	if err := Check(); err != nil {
		t.Fatalf("this kernel has no taps: %v", err)
	}
	f, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	slow := New()
	defer slow.Close()
	slow.Set(Effect{Delay: 50 * time.Millisecond})
	got, err := slow.Cost(t.Context(), 5, patience, func() (time.Duration, error) {
		begin := time.Now()
		return time.Since(begin), unix.Fdatasync(int(f.Fd()))
	})
	if err != nil || got.N != 5 || slow.Affected() != 5 {
		t.Errorf("the cost is %+v (%v) after %d calls that were held, want 5 of each", got, err, slow.Affected())
	}
	calls := 0
	if got, err = New().Cost(t.Context(), 5, 0, func() (time.Duration, error) {
		calls++
		return time.Duration(calls), nil
	}); err != nil || got != (Cost{N: 1, With: 1, Without: 2}) {
		t.Errorf("the cost without time for it is %+v (%v), want the times of a call of each", got, err)
	}
	wrong := errors.New("no disk")
	if _, err := New().Cost(t.Context(), 5, patience, func() (time.Duration, error) { return 0, wrong }); !errors.Is(err, wrong) {
		t.Errorf("error %v, want %v", err, wrong)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := New().Cost(ctx, 5, patience, func() (time.Duration, error) { return 0, nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
}

// A process can die inside a held call.
func TestKilledInCall(t *testing.T) {
	p := start(t)
	p.await("done")
	p.tap.Set(Effect{Stall: true})
	p.again()
	p.affected(1)
	if exit := p.handle.Stop(t.Context(), process.Deadlines{Kill: patience}); exit.Signal != "SIGKILL" {
		t.Errorf("the process ended with %v", exit)
	}
}

// A frozen tap holds all calls, whatever is set, until it thaws.
func TestFreeze(t *testing.T) {
	p := start(t)
	p.await("done")
	p.tap.Set(Effect{Delay: time.Hour})
	p.again()
	p.affected(1)
	p.tap.Freeze()
	p.tap.Set(Effect{Errno: syscall.EIO})
	if got, _ := os.ReadFile(p.log); !bytes.Equal(got, []byte("done\n")) {
		t.Errorf("a call of a frozen tap has ended: %q", got)
	}
	p.tap.Thaw()
	p.await("done", "done")
	p.tap.Freeze()
	p.again()
	p.affected(1)
	p.tap.Thaw() // it came before, so that it is made
	p.await("done", "done", "done")
	p.again()
	p.await("done", "done", "done", syscall.EIO.Error())
}
