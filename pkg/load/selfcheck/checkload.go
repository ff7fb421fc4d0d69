package selfcheck

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/process"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/workload"
)

// LoadOptions configure [CheckLoad].
type LoadOptions struct {
	// Server is the command line that runs [ServeMirror]; CheckLoad appends arguments.
	Server []string
	// Database is its name in the server registry.
	Database string
	Driver   database.Driver
	Load     workload.Load
	Seed     uint64
	// Duration is the time for which the load is applied; 0 is [LoadDuration].
	Duration time.Duration
	// Secured means that load connections use TLS or credentials, which the server lacks.
	Secured bool
}

const (
	// LoadDuration is the time for which a load is applied to the mirror by default.
	LoadDuration = 3 * time.Second
	// usualDelay is the mirror delay: as long as a quick commit to a disk.
	usualDelay = 2 * time.Millisecond
	// mostClosed bounds the requests per second that a closed loop with many clients
	// sends to the mirror.
	mostClosed = 10_000
	// mostKeys bounds the keys written before the load, and keyBytes their total size.
	mostKeys, keyBytes = 1000, 64 << 20
	// dialers is the number of connections opened at once.
	dialers = 32
)

// CheckLoad applies the heaviest step of a load to a server on this machine, which speaks the
// database protocol and answers after a known delay, and measures the latency added by the client.
// It takes about four seconds. If the load cannot be checked or the check fails, the result has the
// reason. The error is why ctx ended.
func CheckLoad(ctx context.Context, o LoadOptions) (*results.LoadCheck, error) {
	check, err := o.check(ctx)
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return &results.LoadCheck{Unavailable: "the check failed: " + err.Error()}, nil
	}
	return check, nil
}

// check implements [CheckLoad], and returns an error if the check fails.
func (o LoadOptions) check(ctx context.Context) (*results.LoadCheck, error) {
	step := heaviest(o.Load.Stretches(), cmp.Or(o.Duration, LoadDuration))
	c := &results.LoadCheck{Clients: step.Clients, Connections: step.Connections, Rate: step.Rate, Duration: step.Duration, Delay: delayOf(step)}
	if c.Unavailable = unavailable(o); c.Unavailable != "" {
		return c, nil
	}
	dir, err := os.MkdirTemp("", "dbtester-selfcheck-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for the server: %w", err)
	}
	defer os.RemoveAll(dir)
	child, address, err := startServer(ctx, o.Server, dir, "--database", o.Database, "--delay", c.Delay.String())
	if err != nil {
		return nil, err
	}
	measured, err := o.apply(ctx, step, address, c)
	if exit := child.Stop(ctx, process.DefaultDeadlines()); err == nil && exit.Code != 0 {
		last, _ := process.Tail(filepath.Join(dir, outputFile), 3)
		err = fmt.Errorf("the server ended with %v: %s", exit, last)
	}
	if err != nil {
		return nil, err
	}
	entries, err := readLog(filepath.Join(dir, logFile))
	if err != nil {
		return nil, err
	}
	return c, compareLoad(c, measured, entries)
}

// unavailable returns why a load cannot be checked, "" if it can.
func unavailable(o LoadOptions) string {
	if _, ok := o.Driver.(database.Mirror); !ok {
		return "not available for " + o.Database
	}
	if o.Secured {
		return "not available for connections with TLS or credentials"
	}
	for _, op := range o.Load.Operations() {
		switch op {
		case workload.OpWrite, workload.OpUpdate, workload.OpRead, workload.OpReadOneshot:
		default:
			return fmt.Sprintf("not available for the operation %s", op)
		}
	}
	return ""
}

// heaviest returns the step with the highest rate or, if all are closed loops, with the most
// clients. The step is at its highest rate, for a duration.
func heaviest(steps []workload.Step, d time.Duration) workload.Step {
	for i := range steps {
		steps[i].Rate = max(steps[i].Rate, steps[i].RateEnd)
	}
	s := slices.MaxFunc(steps, func(a, b workload.Step) int {
		return cmp.Or(cmp.Compare(a.Rate, b.Rate), cmp.Compare(a.Clients, b.Clients))
	})
	s.RateEnd, s.Ramp, s.Requests, s.Duration = 0, 0, 0, d
	return s
}

