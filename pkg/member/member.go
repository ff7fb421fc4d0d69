// Package member executes one plan: it writes the files, starts the commands in
// order, stops them in reverse and measures the data directories.
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

// Options are the inputs of a member.
type Options struct {
	Plan database.Plan
	// Dir is the member's own directory, absolute; the plan's relative paths and
	// the commands' working directory are here. It is made if missing.
	Dir string
	// LogDir takes NAME.log of each command, appended to; absolute. It is made if
	// missing.
	LogDir string
	// Self is the argv prefix of commands that run this binary again, such as the
	// executable and "serve".
	Self []string
	// Place is that of every command; see [process.Command].
	Place func(*syscall.SysProcAttr) (leave func() error, err error)
	// Spawned, if set, is called after each command started, with all children so
	// far; its error ends Start.
	Spawned func([]Child) error
}

// Child is the present state of one command of a member.
type Child struct {
	Name       string
	Pid        int
	StartTicks uint64
	Argv       []string
	// Log is the absolute path of the child's log.
	Log     string
	Running bool
	// Exit is set once Running is false.
	Exit process.Exit
}

// Member is a plan that runs. Every method is safe for concurrent use.
type Member struct {
	options Options
	done    chan struct{}
	once    sync.Once
	watch   sync.WaitGroup // one watcher for each child

	mu       sync.Mutex
	children []*process.Handle
}

// Start executes the plan: it checks as [Check] does, empties the data
// directories, writes the files and starts the commands in order, each once the
// one before it listens where it should. It returns when the last command is
// spawned and listens on its WaitListen address; ctx bounds all of it. If
// anything fails, everything that was started is stopped again.
func Start(ctx context.Context, o Options) (*Member, error) {
	if err := Check(ctx, o); err != nil {
		return nil, err
	}
	if err := prepare(o); err != nil {
		return nil, err
	}
	return start(ctx, o)
}

// Resume is [Start] of a member that ran before: the data directories and the
// files stay as it left them.
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

// Children returns the commands that were started, in order.
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

// Pids returns the process ids of the children that run, in order.
func (m *Member) Pids() []int {
	var pids []int
	for _, h := range m.handles() {
		if _, ended := h.Exit(); !ended {
			pids = append(pids, h.Pid())
		}
	}
	return pids
}

// Done is closed when the first child has ended, asked or not.
func (m *Member) Done() <-chan struct{} { return m.done }

// Stop ends the children in reverse order, each with its own deadlines, and
// waits for each before it asks the next. A cancelled ctx kills at once. Calling
// it again is allowed. The error names the children that still run.
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

// Measure returns the size of the data directories together.
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

// log is the path of a command's log.
func (o Options) log(name string) string { return filepath.Join(o.LogDir, name+".log") }
