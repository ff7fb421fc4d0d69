package remote

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// Three failed heartbeats in a row are a loss. An answered one resets the count.
func TestMisses(t *testing.T) {
	silent := errors.New("no answer")
	var m Misses
	for i, step := range []struct {
		err  error
		lost bool
	}{{silent, false}, {silent, false}, {nil, false}, {silent, false}, {silent, false}, {silent, true}, {silent, true}, {nil, false}, {silent, false}} {
		if lost := m.Count(step.err); (lost != nil) != step.lost || lost != nil && !errors.Is(lost, silent) {
			t.Errorf("heartbeat %d with error %v: got %v, want a loss: %v", i+1, step.err, lost, step.lost)
		}
	}
}

// A nudge sends a heartbeat at once, the other side is lost when three in a row failed, and
// heartbeats interrupted by the end do not count as failed.
func TestKeep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, end := context.WithCancel(t.Context())
		defer end()
		nudge := make(chan struct{}, 1)
		nudge <- struct{}{}
		refused := errors.New("refused")
		began := time.Now()
		var sent, lost []time.Duration
		Keep(ctx, nudge, func(ctx context.Context) error {
			sent = append(sent, time.Since(began))
			switch len(sent) {
			case 1:
				return nil
			case 5:
				end()
			}
			return refused
		}, func(why error) {
			lost = append(lost, time.Since(began))
			if !errors.Is(why, refused) {
				t.Errorf("lost because of %v, want that of the heartbeats", why)
			}
		})
		if want := []time.Duration{0, time.Second, 2 * time.Second, 3 * time.Second, 4 * time.Second}; !slices.Equal(sent, want) || !slices.Equal(lost, want[3:4]) {
			t.Errorf("heartbeats after %v, lost after %v; want %v and 3s", sent, lost, want)
		}
	})
}
