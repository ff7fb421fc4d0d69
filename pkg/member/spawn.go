package member

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/process"
)

const (
	// pollListen is the interval between attempts to dial an address until it accepts.
	pollListen = 50 * time.Millisecond
	// tailLines is the number of lines from the log of a dead child in an error.
	tailLines = 10
)

// spawn starts a command and waits until it listens on its addresses.
func (m *Member) spawn(ctx context.Context, c database.Command) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("start %s: %w", c.Name, err)
	}
	argv := m.options.argv(c)
	h, err := process.Start(process.Command{
		Name: c.Name, Path: argv[0], Args: argv[1:], Env: c.Env,
		Dir: m.options.Dir, Log: m.options.log(c.Name), Place: m.options.Place,
	})
	if err != nil {
		return err
	}
	m.mu.Lock()
	m.children = append(m.children, h)
	m.mu.Unlock()
	m.watch.Go(func() {
		<-h.Done()
		m.once.Do(func() { close(m.done) })
	})
	if m.options.Spawned != nil {
		if err := m.options.Spawned(m.Children()); err != nil {
			return fmt.Errorf("after %s started: %w", c.Name, err)
		}
	}
	for _, addr := range c.WaitListen {
		if err := m.waitListen(ctx, addr); err != nil {
			return fmt.Errorf("wait for %s to listen on %s: %w", c.Name, addr, err)
		}
	}
	return nil
}

// waitListen dials addr until it accepts, a child dies or ctx ends.
func (m *Member) waitListen(ctx context.Context, addr string) error {
	ticker := time.NewTicker(pollListen)
	defer ticker.Stop()
	dialer := net.Dialer{Timeout: time.Second}
	for {
		conn, err := dialer.DialContext(ctx, "tcp", addr)
		if err == nil {
			return conn.Close()
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-m.done:
			return m.death()
		case <-ticker.C:
		}
	}
}

// death describes the ended children, with the last lines they logged.
func (m *Member) death() error {
	var dead []error
	for _, c := range m.Children() {
		if c.Running {
			continue
		}
		tail, err := process.Tail(c.Log, tailLines)
		switch {
		case err != nil:
			tail = err.Error()
		case tail == "":
			tail = "(its log is empty)"
		}
		dead = append(dead, fmt.Errorf("%s ended: %s; the end of its log:\n%s", c.Name, c.Exit, tail))
	}
	return errors.Join(dead...)
}

// argv returns the whole argument vector of c. The executable is an absolute path, or is looked up
// in PATH if it has no slash.
func (o Options) argv(c database.Command) []string {
	if c.Self {
		return append(append([]string{}, o.Self...), c.Args...)
	}
	path := c.Path
	if strings.Contains(path, "/") && !filepath.IsAbs(path) {
		path = filepath.Join(o.Dir, path)
	}
	return append([]string{path}, c.Args...)
}

// executable returns an error if c cannot be run. Files written by the plan itself are not
// executable.
func (o Options) executable(c database.Command) error {
	if c.Self && c.Path != "" {
		return fmt.Errorf("command %q runs this binary and names %q too", c.Name, c.Path)
	}
	argv := o.argv(c)
	if len(argv) == 0 || argv[0] == "" {
		return fmt.Errorf("command %q names no executable", c.Name)
	}
	if _, err := exec.LookPath(argv[0]); err != nil {
		var lookup *exec.Error
		if errors.As(err, &lookup) {
			err = lookup.Err
		}
		if errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("command %q: there is no %s: %w", c.Name, argv[0], os.ErrNotExist)
		}
		return fmt.Errorf("command %q: %s: %w", c.Name, argv[0], err)
	}
	return nil
}
