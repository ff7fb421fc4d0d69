package schedule

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// drawOptions draws any kind of rated schedule, with an end.
func drawOptions(t *rapid.T) Options {
	o := Options{Rate: rapid.Float64Range(0.5, 20_000).Draw(t, "rate"), Seed: rapid.Uint64().Draw(t, "seed")}
	kind := rapid.SampledFrom([]string{"constant", "poisson", "ramp", "sine", "bursts"}).Draw(t, "kind")
	o.Poisson = kind == "poisson"
	if kind == "ramp" {
		o.RateEnd = rapid.Float64Range(0.5, 20_000).Draw(t, "rate at the end")
	}
	if kind == "sine" || kind == "bursts" {
		o.Wave.Period = time.Duration(rapid.Int64Range(int64(time.Millisecond), int64(3*time.Second)).Draw(t, "period"))
		o.Wave.Peak = rapid.Float64Range(1, 2).Draw(t, "peak")
		if kind == "bursts" {
			o.Wave.Burst = o.Wave.Period / time.Duration(rapid.Int64Range(2, 10).Draw(t, "part"))
		}
	}
	if kind == "ramp" || rapid.Bool().Draw(t, "with a duration") {
		o.Duration = time.Duration(rapid.Int64Range(1, int64(5*time.Second)).Draw(t, "duration"))
	}
	if o.Duration == 0 || rapid.Bool().Draw(t, "with a number of requests") {
		o.Requests = rapid.Int64Range(1, 20_000).Draw(t, "requests")
	}
	return o
}

// allDue returns every due time of a schedule.
func allDue(t interface{ Fatalf(string, ...any) }, s Schedule) []int64 {
	var due []int64
	for {
		number, at, ok := s.Next()
		if !ok {
			return due
		}
		if number != int64(len(due)) {
			t.Fatalf("request %d follows request %d: numbers must have no gaps", number, len(due)-1)
		}
		due = append(due, at)
	}
}

// TestContract holds every kind of schedule to [Schedule]'s contract.
func TestContract(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := drawOptions(t)
		s := New(o)
		due := allDue(t, s)
		if !slices.IsSorted(due) {
			t.Fatalf("%+v: due times fall", o)
		}
		if n := int64(len(due)); o.Requests > 0 && n > o.Requests || s.Used() != n {
			t.Fatalf("%+v: %d requests are due, %d numbers are used", o, n, s.Used())
		}
		if o.Duration > 0 && len(due) > 0 && due[len(due)-1] >= int64(o.Duration) {
			t.Fatalf("%+v: the last request is due at %d, at or after the end", o, due[len(due)-1])
		}
		if _, _, ok := s.Next(); ok || s.Used() != int64(len(due)) {
			t.Fatalf("%+v: a request follows the last one, or %d numbers are used, want %d", o, s.Used(), len(due))
		}
		checkDue(t, o, due)
	})
}

// checkDue compares what Due returns with all due times.
func checkDue(t *rapid.T, o Options, due []int64) {
	s := New(o)
	end := int64(0)
	if len(due) > 0 {
		end = due[len(due)-1]
	}
	times := rapid.SliceOfN(rapid.Int64Range(0, end+int64(time.Second)), 1, 50).Draw(t, "times")
	for _, i := range rapid.SliceOfN(rapid.IntRange(0, max(len(due)-1, 0)), 0, 20).Draw(t, "requests") {
		if i < len(due) {
			times = append(times, due[i], due[i]+1)
		}
	}
	slices.Sort(times)
	for _, at := range times {
		want, _ := slices.BinarySearch(due, at)
		before, last := s.Due(at)
		if before != int64(want) {
			t.Fatalf("%+v: %d requests are due before %d, want %d", o, before, at, want)
		}
		if last < end {
			t.Fatalf("%+v: at %d the last request was expected at %d, before it is due at %d", o, at, last, end)
		}
		if o.Duration > 0 && last > int64(o.Duration) {
			t.Fatalf("%+v: at %d the last request was expected at %d, after the end", o, at, last)
		}
		if o.Duration == 0 && at > end-int64(Foresight) && last != end {
			t.Fatalf("%+v: at %d the last request was expected at %d, want exactly %d", o, at, last, end)
		}
	}
}

func TestClosedLoop(t *testing.T) {
	s := New(Options{Requests: 3})
	if diff := cmp.Diff([]int64{0, 0, 0}, allDue(t, s)); diff != "" {
		t.Errorf("requests of a closed loop are due at once: %s", diff)
	}
	if before, last := s.Due(1e9); before != 0 || last != Never || s.Used() != 3 {
		t.Errorf("%d requests due ahead until %d and %d numbers used, want 0 until never and 3", before, last, s.Used())
	}
}

