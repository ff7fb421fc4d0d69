package control

import (
	"context"
	"errors"
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
	return errors.Join(s.sampler.Run(ctx, s.out), s.out.Close())
}
