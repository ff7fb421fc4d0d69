package member

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"syscall"
)

// Check says why the plan can't be executed here and now: paths outside the
// member's directory, executables that are missing, and addresses that are taken,
// each with its holder. It changes nothing and reports every problem, joined.
func Check(ctx context.Context, o Options) error {
	problems := o.checkPaths()
	for _, c := range o.Plan.Commands {
		if err := o.executable(c); err != nil {
			problems = append(problems, err)
		}
	}
	for _, addr := range o.Plan.Listen {
		if err := checkFree(ctx, addr); err != nil {
			problems = append(problems, err)
		}
	}
	return errors.Join(problems...)
}

// checkPaths refuses what would be written outside Dir and LogDir.
func (o Options) checkPaths() []error {
	var problems []error
	refuse := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	if !filepath.IsAbs(o.Dir) || !filepath.IsAbs(o.LogDir) {
		refuse("member directory %q and log directory %q must be absolute", o.Dir, o.LogDir)
	}
	for _, f := range o.Plan.Files {
		if !below(f.Path) {
			refuse("file %q is not below the member's directory", f.Path)
		}
	}
	for _, dir := range o.Plan.DataDirs {
		if !below(dir) {
			refuse("data directory %q is not below the member's directory", dir)
		}
	}
	if len(o.Plan.Commands) == 0 {
		refuse("the plan has no commands")
	}
	seen := map[string]bool{}
	for _, c := range o.Plan.Commands {
		if !below(c.Name) || filepath.Base(c.Name) != c.Name {
			refuse("command name %q can't name a log file", c.Name)
		}
		if seen[c.Name] {
			refuse("command name %q is used twice", c.Name)
		}
		seen[c.Name] = true
	}
	return problems
}

// below reports whether a relative path names something inside the directory it
// is relative to, and not that directory itself.
func below(path string) bool { return filepath.IsLocal(path) && filepath.Clean(path) != "." }

// checkFree binds addr for a moment. A listener on every address of the machine
// takes the port on each of them.
func checkFree(ctx context.Context, addr string) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	switch {
	case err == nil:
		return listener.Close()
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("address %s is taken by %s", addr, holders("/proc", addr))
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return fmt.Errorf("address %s does not belong to this machine", addr)
	default:
		return fmt.Errorf("address %s can't be listened on: %w", addr, err)
	}
}
