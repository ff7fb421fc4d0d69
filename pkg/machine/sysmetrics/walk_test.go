package sysmetrics

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coreos/dbtester/pkg/metric"
)

// Samplers that read at about the same time share one reading. An error is not shared.
func TestWalkIsShared(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, reads, broken := &walk{}, 0, errors.New("broken")
		take := func(fails error) (float64, error) {
			readings := make([]metric.Reading, 1)
			err := w.take(readings, func(into []metric.Reading) error {
				reads++
				into[0].Value = float64(reads)
				return fails
			})
			return readings[0].Value, err
		}
		for _, tt := range []struct {
			after time.Duration
			fails error
			want  float64
		}{
			{0, nil, 1},
			{sharedFor - 1, nil, 1}, // as read before
			{1, nil, 2},
			{sharedFor, broken, 3},
			{0, nil, 4}, // nothing was kept from the error
			{0, nil, 4},
		} {
			time.Sleep(tt.after)
			got, err := take(tt.fails)
			if got != tt.want || !errors.Is(err, tt.fails) {
				t.Errorf("after %v: %v, %v; want %v, %v", tt.after, got, err, tt.want, tt.fails)
			}
		}
	})
}
