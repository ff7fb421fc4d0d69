// Package process runs child processes: as data before they start, as handles afterwards. A started
// child is always reaped, and dies with this process.
//
// A child leads its own process group, and signals go to the whole group. Grandchildren end with it
// unless they moved to another group. The kernel ties only the child itself to the life of this
// process: if this process is killed outright, a grandchild that ignores its parent's end survives.
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
	// Name is used in errors.
	Name string
	// Path is the executable; without a slash it is looked up in PATH.
	Path string
	// Args follow argv[0].
	Args []string
	// Env entries, KEY=VALUE, are added to this process's environment and override it.
	Env []string
	// Dir is the working directory; empty means this process's own.
	Dir string
	// Log is a file to which standard output and standard error are appended; empty discards both.
	Log string
	// Place, if set, changes how the child starts, for example in which control group. It is called
	// on the thread that starts the child, which is never the main thread of the process. Its leave
	// is called on the same thread right after the start. If leave fails, the child is killed and
	// the thread ends.
	Place func(*syscall.SysProcAttr) (leave func() error, err error)
}

// argv returns the whole argument vector.
func (c Command) argv() []string { return append([]string{c.Path}, c.Args...) }

// Exit describes how a child ended.
type Exit struct {
	// Code is the exit code, or -1 if a signal ended the child.
	Code int
	// Signal is the name of the signal that ended the child, such as "SIGKILL".
	Signal string
	// After is the last stage Stop had reached before the child ended: "interrupt", "terminate",
	// "kill", or empty if it ended by itself.
	After string
	// UserCPU and SystemCPU cover the child and every waited-for descendant.
	UserCPU, SystemCPU time.Duration
}

// String returns text such as "exit 0 after interrupt" or "killed by SIGKILL".
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

	// stuck means that the thread could not leave the place of the child.
	stuck bool

	mu     sync.Mutex
	stage  stage // last stage sent
	reaped bool
	exit   Exit
}

// Start runs c. The child is reaped when it ends, whether or not Stop is called. The kernel kills
// it if this process ends first.
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

// Name returns the name the command was given, not the executable's.
func (h *Handle) Name() string { return h.command.Name }

// Pid returns the process id of the child, which is also its process group id.
func (h *Handle) Pid() int { return h.pid }

// StartTicks returns the child's start in clock ticks since boot. Together with the pid, it
// identifies the process until the next reboot.
func (h *Handle) StartTicks() uint64 { return h.ticks }

// Argv returns the running argument vector.
func (h *Handle) Argv() []string { return h.command.argv() }

// Done returns a channel that is closed once the child has ended and is reaped.
func (h *Handle) Done() <-chan struct{} { return h.done }

// Exit returns how the child ended, or false while it is running.
func (h *Handle) Exit() (Exit, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.exit, h.reaped
}

// begin calls run, on a thread other than the main thread if the child has a place.
func (h *Handle) begin(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if h.command.Place == nil || !onMainThread() {
		h.run(started)
		return
	}
	// This goroutine occupies the main thread until the other one has its own thread.
	locked := make(chan struct{})
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		close(locked)
		h.run(started)
	}()
	<-locked
}

// run manages a child until its end. It occupies one thread, because the kernel sends the
// parent-death signal when the thread that started the child ends, not when the process does.
func (h *Handle) run(started chan<- error) {
	if err := h.start(); err != nil {
		if h.stuck {
			runtime.LockOSThread() // locked once more than unlocked, so the thread ends with its goroutine
		}
		started <- err
		return
	}
	started <- nil
	waitEnd(h.pid)
	h.reap()
	close(h.done)
}

// start spawns the child. The child writes its output directly to a file. Nothing is copied through
// this process, so waiting for the child never waits for a pipe.
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
	// An ended child still has an entry in /proc, because only run reaps it.
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

// reap kills the rest of the group and collects the exit status. The leader's pid cannot be reused
// before it is reaped, so the signal cannot reach another process; the lock keeps signal from
// sending one later.
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
