package process_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/coreos/dbtester/pkg/process"
)

// parentEnv makes the test binary a program that starts one child, reports its pid
// and waits to be killed.
const parentEnv = "PROCESS_TEST_PARENT"

func TestMain(m *testing.M) {
	if os.Getenv(parentEnv) != "" {
		h, err := process.Start(process.Command{Name: "child", Path: "sleep", Args: []string{"600"}})
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println(h.Pid())
		<-h.Done()
		return
	}
	goleak.VerifyTestMain(m)
}

// patience is how long anything may take on a busy machine: only a hang takes longer.
const patience = 2 * time.Minute

// In tests with children that ignore SIGINT, the first deadline in quick passes. The others must
// not: a busy machine may be slow.
var quick = process.Deadlines{Interrupt: 150 * time.Millisecond, Terminate: patience, Kill: patience}

// patient waits for SIGINT to be obeyed; hasty gives neither request long.
var (
	patient = process.Deadlines{Interrupt: patience, Terminate: patience, Kill: patience}
	hasty   = process.Deadlines{Interrupt: 150 * time.Millisecond, Terminate: 150 * time.Millisecond, Kill: patience}
)

var withoutCPU = cmpopts.IgnoreFields(process.Exit{}, "UserCPU", "SystemCPU")

// shell starts a script and waits until it has printed "ready".
func shell(t *testing.T, script string) (*process.Handle, string) {
	t.Helper()
	log := filepath.Join(t.TempDir(), "log")
	h, err := process.Start(process.Command{Name: "script", Path: "sh", Args: []string{"-c", script}, Log: log})
	if err != nil {
		t.Fatalf("start the process: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		h.Stop(ctx, quick)
	})
	eventually(t, "the script is ready", func() bool {
		data, _ := os.ReadFile(log)
		return strings.Contains(string(data), "ready")
	})
	return h, log
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !holds(); {
		if time.Now().After(deadline) {
			t.Fatalf("%s did not happen within %v", what, patience)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func TestStopEscalates(t *testing.T) {
	for name, test := range map[string]struct {
		script    string
		deadlines process.Deadlines
		want      process.Exit
		text      string
	}{
		"obeys interrupt": {
			script:    `trap "exit 0" INT; echo ready; while :; do sleep 0.01; done`,
			deadlines: patient,
			want:      process.Exit{Code: 0, After: "interrupt"},
			text:      "exit 0 after interrupt",
		},
		"does not catch it": {
			script:    `echo ready; exec sleep 600`,
			deadlines: patient,
			want:      process.Exit{Code: -1, Signal: "SIGINT", After: "interrupt"},
			text:      "killed by SIGINT after interrupt",
		},
		"obeys terminate": {
			script:    `trap "" INT; trap "exit 7" TERM; echo ready; while :; do sleep 0.01; done`,
			deadlines: quick,
			want:      process.Exit{Code: 7, After: "terminate"},
			text:      "exit 7 after terminate",
		},
		"obeys nothing": {
			script:    `trap "" INT TERM; echo ready; while :; do sleep 0.01; done`,
			deadlines: hasty,
			want:      process.Exit{Code: -1, Signal: "SIGKILL", After: "kill"},
			text:      "killed by SIGKILL after kill",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, _ := shell(t, test.script)
			if _, ended := h.Exit(); ended {
				t.Fatal("ended before it was asked")
			}
			got := h.Stop(t.Context(), test.deadlines)
			if diff := cmp.Diff(test.want, got, withoutCPU); diff != "" {
				t.Errorf("exit (-want +got):\n%s", diff)
			}
			if got.String() != test.text {
				t.Errorf("exit reads %q, want %q", got, test.text)
			}
			if again := h.Stop(t.Context(), quick); again != got {
				t.Errorf("stopped again: %v, want the same %v", again, got)
			}
		})
	}
}

func TestEndsUnasked(t *testing.T) {
	for script, want := range map[string]string{
		"exit 0":        "exit 0",
		"exit 3":        "exit 3",
		"kill -KILL $$": "killed by SIGKILL",
	} {
		h, err := process.Start(process.Command{Name: "script", Path: "sh", Args: []string{"-c", script}})
		if err != nil {
			t.Fatalf("start the process: %v", err)
		}
		<-h.Done()
		exit, ended := h.Exit()
		if !ended || exit.String() != want {
			t.Errorf("%s: %v, %v; want %q", script, exit, ended, want)
		}
		if late := h.Stop(t.Context(), quick); late.After != "" {
			t.Errorf("%s: stopped too late, yet it says after %q", script, late.After)
		}
	}
}

func TestStopByCancelledContextKillsAtOnce(t *testing.T) {
	h, _ := shell(t, `trap "" INT TERM; echo ready; while :; do sleep 0.01; done`)
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	// Otherwise it would take an hour.
	if exit := h.Stop(ctx, process.Deadlines{Interrupt: time.Hour, Terminate: time.Hour}); exit.After != "kill" {
		t.Errorf("the script ended with %v, want after the kill", exit)
	}
}

func TestStopByManyAtOnceSignalsOnce(t *testing.T) {
	h, log := shell(t, `trap "echo asked" INT; trap "exit 0" TERM; echo ready; while :; do sleep 0.01; done`)
	var wg sync.WaitGroup
	for range 5 {
		wg.Go(func() {
			if exit := h.Stop(t.Context(), quick); exit.After != "terminate" {
				t.Errorf("exit %v", exit)
			}
		})
	}
	wg.Wait()
	data, err := os.ReadFile(log)
	if err != nil {
		t.Fatalf("read the file: %v", err)
	}
	if n := strings.Count(string(data), "asked"); n != 1 {
		t.Errorf("interrupted %d times, want once", n)
	}
}

func TestGroupEndsWithItsLeader(t *testing.T) {
	seen := filepath.Join(t.TempDir(), "seen")
	for name, script := range map[string]string{
		"leader is stopped":     `trap "" INT; sh -c 'trap "" INT TERM; echo $$ ready; while :; do sleep 0.01; done' & trap "exit 0" TERM; wait; while :; do sleep 0.01; done`,
		"leader ends by itself": `sh -c 'trap "" INT TERM; echo $$ ready; while :; do sleep 0.01; done' & while [ ! -e ` + seen + ` ]; do sleep 0.01; done`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, log := shell(t, script)
			line, err := process.Tail(log, 1)
			if err != nil {
				t.Fatalf("read the tail: %v", err)
			}
			grandchild, err := strconv.Atoi(strings.Fields(line)[0])
			if err != nil {
				t.Fatalf("parse the number: %v", err)
			}
			ticks, err := process.StartTicks(grandchild)
			if err != nil {
				t.Fatalf("read the process's start: %v", err)
			}
			if strings.HasPrefix(name, "leader is") {
				h.Stop(t.Context(), quick)
			} else if err := os.WriteFile(seen, nil, 0o600); err != nil {
				t.Fatalf("let the leader end: %v", err)
			}
			<-h.Done()
			eventually(t, "the grandchild is gone", func() bool { return !process.Alive(grandchild, ticks) })
		})
	}
}

