package load

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"github.com/coreos/dbtester/pkg/database"
)

// TestAlarmRingsForTheNextWait steps an alarm's clock through random waits: it is
// always set for the first one that is not over, but never twice within its pause.
func TestAlarmRingsForTheNextWait(t *testing.T) {
	var now int64
	a, err := newAlarm(func() int64 { return now }, 3)
	if err != nil {
		t.Fatal(err)
	}
	defer a.close()
	rng := rand.New(rand.NewPCG(1, 2))
	var waits []int64
	for range 10_000 {
		if rng.IntN(2) == 0 {
			due := now + 1 + rng.Int64N(2_000_000)
			waits = append(waits, due)
			a.add(due)
		} else {
			now += rng.Int64N(400_000)
			waits = slices.DeleteFunc(waits, func(due int64) bool { return due <= now })
			a.next()
		}
		if len(waits) == 0 {
			continue
		}
		first := slices.Min(waits)
		if want := max(first+alarmAfter, a.rang+alarmPause); a.at != want || a.at <= now && first > now {
			t.Fatalf("at %d the alarm is set for %d, want %d for a wait until %d, having rung at %d", now, a.at, want, first, a.rang)
		}
	}
	if a.rang == 0 {
		t.Error("the alarm never rang")
	}
}

func TestNoAlarmOnAClockOfATest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		if a, err := newAlarm(func() int64 { return 0 }, 1); a != nil || err != nil {
			t.Errorf("alarm %v, error %v on a clock that the kernel does not know", a, err)
		}
	})
}

// pace sends a rate to a client that does nothing, and returns how late and for
// how much processor time a second.
func pace(t testing.TB, clients int, rate float64, d time.Duration) (p50, p99 time.Duration, processors float64) {
	t.Helper()
	spec := Spec{Operation: database.OpWrite, KeySize: 16, Timeout: time.Second, Drain: time.Second}
	rec := NewRecorder(discard{}, spec.Operations(), nil)
	busy, start := processorTime(t), time.Now()
	if _, err := NewEngine(spec, rec).Step(t.Context(), Step{Clients: clients, Rate: rate, Duration: d}, []database.Client{null{}}); err != nil {
		t.Fatal(err)
	}
	late := rec.Lateness()
	return time.Duration(late.P50), time.Duration(late.P99), float64(processorTime(t)-busy) / float64(time.Since(start))
}

func processorTime(t testing.TB) time.Duration {
	var use unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &use); err != nil {
		t.Fatal(err)
	}
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}

// TestWaitsEndOnTime needs one quiet moment of the machine: without the alarm the
// median is half a millisecond in all of them.
func TestWaitsEndOnTime(t *testing.T) {
	if testing.Short() {
		t.Skip("needs real time")
	}
	best := time.Hour
	for range 20 {
		p50, _, _ := pace(t, 10, 1000, 200*time.Millisecond)
		if best = min(best, p50); best < 300*time.Microsecond {
			return
		}
	}
	t.Errorf("the median wait was over %v late at best", best)
}

// BenchmarkPace is how exactly a rate is kept and what that costs: one second of
// a client that does nothing.
func BenchmarkPace(b *testing.B) {
	for _, rate := range []float64{100, 1000, 10_000, 50_000} {
		for _, clients := range []int{10, 1000} {
			b.Run(fmt.Sprintf("rate=%v/clients=%d", rate, clients), func(b *testing.B) {
				for b.Loop() {
					p50, p99, processors := pace(b, clients, rate, time.Second)
					b.ReportMetric(float64(p50.Nanoseconds())/1e3, "p50-us")
					b.ReportMetric(float64(p99.Nanoseconds())/1e3, "p99-us")
					b.ReportMetric(100*processors, "cpu-%")
				}
			})
		}
	}
}
