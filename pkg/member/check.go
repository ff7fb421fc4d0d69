package member

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/sleep"
)

// ErrTaken is in the error for an address that another process has.
var ErrTaken = errors.New("is taken by")

// Check returns every reason why the plan cannot be executed here and now: paths outside the member
// directory, missing executables, and addresses in use, each with the processes that hold it. It
// changes nothing.
func Check(ctx context.Context, o Options) error {
	problems := o.checkPaths()
	for _, c := range o.Plan.Commands {
		if err := o.executable(c); err != nil {
			problems = append(problems, err)
		}
	}
	return errors.Join(append(problems, checkListen(ctx, o.Plan.Listen)...)...)
}

// checkPaths rejects files outside Dir and LogDir.
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

// below reports whether a relative path stays inside its base directory and is not that directory
// itself.
func below(path string) bool { return filepath.IsLocal(path) && filepath.Clean(path) != "." }

// checkListen binds every address, and releases them once all were tried, because two commands in a
// plan cannot share an address.
func checkListen(ctx context.Context, addrs []string) (problems []error) {
	for i, addr := range addrs {
		if slices.Contains(addrs[:i], addr) {
			problems = append(problems, fmt.Errorf("address %s is in the plan twice", addr))
			continue
		}
		held, err := hold(ctx, addr)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		defer func() {
			if err := held.Close(); err != nil {
				problems = append(problems, fmt.Errorf("give back address %s: %w", addr, err))
			}
		}()
	}
	return problems
}

// unknownTimeout is how long an address may be taken by an unknown process, and unknownEvery how
// often it is tried meanwhile. A child this process starts has copies of all its sockets until it
// is another program, so that an address that was checked a moment ago seems taken where several
// members are started by agents in one process.
const (
	unknownTimeout = 5 * time.Second
	unknownEvery   = 10 * time.Millisecond
)

// hold binds the plan's address listen until it is closed. An unspecified address takes the port on
// every address of the machine.
func hold(ctx context.Context, listen string) (held io.Closer, err error) {
	for tried := time.Now(); ; {
		held, err = bind(ctx, listen)
		if !errors.Is(err, syscall.EADDRINUSE) {
			break
		}
		names := holders("/proc", listen)
		if len(names) > 0 {
			return nil, fmt.Errorf("address %s %w %s", listen, ErrTaken, strings.Join(names, ", "))
		}
		if time.Since(tried) > unknownTimeout || !sleep.For(ctx, unknownEvery) {
			return nil, fmt.Errorf("address %s %w a process that can't be identified", listen, ErrTaken)
		}
	}
	switch {
	case err == nil:
		return held, nil
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return nil, fmt.Errorf("address %s does not belong to this machine", listen)
	default:
		return nil, fmt.Errorf("address %s can't be listened on: %w", listen, err)
	}
}

// bind binds the plan's address listen.
func bind(ctx context.Context, listen string) (io.Closer, error) {
	addr, udp := strings.CutSuffix(listen, database.UDP)
	if udp {
		return new(net.ListenConfig).ListenPacket(ctx, "udp", addr)
	}
	return new(net.ListenConfig).Listen(ctx, "tcp", addr)
}