func TestChildDiesWithItsParent(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatalf("find the test binary: %v", err)
	}
	parent := exec.Command(self)
	parent.Env = append(os.Environ(), parentEnv+"=1")
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatalf("open the parent's output: %v", err)
	}
	if err := parent.Start(); err != nil {
		t.Fatalf("start the parent: %v", err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("read the server's reply: %v", err)
	}
	child, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatalf("parse the number: %v", err)
	}
	ticks, err := process.StartTicks(child)
	if err != nil {
		t.Fatalf("read the process's start: %v", err)
	}
	if err := parent.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatalf("signal the parent: %v", err)
	}
	_ = parent.Wait()
	eventually(t, "the child is gone", func() bool { return !process.Alive(child, ticks) })
}

// A goroutine that ends while locked to its thread ends the thread. The child it started must not
// die because of that.
func TestChildOutlivesTheThreadThatAsked(t *testing.T) {
	handle := make(chan *process.Handle)
	threadDied := make(chan int, 1)
	go onOtherThread(func() {
		threadDied <- syscall.Gettid()
		h, err := process.Start(process.Command{Name: "sleeper", Path: "sleep", Args: []string{"600"}})
		if err != nil {
			t.Errorf("start the process: %v", err)
		}
		handle <- h
	})
	tid := <-threadDied
	h := <-handle
	defer h.Stop(t.Context(), quick)
	eventually(t, "the thread is gone", func() bool {
		_, err := os.Stat(fmt.Sprintf("/proc/self/task/%d", tid))
		return err != nil
	})
	select {
	case <-h.Done():
		t.Fatal("the child died with the thread")
	case <-time.After(100 * time.Millisecond):
	}
	if !process.Alive(h.Pid(), h.StartTicks()) || process.Alive(h.Pid(), h.StartTicks()+1) {
		t.Error("alive means this pid and these start ticks")
	}
}

