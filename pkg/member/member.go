// Package member executes one plan: it writes the files, starts the commands in order, stops them
// in reverse order and measures the data directories.
package member

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"syscall"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/process"
	"github.com/coreos/dbtester/pkg/process/fileinspect"
)

// Options configure a member.
type Options struct {
	Plan database.Plan
	// Dir is the absolute path to the member directory. Relative paths in the plan are below it,
	// and the commands run in it. It is created if missing.
	Dir string
	// LogDir is the absolute path to the folder in which the log of each command, NAME.log, is
	// appended to. It is created if missing.
	LogDir string
	// Self is the argv prefix for commands that run this binary again, such as the executable and
	// "serve".
	Self []string
	// Place applies to every command; see [process.Command].
	Place func(*syscall.SysProcAttr) (leave func() error, err error)
	// Spawned, if set, is called after the start of each command with all children so far. Its
	// error makes Start fail.
	Spawned func([]Child) error
}

// Child is the current state of one of a member's commands.
type Child struct {
	Name       string
	Pid        int
	StartTicks uint64
	Argv       []string
	// Log is the absolute path to the log of the child.
	Log     string
	Running bool
	// Exit is set once Running is false.
	Exit process.Exit
}

// Member is a running plan. Every method is safe for concurrent use.
type Member struct {
	options Options
	done    chan struct{}
	once    sync.Once
	watch   sync.WaitGroup // one watcher per child

	mu       sync.Mutex
	children []*process.Handle
}

// Start executes the plan. It checks like [Check], empties the data directories, writes the files
// and starts the commands in order, each after the previous one listens where it should. It returns
// once the last command listens on its WaitListen address; ctx limits it all. If anything fails,
// everything started so far is stopped.
func Start(ctx context.Context, o Options) (*Member, error) {
	if err := Check(ctx, o); err != nil {
		return nil, err
	}
	if err := prepare(o); err != nil {
		return nil, err
	}
	return start(ctx, o)
}

// Resume is like [Start] for a member that ran before: it keeps the data directories and the files.
func Resume(ctx context.Context, o Options) (*Member, error) {
	if err := Check(ctx, o); err != nil {
		return nil, err
	}
	return start(ctx, o)
}

// start starts the commands.
func start(ctx context.Context, o Options) (*Member, error) {
	m := &Member{options: o, done: make(chan struct{})}
	for _, c := range o.Plan.Commands {
		if err := m.spawn(ctx, c); err != nil {
			return nil, errors.Join(err, m.Stop(ctx, process.DefaultDeadlines()))
		}
	}
	return m, nil
}

// Children returns the started commands in order.
func (m *Member) Children() []Child {
	handles := m.handles()
	children := make([]Child, len(handles))
	for i, h := range handles {
		exit, ended := h.Exit()
		children[i] = Child{
			Name: h.Name(), Pid: h.Pid(), StartTicks: h.StartTicks(), Argv: h.Argv(),
			Log: m.options.log(h.Name()), Running: !ended, Exit: exit,
		}
	}
	return children
}

// Pids returns the process ids of the running children in order.
func (m *Member) Pids() []int {
	var pids []int
	for _, h := range m.handles() {
		if _, ended := h.Exit(); !ended {
			pids = append(pids, h.Pid())
		}
	}
	return pids
}

// Done returns a channel that is closed once the first child has ended, whether or not it was
// stopped.
func (m *Member) Done() <-chan struct{} { return m.done }

// Stop stops the children in reverse order, each with its own deadlines, one at a time. A cancelled
// ctx kills at once. Stop may be called again. The error names the children that are still running.
func (m *Member) Stop(ctx context.Context, d process.Deadlines) error {
	var problems []error
	for _, h := range slices.Backward(m.handles()) {
		exit := h.Stop(ctx, d)
		if _, ended := h.Exit(); !ended {
			problems = append(problems, fmt.Errorf("stop %s (pid %d): %s", h.Name(), h.Pid(), exit))
		}
	}
	if len(problems) == 0 {
		m.watch.Wait()
	}
	return errors.Join(problems...)
}

// Measure returns the total size of the data directories.
func (m *Member) Measure() (fileinspect.Sizes, error) {
	dirs := make([]string, len(m.options.Plan.DataDirs))
	for i, dir := range m.options.Plan.DataDirs {
		dirs[i] = filepath.Join(m.options.Dir, dir)
	}
	return fileinspect.Size(dirs...)
}

func (m *Member) handles() []*process.Handle {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.children)
}

// log returns the path to the log of a command.
func (o Options) log(name string) string { return filepath.Join(o.LogDir, name+".log") }