// TestWholeSecondsAreExact: a second has exactly the rate, whenever it begins.
func TestWholeSecondsAreExact(t *testing.T) {
	const rate = 50_000
	for _, offset := range []int64{0, 1, 9_999, 10_000, 333_333_333, 999_999_999} {
		s := New(Options{Rate: rate, Duration: 5 * time.Second})
		before, _ := s.Due(offset)
		for sec := range int64(4) {
			now, _ := s.Due(offset + (sec+1)*1e9)
			if n := now - before; n != rate {
				t.Errorf("%d requests are due in the second from %d ns + %d s, want %d", n, offset, sec, rate)
			}
			before = now
		}
		if all, _ := s.Due(1 << 60); all != 5*rate {
			t.Errorf("%d requests are due in all, want %d", all, 5*rate)
		}
	}
}

func TestPoissonMeanAndSeed(t *testing.T) {
	o := Options{Requests: 100_000, Rate: 1000, Poisson: true, Seed: 1}
	first, second := allDue(t, New(o)), allDue(t, New(o))
	if !slices.Equal(first, second) {
		t.Error("the same seed gave different arrivals")
	}
	mean := float64(first[len(first)-1]) / float64(len(first))
	if mean < 0.98e6 || mean > 1.02e6 {
		t.Errorf("the mean gap is %v ns, want a millisecond within 2 %%", mean)
	}
}

// TestPoissonLooksAheadOnlyAsFarAsItMust: a schedule with many requests begins at once, and knows
// its end Foresight before it comes.
func TestPoissonLooksAheadOnlyAsFarAsItMust(t *testing.T) {
	const rate, seconds = 1000, 20
	o := Options{Requests: rate * seconds, Rate: rate, Poisson: true, Seed: 4}
	due := allDue(t, New(o))
	s, end, known := New(o), due[len(due)-1], int64(math.MaxInt64)
	for sec := range int64(seconds + 3) {
		if _, last := s.Due(sec * 1e9); last < Never {
			known = min(known, sec*1e9)
		}
	}
	if late := known - (end - int64(Foresight)); late < 0 || late > 1e9 {
		t.Errorf("the end at %v was known at %v, want %v earlier, within a second", time.Duration(end), time.Duration(known), Foresight)
	}
	begun := New(Options{Requests: 1 << 60, Rate: 100, Poisson: true}).(*poisson)
	if _, last := begun.Due(0); last != Never || begun.ahead.i > 2*100*int64(Foresight/time.Second) {
		t.Errorf("a schedule of 2^60 requests began by generating %d of them", begun.ahead.i)
	}
}

// TestWave compares due times with those from the integral of the rate, and the requests in each
// period with the mean rate.
func TestWave(t *testing.T) {
	const rate, periods = 1000.0, 7
	for name, w := range map[string]Wave{
		"sine":                 {Period: 2 * time.Second, Peak: 1.8},
		"sine down to nothing": {Period: time.Second, Peak: 2},
		"bursts":               {Period: 2 * time.Second, Peak: 5, Burst: 300 * time.Millisecond},
		"bursts and silence":   {Period: time.Second, Peak: 10, Burst: 100 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			at := func(sec float64) float64 { // the rate
				part := math.Mod(sec, w.Period.Seconds()) / w.Period.Seconds()
				share := w.Burst.Seconds() / w.Period.Seconds()
				switch {
				case w.Burst == 0:
					return rate * (1 + (w.Peak-1)*math.Sin(2*math.Pi*part))
				case part < share:
					return rate * w.Peak
				}
				return rate * (1 - w.Peak*share) / (1 - share)
			}
			s := New(Options{Rate: rate, Wave: w, Duration: periods * w.Period})
			due := allDue(t, s)
			each := int(rate * w.Period.Seconds())
			if len(due) != periods*each {
				t.Fatalf("%d requests are due in %d periods, want %d in each", len(due), periods, each)
			}
			for p := range periods {
				from := int64(p) * int64(w.Period)
				if first, last := due[p*each], due[(p+1)*each-1]; first != from || last >= from+int64(w.Period) {
					t.Errorf("period %d has requests from %d to %d, want them within it, from its beginning on", p, first, last)
				}
			}
			const step = 1e-5
			next, sum := 0, 0.0
			for sec := 0.0; next < len(due) && sec < 2*w.Period.Seconds(); sec += step {
				sum += at(sec+step/2) * step
				for ; next < len(due) && float64(next) <= sum-0.02; next++ {
					if got := float64(due[next]) / 1e9; math.Abs(got-sec-step) > 2e-3 && at(got) > rate/20 {
						t.Fatalf("request %d is due at %.6f s, want about %.6f s", next, got, sec)
					}
				}
			}
			if next < each {
				t.Errorf("only %d requests were compared", next)
			}
		})
	}
}