func TestStartTellsTheCommand(t *testing.T) {
	for name, c := range map[string]process.Command{
		"no executable": {Name: "etcd", Path: "/nowhere/etcd", Args: []string{"--name", "a"}},
		"no directory":  {Name: "etcd", Path: "true", Dir: "/nowhere"},
		"no log":        {Name: "etcd", Path: "true", Log: "/nowhere/log"},
	} {
		_, err := process.Start(c)
		want := "start etcd (" + strings.Join(append([]string{c.Path}, c.Args...), " ") + "): "
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v; want it to begin with %q", name, err, want)
		}
	}
}

func TestCommandIsObeyed(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("INHERITED", "yes")
	t.Setenv("OVERRIDDEN", "no")
	log := filepath.Join(dir, "log")
	c := process.Command{
		Name: "script", Path: "sh", Args: []string{"-c", `echo "$INHERITED $OVERRIDDEN $1"; pwd; echo problem >&2; exit 0`, "sh", "an arg"},
		Env: []string{"OVERRIDDEN=yes"}, Dir: dir, Log: log,
	}
	for range 2 { // the log is appended to
		h, err := process.Start(c)
		if err != nil {
			t.Fatalf("start the process: %v", err)
		}
		<-h.Done()
		if diff := cmp.Diff(append([]string{"sh"}, c.Args...), h.Argv()); diff != "" {
			t.Errorf("argv (-want +got):\n%s", diff)
		}
	}
	got, err := os.ReadFile(log)
	if err != nil {
		t.Fatalf("read the file: %v", err)
	}
	want := strings.Repeat("yes yes an arg\n"+dir+"\nproblem\n", 2)
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}

func TestExitCountsCPU(t *testing.T) {
	h, err := process.Start(process.Command{Name: "busy", Path: "sh", Args: []string{"-c", `i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done`}})
	if err != nil {
		t.Fatalf("start the process: %v", err)
	}
	<-h.Done()
	if exit, _ := h.Exit(); exit.UserCPU < 10*time.Millisecond || exit.UserCPU > time.Minute {
		t.Errorf("user CPU %v", exit.UserCPU)
	}
}

func TestTail(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	for _, test := range []struct {
		content string
		lines   int
		want    string
	}{
		{"", 3, ""},
		{"a\nb\nc\n", 2, "b\nc"},
		{"a\nb\nc", 2, "b\nc"},
		{"a\nb\nc\n", 3, "a\nb\nc"},
		{"a\nb\nc\n", 9, "a\nb\nc"},
		{"a\nb\n", 0, ""},
		{strings.Repeat("x", 1<<20) + "\nend\n", 1, "end"},
	} {
		if err := os.WriteFile(path, []byte(test.content), 0o600); err != nil {
			t.Fatalf("write a file for the test: %v", err)
		}
		got, err := process.Tail(path, test.lines)
		if err != nil || got != test.want {
			t.Errorf("last %d of %.20q: %q, %v; want %q", test.lines, test.content, got, err, test.want)
		}
	}
	if _, err := process.Tail(path+".none", 1); err == nil {
		t.Error("no error for a missing file")
	}
}

// onOtherThread runs f locked to a thread that ends with f. The runtime never ends the process's
// first thread: while that one is held, f runs on another.
func onOtherThread(f func()) {
	runtime.LockOSThread()
	if syscall.Gettid() != syscall.Getpid() {
		f()
		return // still locked, which ends the thread
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		f()
	}()
	<-done
	runtime.UnlockOSThread()
}

// A place is entered and left on the thread that starts the child, which is not the main one. A
// thread that cannot leave ends, and its child with it.
func TestPlace(t *testing.T) {
	stuck := errors.New("can't leave")
	for _, want := range []error{nil, stuck} {
		for range 20 { // the main thread is free now and then
			var entered, left int
			c := process.Command{Name: "sleep", Path: "sleep", Args: []string{"600"}, Place: func(attr *syscall.SysProcAttr) (func() error, error) {
				entered = unix.Gettid()
				if !attr.Setpgid {
					t.Error("the attributes must be those of the child")
				}
				return func() error { left = unix.Gettid(); return want }, nil
			}}
			h, err := process.Start(c)
			if entered == 0 || entered != left || entered == unix.Getpid() {
				t.Errorf("entered on thread %d and left on %d, want one that is not the main one (%d)", entered, left, unix.Getpid())
			}
			if !errors.Is(err, want) {
				t.Errorf("start must return %v, got %v", want, err)
			}
			if err == nil {
				h.Stop(t.Context(), process.Deadlines{})
			}
		}
	}
	refused := errors.New("no such place")
	_, err := process.Start(process.Command{Name: "true", Path: "true", Place: func(*syscall.SysProcAttr) (func() error, error) {
		return func() error { return nil }, refused
	}})
	if !errors.Is(err, refused) {
		t.Errorf("start must return %v, got %v", refused, err)
	}
}
