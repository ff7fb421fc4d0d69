package generator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"

	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/machine/sysmetrics"
	"github.com/coreos/dbtester/pkg/results"
)

// samples samples this process and its machine while steps run, and sends the lines of the
// file that control has of its own machine.
type samples struct {
	sampler *sysmetrics.Sampler
	writer  *results.SampleWriter
	file    *os.File // read behind the writer; has no name, so nothing is left of it
	out     *outbox[pb.RunResponse]
}

// newSamples finds what to sample for a part. Clients returns how many clients it has.
func newSamples(o Options, p *part, clients func() int64) (made *samples, err error) {
	s := &samples{}
	defer func() {
		if err != nil {
			made, err = nil, errors.Join(err, s.close())
		}
	}()
	if err := s.open(); err != nil {
		return nil, err
	}
	first, _, _ := net.SplitHostPort(p.target.Endpoints[0]) // was checked
	s.sampler, err = sysmetrics.NewSampler(sysmetrics.Options{
		PIDs: func() []int { return []int{os.Getpid()} }, Dir: os.TempDir(), Device: o.Device, Interface: o.Interface,
		Addr: first, Clients: clients, // the interface that leads there
		Period: p.period,
	})
	return s, err
}

// open opens the file and takes its name away.
func (s *samples) open() (err error) {
	dir, err := os.MkdirTemp("", "dbtester-generator-")
	if err != nil {
		return fmt.Errorf("make a folder: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, results.FileClient)
	if s.writer, err = results.NewSampleWriter(path); err != nil {
		return err
	}
	s.file, err = os.Open(path)
	return err
}

// run samples until ctx ends.
func (s *samples) run(ctx context.Context, out *outbox[pb.RunResponse]) error {
	s.out = out
	return s.sampler.Run(ctx, s)
}

// Write sends the lines of one sample.
func (s *samples) Write(r results.Sample) error {
	if err := s.writer.Write(r); err != nil {
		return err
	}
	lines, err := io.ReadAll(s.file)
	if err != nil {
		return fmt.Errorf("read samples: %w", err)
	}
	return s.out.put(&pb.RunResponse{Record: &pb.RunResponse_Samples{Samples: lines}})
}

// close closes the file.
func (s *samples) close() error {
	var errs []error
	if s.writer != nil {
		errs = append(errs, s.writer.Close())
	}
	if s.file != nil {
		errs = append(errs, s.file.Close())
	}
	return errors.Join(errs...)
}
