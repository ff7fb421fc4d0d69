package control

import (
	"context"
	"path/filepath"
	"sync"

	"github.com/coreos/dbtester/control/fleet"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/results/clocks"
)

// heartbeats is the activity that keeps the agent leases and records the agent clocks.
type heartbeats struct {
	run   *run
	fleet *fleet.Fleet
	clock *clockFile
}

func (h *heartbeats) Name() string { return "send heartbeats" }

func (h *heartbeats) Prepare(context.Context) error {
	return h.clock.open(filepath.Join(h.run.dir, results.FileClock))
}

func (h *heartbeats) Run(ctx context.Context) error {
	h.fleet.Heartbeats(ctx)
	return h.clock.close()
}

func (h *heartbeats) Record() {
	for i, clock := range h.fleet.Clocks() {
		if clock.N > 0 {
			h.run.record.Members[i].Clock = &clock
		}
	}
}

// clockFile writes clock.csv while heartbeats are sent. Its methods are safe for
// concurrent use.
type clockFile struct {
	mu  sync.Mutex
	out *clocks.Writer // nil unless open
	err error          // from the first row that was not written
}

func (c *clockFile) open(path string) (err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.out, err = clocks.NewWriter(path)
	return err
}

// write appends a row. Its error is returned by close.
func (c *clockFile) write(e clocks.Exchange) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.out == nil || c.err != nil {
		return
	}
	c.err = c.out.Write(e)
}

// close ends the file and returns the first error. It drops rows from later heartbeats.
func (c *clockFile) close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.out == nil {
		return nil
	}
	err := c.out.Close()
	c.out = nil
	if c.err != nil {
		return c.err
	}
	return err
}
