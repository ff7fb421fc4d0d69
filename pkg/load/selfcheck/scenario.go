package selfcheck

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/process"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/workload"
)

// scenario is one load on one server.
type scenario struct {
	law      Law
	clients  int
	rate     float64 // 0 is a closed loop
	duration time.Duration
}

// timeout is far longer than any stall, so no request in a check fails.
const timeout = time.Minute

// run runs the scenario against a server in another process and compares service
// times in a closed loop, response times with a rate.
func (s scenario) run(ctx context.Context, argv []string) (c Comparison, err error) {
	dir, err := os.MkdirTemp("", "dbtester-selfcheck-")
	if err != nil {
		return c, fmt.Errorf("make a folder for the server: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	child, address, err := s.start(ctx, argv, dir)
	if err != nil {
		return c, err
	}
	recorded, err := s.load(ctx, address)
	if exit := child.Stop(ctx, process.DefaultDeadlines()); err == nil && exit.Code != 0 {
		last, _ := process.Tail(filepath.Join(dir, outputFile), 3)
		err = fmt.Errorf("the server ended with %v: %s", exit, last)
	}
	if err != nil {
		return c, err
	}
	entries, err := readLog(filepath.Join(dir, logFile))
	if err != nil {
		return c, err
	}
	return s.compare(recorded, entries)
}

// Server files.
const (
	logFile     = "delays.csv"
	addressFile = "address"
	outputFile  = "output.log"
)

// start starts a server and returns it with its address.
func (s scenario) start(ctx context.Context, argv []string, dir string) (*process.Handle, string, error) {
	law, err := json.Marshal(s.law)
	if err != nil {
		return nil, "", fmt.Errorf("write the law of delays: %w", err)
	}
	return startServer(ctx, argv, dir, "--law", string(law))
}

// startServer starts a server with arguments and returns it with its address. Its files
// are in dir.
func startServer(ctx context.Context, argv []string, dir string, more ...string) (*process.Handle, string, error) {
	address := filepath.Join(dir, addressFile)
	args := slices.Concat(argv[1:], more, []string{"--address", address, "--log", filepath.Join(dir, logFile)})
	child, err := process.Start(process.Command{Name: "server", Path: argv[0], Args: args, Log: filepath.Join(dir, outputFile)})
	if err != nil {
		return nil, "", err
	}
	text, err := await(ctx, child, address)
	if err != nil {
		last, _ := process.Tail(filepath.Join(dir, outputFile), 3)
		exit := child.Stop(ctx, process.DefaultDeadlines())
		return nil, "", fmt.Errorf("wait for the server (%v: %s): %w", exit, last, err)
	}
	return child, text, nil
}

// await waits for the file with the server address and reads it.
func await(ctx context.Context, child *process.Handle, path string) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, errors.New("it must write its address within "+timeout.String()))
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		text, err := os.ReadFile(path)
		if err == nil {
			return string(text), nil
		}
		select {
		case <-tick.C:
		case <-child.Done():
			return "", errors.New("it ended before it wrote its address")
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	}
}

// load applies the scenario load to the server at an address.
func (s scenario) load(ctx context.Context, address string) (*recorded, error) {
	clients, err := dial(ctx, address, s.clients)
	if err != nil {
		return nil, err
	}
	recorded, err := s.apply(ctx, clients)
	return recorded, errors.Join(err, database.CloseAll(clients))
}

func (s scenario) apply(ctx context.Context, clients []database.Client) (*recorded, error) {
	step := load.Step{Step: workload.Step{Clients: s.clients, Rate: s.rate, Duration: s.duration}}
	recorded, rec, err := apply(ctx, load.Spec{Load: workload.Load{Limits: workload.Limits{Timeout: timeout, Drain: timeout}}}, step, clients)
	if err != nil {
		return nil, err
	}
	if t := rec.Totals(); t.OK != t.Offered || t.OK == 0 {
		return nil, fmt.Errorf("every request must be answered, got %d of %d", t.OK, t.Offered)
	}
	return recorded, nil
}

// compare compares the recorded latencies with those that follow from the server log.
func (s scenario) compare(r *recorded, entries []entry) (Comparison, error) {
	c := Comparison{
		Timing: results.TimingService, Clients: s.clients, Rate: s.rate, Duration: s.duration, Law: s.law, N: int64(len(entries)),
	}
	if n := r.latency[c.Timing].Count; n != c.N {
		return c, fmt.Errorf("the engine must have recorded every request of the server's log, got %d of %d", n, c.N)
	}
	if s.rate == 0 {
		truth := make([]int64, c.N)
		for i, e := range entries {
			truth[i] = e.delay()
		}
		c.compare(r, truth, nil)
		return c, nil
	}
	if err := inOrder(entries); err != nil {
		return c, err
	}
	c.Timing = results.TimingResponse
	truth := replay(c.N, s.rate, s.clients, func(i, sent int64) int64 { return sent + entries[i].delay() })
	theory := replay(c.N, s.rate, s.clients, func(i, sent int64) int64 { return int64(s.law.reply(i, time.Duration(sent))) })
	c.compare(r, truth, theory)
	return c, nil
}
