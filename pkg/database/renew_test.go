package database

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// A session is renewed at the interval. It is lost when a renewal says that it has ended, or a TTL
// after sending the last renewal answered.
func TestRenewer(t *testing.T) {
	const every, ttl = time.Second, 3 * time.Second
	for _, tt := range []struct {
		name string
		keep func(ctx context.Context, n int) error // the n-th renewal, from 1
		lost time.Duration                          // 0: not within a minute
	}{
		{"answered", func(context.Context, int) error { return nil }, 0},
		{"ended", func(_ context.Context, n int) error {
			if n < 3 {
				return nil
			}
			return NotApplied(ClassNotFound, ErrNoSession)
		}, 3 * time.Second},
		{"a failure between", func(_ context.Context, n int) error {
			if n%2 == 0 {
				return errors.New("lost")
			}
			return nil
		}, 0},
		{"failures from the third on", func(_ context.Context, n int) error {
			if n < 3 {
				return nil
			}
			return errors.New("lost")
		}, 2*time.Second + ttl},
		{"no answer from the third on", func(ctx context.Context, n int) error {
			if n < 3 {
				return nil
			}
			<-ctx.Done()
			return ctx.Err()
		}, 2*time.Second + ttl},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start, n := time.Now(), 0
				r := Renew(every, ttl, func(ctx context.Context) error {
					n++
					return tt.keep(ctx, n)
				})
				defer r.Stop()
				select {
				case <-r.Lost():
					if after := time.Since(start); after != tt.lost {
						t.Errorf("lost after %v, want %v", after, tt.lost)
					}
				case <-time.After(time.Minute):
					if tt.lost != 0 {
						t.Errorf("not lost within a minute, want after %v", tt.lost)
					}
				}
			})
		})
	}
}

// A stopped renewer renews nothing, and its session is not lost.
func TestRenewerStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		r := Renew(time.Second, 3*time.Second, func(context.Context) error { n++; return nil })
		time.Sleep(2500 * time.Millisecond)
		r.Stop()
		time.Sleep(time.Minute)
		select {
		case <-r.Lost():
			t.Error("the session of a stopped renewer is lost")
		default:
		}
		if n != 2 {
			t.Errorf("the session was renewed %d times, want 2", n)
		}
	})
}