// delayOf returns the delay of the mirror: short enough that a rate keeps no more than half the
// clients busy, long enough that a closed loop sends at most mostClosed requests per second.
func delayOf(s workload.Step) time.Duration {
	if s.Rate > 0 {
		return min(usualDelay, time.Duration(float64(s.Clients)/s.Rate/2*float64(time.Second)))
	}
	return max(usualDelay, time.Duration(s.Clients)*time.Second/mostClosed)
}

// spec returns the load without warm-up, for few keys.
func (o LoadOptions) spec() load.Spec {
	spec := load.Spec{Load: o.Load, Seed: o.Seed}
	spec.Steps, spec.WarmUp, spec.CoolDown = nil, 0, 0
	spec.Timeout = max(spec.Timeout, time.Second)
	size := max(spec.LargestValue(), 1)
	spec.Keys = min(spec.Keys, mostKeys, max(1, int64(keyBytes/size)))
	return spec
}

// apply runs the load on the mirror at an address. It sets rate and lateness in c.
func (o LoadOptions) apply(ctx context.Context, step workload.Step, address string, c *results.LoadCheck) (*recorded, error) {
	target := database.Target{Endpoints: []string{address}, MaxBytes: o.Load.KeySize + o.Load.LargestValue()}
	single := func(ctx context.Context) (database.Client, error) { return o.Driver.Dial(ctx, target) }
	conns := make([]database.Client, step.Connections)
	group, dialing := errgroup.WithContext(ctx)
	group.SetLimit(dialers)
	for i := range conns {
		group.Go(func() (err error) {
			conns[i], err = single(dialing)
			return err
		})
	}
	defer func() {
		for _, conn := range conns {
			if conn != nil {
				_ = conn.Close() // the load is over, or failed with another error
			}
		}
	}()
	if err := group.Wait(); err != nil {
		return nil, fmt.Errorf("open connections to the loopback server: %w", err)
	}
	spec := o.spec()
	if err := load.Preload(ctx, spec, step.Clients, conns, nil); err != nil {
		return nil, err
	}
	sink := newRecorded()
	rec := load.NewRecorder(sink, spec.Operations(), nil)
	res, err := load.NewEngine(spec, rec).Step(ctx, load.Step{Step: step, Dial: single}, conns)
	if err != nil {
		return nil, fmt.Errorf("apply the load: %w", err)
	}
	t := rec.Totals()
	if t.OK == 0 || t.Failed+t.Unknown > 0 {
		return nil, fmt.Errorf("every request to the loopback server must be ok, got %d ok, %d failed and %d unknown", t.OK, t.Failed, t.Unknown)
	}
	if late := rec.Lateness(); late.N > 0 {
		c.Lateness = &late
	}
	c.RequestsPerSecond = float64(t.OK) / res.End.Sub(res.Start).Seconds()
	return sink, nil
}

// compareLoad sets the percentiles in c. The requests of the load are the last ones in the log; the
// requests before them wrote its keys.
func compareLoad(c *results.LoadCheck, measured *recorded, entries []entry) error {
	n := measured.latency[results.TimingService].Count
	if int64(len(entries)) < n {
		return fmt.Errorf("the loopback server must have delayed every request, got %d of %d", len(entries), n)
	}
	truth := make([]int64, 0, n)
	for _, e := range entries[int64(len(entries))-n:] {
		truth = append(truth, e.delay())
	}
	slices.Sort(truth)
	at := func(q float64) results.Compared {
		return results.Compared{N: n, Measured: measured.quantile(results.TimingService, q), True: nearestRank(truth, q)}
	}
	c.P50, c.P99 = at(.5), at(.99)
	return nil
}
