package experiment

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Agents starts and stops agents on this machine. The zero value is ready to use.
type Agents struct {
	running []*exec.Cmd
	readers sync.WaitGroup // for their output
}

// slowStart bounds the time an agent takes to start.
const slowStart = time.Minute

// Start starts an agent on each host, with flags, which works in a folder below dir.
func (a *Agents) Start(program, dir string, hosts []string, flags ...string) error {
	for _, host := range hosts {
		cmd := exec.Command(program, append([]string{"agent", "--agent-port", host + ":3500", "--work-dir", filepath.Join(dir, "agent-"+host)}, flags...)...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
		out, err := cmd.StdoutPipe()
		if err != nil {
			return err
		}
		var said strings.Builder
		cmd.Stderr = &said
		if err := cmd.Start(); err != nil {
			return err
		}
		a.running = append(a.running, cmd)
		listens := make(chan bool, 1)
		a.readers.Go(func() {
			lines := bufio.NewScanner(out)
			listens <- lines.Scan() && strings.HasPrefix(lines.Text(), "agent listens on ")
			_, _ = io.Copy(io.Discard, out) // until the agent ends
		})
		select {
		case ok := <-listens:
			if !ok {
				return errors.Join(fmt.Errorf("the agent on %s does not listen", host), a.Stop(), errors.New(said.String()))
			}
		case <-time.After(slowStart):
			return fmt.Errorf("the agent on %s does not listen within %v", host, slowStart)
		}
	}
	return nil
}

// Stop ends the agents.
func (a *Agents) Stop() error {
	var errs []error
	for _, cmd := range a.running {
		if err := cmd.Process.Signal(os.Interrupt); !errors.Is(err, os.ErrProcessDone) {
			errs = append(errs, err)
		}
	}
	a.readers.Wait()
	for _, cmd := range a.running {
		_ = cmd.Wait() // an interrupt may be a failure
	}
	a.running = nil
	return errors.Join(errs...)
}
