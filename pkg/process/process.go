// Package process runs child processes: as data before they start, as handles
// after. A child that was started is always reaped, and dies with this process.
//
// A child leads a process group of its own, and signals go to the whole group:
// grandchildren end with it, unless they moved to another group. Only the
// child itself is bound to this process's life by the kernel; if this process
// is killed outright, a grandchild that ignores its parent's end survives.
package process

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Command is one child process as data.
type Command struct {
	// Name is the name in errors.
	Name string
	// Path is the executable; without a slash it is looked up in PATH.
	Path string
	// Args follow argv[0].
	Args []string
	// Env entries, KEY=VALUE, are added to this process's environment and win
	// over it.
	Env []string
	// Dir is the working directory; empty is this process's own.
	Dir string
	// Log is a file that standard output and standard error are appended to;
	// empty discards both.
	Log string
	// Place, if set, changes how the child starts, such as in which control group. It is
	// called on the thread that starts the child, which is never the process's main
	// thread, and its leave right after the start on the same thread. If leave fails the
	// child is killed and the thread ends.
	Place func(*syscall.SysProcAttr) (leave func() error, err error)
}

// argv returns the whole argument vector.
func (c Command) argv() []string { return append([]string{c.Path}, c.Args...) }

// Exit is how a child ended.
type Exit struct {
	// Code is the exit code, or -1 if the child was ended by a signal.
	Code int
	// Signal is the name of the signal that ended the child, such as "SIGKILL".
	Signal string
	// After is the last stage of Stop that the child was sent before it ended:
	// "interrupt", "terminate", "kill", or empty if it ended unasked.
	After string
	// UserCPU and SystemCPU are of the child and of every descendant that was
	// waited for.
	UserCPU, SystemCPU time.Duration
}

// String returns such as "exit 0 after interrupt" or "killed by SIGKILL".
func (e Exit) String() string {
	text := fmt.Sprintf("exit %d", e.Code)
	switch {
	case e.Signal != "":
		text = "killed by " + e.Signal
	case e.Code < 0:
		text = "still running"
	}
	if e.After != "" {
		text += " after " + e.After
	}
	return text
}

// Handle is a started child. Every method is safe for concurrent use.
type Handle struct {
	command Command
	cmd     *exec.Cmd
	pid     int
	ticks   uint64
	done    chan struct{}

	// stuck is whether the thread could not leave the child's place.
	stuck bool

	mu     sync.Mutex
	stage  stage // the last that was sent
	reaped bool
	exit   Exit
}

// Start runs c. The child is reaped when it ends, whether or not Stop is
// called, and is killed by the kernel if this process ends before it.
func Start(c Command) (*Handle, error) {
	h := &Handle{command: c, done: make(chan struct{})}
	h.command.Args, h.command.Env = slices.Clone(c.Args), slices.Clone(c.Env)
	started := make(chan error)
	go h.begin(started)
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s (%s): %w", c.Name, strings.Join(c.argv(), " "), err)
	}
	return h, nil
}

// Name is the one in Command, not the executable's.
func (h *Handle) Name() string { return h.command.Name }

// Pid is the child's process id, which is its process group's too.
func (h *Handle) Pid() int { return h.pid }

// StartTicks is when the child started, in clock ticks since boot. With the pid
// it names the process for as long as the machine is up.
func (h *Handle) StartTicks() uint64 { return h.ticks }

// Argv returns the argument vector that runs.
func (h *Handle) Argv() []string { return h.command.argv() }

// Done is closed once the child has ended and is reaped.
func (h *Handle) Done() <-chan struct{} { return h.done }

// Exit returns how the child ended, and false while it runs.
func (h *Handle) Exit() (Exit, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.exit, h.reaped
}

// begin is run on a thread that is not the process's main one, if the child has a place.
func (h *Handle) begin(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if h.command.Place == nil || !onMainThread() {
		h.run(started)
		return
	}
	// This goroutine keeps the main thread until the other has one of its own.
	locked := make(chan struct{})
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		close(locked)
		h.run(started)
	}()
	<-locked
}

// run is the life of one child. It keeps one thread to itself, because the
// kernel sends the parent-death signal when the thread that started the child
// ends, not when the process does.
func (h *Handle) run(started chan<- error) {
	if err := h.start(); err != nil {
		if h.stuck {
			runtime.LockOSThread() // once more than it is unlocked: the thread ends with its goroutine
		}
		started <- err
		return
	}
	started <- nil
	waitEnd(h.pid)
	h.reap()
	close(h.done)
}

// start spawns the child. Its output is a file it holds itself: nothing is
// copied through this process, so waiting for it never waits for a pipe.
func (h *Handle) start() error {
	c := h.command
	h.cmd = exec.Command(c.Path, c.Args...)
	h.cmd.Dir = c.Dir
	h.cmd.Env = append(os.Environ(), c.Env...)
	h.cmd.SysProcAttr = attributes()
	if c.Log != "" {
		log, err := os.OpenFile(c.Log, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o640)
		if err != nil {
			return fmt.Errorf("open log: %w", err)
		}
		defer log.Close()
		h.cmd.Stdout, h.cmd.Stderr = log, log
	}
	if err := h.spawn(); err != nil {
		return err
	}
	// An ended child still has its entry in /proc: only run reaps it.
	ticks, err := StartTicks(h.pid)
	if err != nil {
		h.abandon()
		return fmt.Errorf("identify pid %d: %w", h.pid, err)
	}
	h.ticks = ticks
	return nil
}

// spawn starts the child in its place.
func (h *Handle) spawn() error {
	leave := func() error { return nil }
	var err error
	if h.command.Place != nil {
		leave, err = h.command.Place(h.cmd.SysProcAttr)
	}
	if err == nil {
		err = h.cmd.Start()
	}
	left := leave()
	h.stuck = left != nil
	if err == nil {
		h.pid = h.cmd.Process.Pid
		if left != nil {
			h.abandon()
		}
	}
	return errors.Join(err, left)
}

// abandon kills and reaps a child that was just started.
func (h *Handle) abandon() {
	h.stage = stageKill
	_ = unix.Kill(-h.pid, unix.SIGKILL)
	_ = h.cmd.Wait()
}

// reap kills the rest of the group and takes the exit status. Until the
// leader is reaped its pid can't be given to another process, so the signal
// cannot reach another process; the lock keeps signal from sending one later.
func (h *Handle) reap() {
	h.mu.Lock()
	defer h.mu.Unlock()
	_ = unix.Kill(-h.pid, unix.SIGKILL)
	err := h.cmd.Wait()
	h.reaped = true
	h.exit = Exit{Code: -1, After: h.stage.String()}
	state := h.cmd.ProcessState
	if state == nil {
		h.exit.Signal = fmt.Sprintf("unknown cause (%v)", err)
		return
	}
	h.exit.Code = state.ExitCode()
	h.exit.UserCPU, h.exit.SystemCPU = state.UserTime(), state.SystemTime()
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		h.exit.Signal = unix.SignalName(status.Signal())
	}
}
