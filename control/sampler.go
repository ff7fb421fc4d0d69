package control

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/coreos/dbtester/pkg/machine/sysmetrics"
	"github.com/coreos/dbtester/pkg/results"
)

// clientSampler is the activity that samples this process, where the system has /proc.
type clientSampler struct {
	run *run
	// device and network are sampled; "" finds them.
	device, network string
	clients         func() int64
	period          time.Duration
	sampler         *sysmetrics.Sampler
	out             *results.SampleWriter
	seen            func(machine string, s results.Sample) // nil discards samples
}

// sampled returns a function that shows machine samples to the caller of [Run], or nil if the
// caller wants no samples.
func (r *run) sampled(o Options) func(machine string, s results.Sample) {
	if o.Audience.Sampled == nil {
		return nil
	}
	return func(machine string, s results.Sample) {
		o.Audience.Sampled(Sampled{Trial: r.journal.about.Trial, Tag: r.journal.about.Tag, Machine: machine, Sample: s})
	}
}

// reported returns a function that passes metrics from the members themselves to the caller of
// [Run], or nil if the caller wants no metrics.
func (r *run) reported(o Options) func(member int, s results.DatabaseSample) {
	if o.Audience.Reported == nil {
		return nil
	}
	return func(member int, s results.DatabaseSample) {
		o.Audience.Reported(Reported{Trial: r.journal.about.Trial, Tag: r.journal.about.Tag, Machine: fmt.Sprintf("member %d", member+1), Sample: s})
	}
}

// numbered returns a function that shows samples from machines of one kind, counted from 0; nil for
// nil.
func numbered(kind string, show func(machine string, s results.Sample)) func(int, results.Sample) {
	if show == nil {
		return nil
	}
	return func(n int, s results.Sample) { show(fmt.Sprintf("%s %d", kind, n+1), s) }
}

// Write records a client sample.
func (s *clientSampler) Write(sample results.Sample) error {
	if s.seen != nil {
		s.seen("client", sample)
	}
	return s.out.Write(sample)
}

func (s *clientSampler) Name() string { return "sample the client" }

func (s *clientSampler) Prepare(context.Context) (err error) {
	s.sampler, err = sysmetrics.NewSampler(sysmetrics.Options{
		PIDs: sysmetrics.ThisProcess, Dir: s.run.dir, Device: s.device, Interface: s.network,
		Addr: s.run.record.Members[0].Addr, Clients: s.clients, // the interface that leads there
		Period: s.period,
	})
	if errors.Is(err, errors.ErrUnsupported) {
		return nil // the run is marked
	}
	if err != nil {
		return err
	}
	s.out, err = results.NewSampleWriter(filepath.Join(s.run.dir, results.FileClient))
	return err
}

func (s *clientSampler) Run(ctx context.Context) error {
	if s.sampler == nil {
		return nil
	}
	return errors.Join(s.sampler.Run(ctx, s), s.out.Close())
}
