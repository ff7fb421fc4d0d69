package load

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/workload"
)

// A second in which a step begins or ends belongs to it in part: the parts of a step last as long
// as the step, and a steady rate is the same in each.
func TestProgressSpan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen []Progress
		client := script(func(context.Context, []byte, []byte) error { return nil })
		rec := NewRecorder(newMemory(), []workload.Op{workload.OpWrite}, func(p Progress) { seen = append(seen, p) })
		engine := NewEngine(writes(), rec)
		time.Sleep(300 * time.Millisecond)
		for i, requests := range []int64{250, 100} { // about 0.3 to 2.8 s, then to 3.8 s
			seen = nil
			res, err := engine.Step(t.Context(), Step{Index: i, Step: workload.Step{Clients: 2, Requests: requests, Rate: 100}}, []database.Client{client})
			if err != nil {
				t.Fatalf("run step %d: %v", i, err)
			}
			want := partsOf(res.Start, res.End)
			if len(want) < 2 || len(seen) != len(want) {
				t.Fatalf("step %d: progress of %d seconds, want %v", i, len(seen), want)
			}
			for n, p := range seen {
				if p.Span != want[n] {
					t.Errorf("step %d, second %d: the step has %v of it, want %v", i, n, p.Span, want[n])
				}
				if rate := p.PerSecond(p.Ended); rate < 95 || rate > 105 {
					t.Errorf("step %d, second %d: %d requests in %v are shown as %d/s, want about 100/s", i, n, p.Ended, p.Span, rate)
				}
			}
		}
	})
}

// partsOf cuts a time at full seconds.
func partsOf(start, end time.Time) (parts []time.Duration) {
	for at := start; at.Before(end); {
		next := at.Truncate(time.Second).Add(time.Second)
		if next.After(end) {
			next = end
		}
		parts = append(parts, next.Sub(at))
		at = next
	}
	return parts
}

// Too short a part of a second says nothing about a rate.
func TestPerSecondOfShortPart(t *testing.T) {
	for _, tt := range []struct {
		span time.Duration
		want int64
	}{{time.Second, 90}, {450 * time.Millisecond, 200}, {100 * time.Millisecond, 900}, {99 * time.Millisecond, 0}, {0, 0}} {
		if got := (Progress{Span: tt.span}).PerSecond(90); got != tt.want {
			t.Errorf("90 requests in %v are %d/s, want %d/s", tt.span, got, tt.want)
		}
	}
}
