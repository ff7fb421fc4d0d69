// Package realstore runs three members of a real database on loopback addresses and counts their
// keys through its own interfaces. It shares no code with the audited program.
package realstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// members is the cluster size.
const members = 3

// Store says how to start and query one member of a database. Members are numbered from 1, and
// addresses have no port.
type Store interface {
	// Command writes the member files below dir and returns its command.
	Command(dir string, member int, addresses []string) (*exec.Cmd, error)
	// Ready returns an error until the member at this address serves.
	Ready(ctx context.Context, address string) error
	// Keys counts the entries in the whole database through one member. Entries added by the
	// database or by a client layout count as well.
	Keys(ctx context.Context, address string) (int64, error)
	// Leads reports whether the member at this address claims to be the leader.
	Leads(ctx context.Context, address string) (bool, error)
	// Port is the client port.
	Port() int
}

// Cluster is three running members.
type Cluster struct {
	store     Store
	addresses []string
	commands  []*exec.Cmd
	ended     []chan struct{}
	dead      []bool
}

// readyWithin limits how long a cluster takes to start. A cold JVM on a busy machine takes long.
const readyWithin = 90 * time.Second

// Start runs three members with their files below dir, on addresses in 127.0.0.0/8, and returns
// once each serves. The caller closes the cluster.
func Start(ctx context.Context, store Store, dir string, addresses [members]string) (*Cluster, error) {
	c := &Cluster{store: store, addresses: addresses[:], dead: make([]bool, members)}
	for i := range members {
		if err := c.start(filepath.Join(dir, fmt.Sprint(i+1)), i); err != nil {
			return nil, errors.Join(err, c.Close())
		}
	}
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	for i, address := range c.addresses {
		if err := c.await(ctx, i, address); err != nil {
			return nil, errors.Join(fmt.Errorf("member %d is not ready: %w", i+1, err), c.Close())
		}
	}
	return c, nil
}

func (c *Cluster) start(dir string, i int) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	cmd, err := c.store.Command(dir, i+1, c.addresses)
	if err != nil {
		return err
	}
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		return err
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan struct{})
	c.commands, c.ended = append(c.commands, cmd), append(c.ended, ended)
	go func() {
		_ = cmd.Wait() // it is killed at the end
		close(ended)
	}()
	return nil
}

func (c *Cluster) await(ctx context.Context, i int, address string) error {
	for {
		err := c.store.Ready(ctx, address)
		if err == nil {
			return nil
		}
		select {
		case <-c.ended[i]:
			return errors.Join(errors.New("its process ended"), err)
		case <-ctx.Done():
			return err
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// Endpoints returns all client addresses.
func (c *Cluster) Endpoints() (out []string) {
	for _, a := range c.addresses {
		out = append(out, net.JoinHostPort(a, fmt.Sprint(c.store.Port())))
	}
	return out
}

// Keys counts through the first member that was not killed.
func (c *Cluster) Keys(ctx context.Context) (int64, error) {
	for i, address := range c.addresses {
		if !c.dead[i] {
			ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
			defer cancel()
			return c.store.Keys(ctx, address)
		}
	}
	return 0, errors.New("no member is left")
}

// Leader returns the member that claims to be the leader.
func (c *Cluster) Leader(ctx context.Context) (int, error) {
	var errs []error
	for i, address := range c.addresses {
		leads, err := c.store.Leads(ctx, address)
		if leads {
			return i, nil
		}
		errs = append(errs, err)
	}
	return 0, errors.Join(append(errs, errors.New("no member calls itself the leader"))...)
}

// Kill ends a member at once. Here and below, members are numbered from 0.
func (c *Cluster) Kill(member int) {
	c.dead[member] = true
	c.signal(member, syscall.SIGKILL)
	<-c.ended[member]
}

// Pause and Resume stop and continue a member.
func (c *Cluster) Pause(member int)  { c.signal(member, syscall.SIGSTOP) }
func (c *Cluster) Resume(member int) { c.signal(member, syscall.SIGCONT) }

func (c *Cluster) signal(member int, s syscall.Signal) {
	_ = syscall.Kill(-c.commands[member].Process.Pid, s) // it may have ended
}

// Close kills all members and waits for their ends.
func (c *Cluster) Close() error {
	for i := range c.commands {
		c.Kill(i)
	}
	return nil
}

// ask sends word to address and returns the response.
func ask(ctx context.Context, address, word string) (string, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	deadline, ok := ctx.Deadline()
	if !ok || time.Until(deadline) > 5*time.Second {
		deadline = time.Now().Add(5 * time.Second)
	}
	if err := conn.SetDeadline(deadline); err != nil {
		return "", err
	}
	if _, err := io.WriteString(conn, word); err != nil {
		return "", err
	}
	answer, err := io.ReadAll(io.LimitReader(conn, 1<<20))
	return strings.TrimSpace(string(answer)), err
}
