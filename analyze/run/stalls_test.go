package run

import (
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coreos/dbtester/analyze/run/packed"
	"github.com/coreos/dbtester/pkg/metric"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/results/stalls"
	"github.com/coreos/dbtester/pkg/sleep/slowtest"
	"github.com/coreos/dbtester/pkg/stats/coincidence"
)

// stalledRun is a two-minute load at 1,000 requests per second. At random times a member is stopped
// for 300 ms, during which no request ends ok. A log line follows each stop after 10 ms, and other
// kinds of lines come at independent times.
type stalledRun struct {
	dir    string
	begin  time.Time
	random *rand.Rand
	stops  []time.Time
	run    *Run
}

func newStalledRun(t *testing.T, seed uint64, stops int) *stalledRun {
	t.Helper()
	s := &stalledRun{dir: t.TempDir(), begin: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), random: rand.New(rand.NewPCG(seed, 1))}
	const length = 2 * time.Minute
	for range stops {
		s.stops = append(s.stops, s.begin.Add(s.within(length-2*time.Second)))
	}
	record := &results.DatabaseRun{}
	record.Tag = "etcd"
	record.Steps = []results.Step{{Start: s.begin, End: s.begin.Add(length)}}
	record.Members = []results.Member{{}}
	record.Members[0].Clock = &results.Clock{Error: time.Millisecond}
	record.Load.Rate, record.Load.Duration = 1000, length
	s.run = &Run{Dir: s.dir, Info: Info{Tag: "etcd", Record: record, Manifest: &results.Manifest{RunID: "00112233"}}}
	s.run.Windows.Load = Span{s.begin.UnixNano(), s.begin.Add(length).UnixNano()}
	for _, at := range s.stops {
		s.run.Machines.Events = append(s.run.Machines.Events, results.Event{Time: at.Add(310 * time.Millisecond), Kind: "slow fdatasync", Took: 300 * time.Millisecond, Log: "logs/1.log"})
	}
	s.random = rand.New(rand.NewPCG(seed, 2))
	for _, other := range []struct {
		kind string
		n    int
	}{{"compaction", 8}, {"snapshot saved", 25}, {"took too long", 6}} {
		for range other.n {
			s.run.Machines.Events = append(s.run.Machines.Events, results.Event{Time: s.begin.Add(s.within(length)), Kind: other.kind, Took: s.within(400 * time.Millisecond), Log: "logs/1.log"})
		}
	}
	slices.SortStableFunc(s.run.Machines.Events, func(a, b results.Event) int { return a.Time.Compare(b.Time) })
	s.progress(t, length)
	return s
}

func (s *stalledRun) within(d time.Duration) time.Duration {
	return time.Duration(s.random.Int64N(int64(d)))
}

// progress writes the ticks: the part of each that lies in a stop has no answers.
func (s *stalledRun) progress(t *testing.T, length time.Duration) {
	t.Helper()
	w, err := results.NewProgressWriter(filepath.Join(s.dir, results.FileProgress))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	var rows []results.Progress
	for at := time.Duration(0); at < length; at += results.ProgressTick {
		runs := results.ProgressTick
		for _, stop := range s.stops {
			from, to := max(stop.Sub(s.begin), at), min(stop.Sub(s.begin)+300*time.Millisecond, at+results.ProgressTick)
			runs -= max(to-from, 0)
		}
		rows = append(rows, results.Progress{FromNS: int64(at), ToNS: int64(at + results.ProgressTick), Operation: "put", Due: 100, OK: int64(runs / time.Millisecond)})
	}
	if err := w.Write(rows); err != nil {
		t.Fatal(err)
	}
}

// kind returns an event kind.
func (s *Stalls) kind(name string) (k StallKind, ok bool) {
	at := slices.IndexFunc(s.Kinds, func(k StallKind) bool { return k.Kind == name })
	if at < 0 {
		return k, false
	}
	return s.Kinds[at], true
}

// Stalls planted at random times are found and named by their log line, and nothing else is named.
func TestPlantedStalls(t *testing.T) {
	runs := 5
	if slowtest.Long() {
		runs = 100
	}
	wrong := 0
	for seed := range runs {
		s := newStalledRun(t, uint64(seed), 12)
		got := stallsOf(s.run, nil)
		if got.Missing != "" || got.Medians != 0 || got.Slot != results.ProgressTick {
			t.Fatalf("seed %d: %+v", seed, got)
		}
		for i, at := range s.stops {
			if !slices.ContainsFunc(got.List, func(one Stall) bool {
				return one.From.Sub(at).Abs() <= results.ProgressTick || !one.From.After(at) && one.From.Add(one.Length).After(at)
			}) {
				t.Errorf("seed %d: stop %d at %v has no stall", seed, i, at)
			}
		}
		k, ok := got.kind("slow fdatasync")
		if !ok || !k.Excludes() || k.Stalls != len(got.List) || got.Kinds[0].Kind != k.Kind {
			t.Errorf("seed %d: the planted kind is %+v of %d stalls, want all of them and p < 0.01", seed, k, len(got.List))
		}
		for _, k := range got.Kinds[1:] {
			if k.Excludes() {
				wrong++
				t.Logf("seed %d: %+v is named", seed, k)
			}
		}
		if again := stallsOf(s.run, nil); !slices.Equal(got.Kinds, again.Kinds) {
			t.Errorf("seed %d: %+v and then %+v, want the same", seed, got.Kinds, again.Kinds)
		}
	}
	if wrong > runs/50 {
		t.Errorf("an unrelated kind was named in %d of %d runs", wrong, runs)
	}
}

// For few stalls, and for events with a fixed period, only the coincidence is reported.
func TestCoincidedOnly(t *testing.T) {
	s := newStalledRun(t, 3, 3)
	s.run.Machines.Events = nil
	add := func(e results.Event) { s.run.Machines.Events = append(s.run.Machines.Events, e) }
	slices.SortFunc(s.stops, time.Time.Compare)
	add(results.Event{Time: s.stops[0], Kind: "fault", Text: "pause for 300ms"})
	add(results.Event{Time: s.stops[0].Add(10 * time.Millisecond), Kind: "fault read back"})
	add(results.Event{Time: s.stops[0].Add(20 * time.Millisecond), Kind: results.EventConnectionLost, Member: -1})
	add(results.Event{Time: s.stops[0].Add(300 * time.Millisecond), Kind: "fault over"})
	add(results.Event{Time: s.stops[1].Add(150 * time.Millisecond), Kind: results.EventLeader, Member: 1})
	s.run.Info.Record.Stops = &results.Stops{Stretches: []results.Stretch{{From: s.stops[2].Add(100 * time.Millisecond), Length: 400 * time.Millisecond}}}
	got := stallsOf(s.run, nil)
	var kinds []string
	for _, k := range got.Kinds {
		kinds = append(kinds, k.Kind)
		if k.Excludes() || k.Why != "fewer than 5 stalls" {
			t.Errorf("%+v, want no p for the number of stalls", k)
		}
	}
	if got.Kinds[0].Kind != "fault: pause for 300ms" || !got.Kinds[0].Asked {
		t.Errorf("the first kind is %+v, want what the run did on purpose", got.Kinds[0])
	}
	slices.Sort(kinds)
	if want := []string{"another leader", KindClient, "fault: pause for 300ms"}; !slices.Equal(kinds, want) {
		t.Errorf("kinds %q, want %q", kinds, want)
	}
	if got.Stopped < 400*time.Millisecond || got.Stopped > 600*time.Millisecond {
		t.Errorf("%v were not judged for the client's stop of 400 ms", got.Stopped)
	}

	s = newStalledRun(t, 4, 8)
	s.run.Machines.Events = nil
	for i := range 24 {
		add(results.Event{Time: s.begin.Add(time.Duration(5*i) * time.Second), Kind: "compact", Took: 4 * time.Second, Member: -1})
	}
	got = stallsOf(s.run, nil)
	if k, ok := got.kind("compact"); !ok || k.Why != "events at one period" || k.Events != 24 {
		t.Errorf("compactions every 5 s are %+v, want no p", k)
	}
}

// The processor time of a member after its last sample does not count as other load.
func TestNoOtherLoadOfTheDead(t *testing.T) {
	s := newStalledRun(t, 5, 1)
	host := &results.Host{BootID: "boot", CPUs: 1, OnlineCPUs: 4}
	s.run.Info.Record.Members[0].Host, s.run.Info.Manifest.Client = host, *host
	var member, client []results.Sample
	begin := s.begin.Unix()
	for second := range int64(20) {
		sample := func(host, own, processes float64) results.Sample {
			return results.Sample{UnixNano: (begin + second) * 1e9, PeriodNS: 1e9, Values: metric.SystemValues(map[metric.Name]float64{
				metric.HostCPUSeconds: host, metric.CPUSeconds: own, metric.Processes: processes})}
		}
		ran := float64(min(second, 10)) // it ends right after its tenth second, in which it used all
		all, processes := 3.5*ran, 1.0
		if second > 10 {
			all, processes = all+3.4, 0
		}
		if second > 15 {
			all += 3
		}
		member, client = append(member, sample(all, 3.5*ran, processes)), append(client, sample(all, 0, 1))
	}
	s.run.Machines.Client = Machine{Name: "client", Samples: packed.Of(client...)}
	s.run.Machines.Servers = []Machine{{Name: "member 1", Samples: packed.Of(member...)}}
	var got []int64
	for h := range s.run.OtherLoad([]Span{{begin * 1e9, (begin + 20) * 1e9}}) {
		got = append(got, h.From/1e9-begin)
	}
	if !slices.Equal(got, []int64{15}) {
		t.Errorf("other load in seconds %v, want that of second 15 alone", got)
	}
}

// Pauses in member runtimes and other load on a machine are compared too.
func TestSampledOccurrences(t *testing.T) {
	s := newStalledRun(t, 5, 1)
	s.run.Machines.Events = nil
	at := s.stops[0].Unix()
	host := &results.Host{BootID: "boot", CPUs: 4}
	s.run.Info.Record.Members[0].Host, s.run.Info.Manifest.Client = host, *host
	var member, client []results.Sample
	var answers []results.DatabaseSample
	used, paused := 0.0, 0.0
	for second := s.begin.Unix() - 1; second <= s.begin.Unix()+121; second++ {
		if used += 1; second-1 == at {
			used, paused = used+3, paused+.2
		}
		sample := func(own float64) results.Sample {
			return results.Sample{UnixNano: second * 1e9, PeriodNS: 1e9, Values: metric.SystemValues(map[metric.Name]float64{metric.HostCPUSeconds: used, metric.CPUSeconds: own})}
		}
		member, client = append(member, sample(float64(second-s.begin.Unix()+1)*.5)), append(client, sample(float64(second-s.begin.Unix()+1)*.4))
		answer := results.NewDatabaseSample()
		answer.UnixNano = second * 1e9
		answer.Values.Set(metric.PauseSeconds, paused)
		answers = append(answers, answer)
	}
	s.run.Machines.Client = Machine{Name: "client", Samples: packed.Of(client...)}
	s.run.Machines.Servers = []Machine{{Name: "member 1", Samples: packed.Of(member...), Own: Own{Answers: packed.AnswersOf(answers...)}}}
	got := stallsOf(s.run, nil)
	for _, name := range []string{KindOther, KindCollector} {
		if k, ok := got.kind(name); !ok || k.Events != 1 || k.Stalls != 1 {
			t.Errorf("%s: %+v of %+v, want one event", name, k, got.Kinds)
		}
	}
	// If answers are seconds apart, each second has as long a pause.
	gap := results.NewDatabaseSample()
	gap.UnixNano = answers[len(answers)-1].UnixNano + 7e9
	gap.Values.Set(metric.PauseSeconds, paused+7*.04)
	late := Own{Answers: packed.AnswersOf(append(answers, gap)...)}
	if list := late.pauses(); len(list) != 1 {
		t.Errorf("pauses of 40 ms in each of 7 seconds without an answer are %v, want those of one second before", list)
	}
	// Seconds count from where a span begins, and those without samples are passed over.
	for _, c := range []struct {
		span Span
		want []int64
	}{
		{Span{-9e18, math.MaxInt64}, []int64{at * 1e9}},
		{Span{0, math.MaxInt64}, []int64{at * 1e9}},
		{Span{-7e8, math.MaxInt64}, []int64{at*1e9 - 7e8, at*1e9 + 3e8}},
		{Span{at * 1e9, at*1e9 + 1e9}, []int64{at * 1e9}},
		{Span{at * 1e9, at*1e9 + 1e9 - 1}, nil},
		{Span{math.MaxInt64 - 5, math.MaxInt64}, nil},
		{Span{0, 1e18}, nil},
	} {
		var got []int64
		for h := range s.run.OtherLoad([]Span{c.span}) {
			got = append(got, h.From)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("other load in %v begins at %v, want %v", c.span, got, c.want)
		}
	}
}

func TestUnknownStalls(t *testing.T) {
	s := newStalledRun(t, 6, 1)
	s.run.Info.Record.Steps[0].End = time.Time{}
	if got := stallsOf(s.run, nil); !strings.Contains(got.Missing, "its end was not recorded") {
		t.Errorf("a step without an end: %+v", got)
	}
	s.run.Dir = t.TempDir()
	if got := stallsOf(s.run, nil); got.Missing != "the records have no ticks of 100 ms" {
		t.Errorf("records without ticks: %+v", got)
	}
}

// Events whose end was recorded before their beginning cover no negative time.
func TestSlotsOfReversedEvents(t *testing.T) {
	step := stalls.Step{From: time.Unix(1000, 0), Slot: results.ProgressTick, Slots: 100}
	at := func(seconds int64) int64 { return (1000 + seconds) * 1e9 }
	list, events := slotsOf(&step, []occurrence{{from: at(5), to: at(2)}, {from: at(20), to: at(4)}, {from: at(7), to: at(8)}})
	if want := []coincidence.Stretch{{From: 69, To: 81}}; events != 1 || !slices.Equal(list, want) {
		t.Errorf("%d events in the slots %v, want one in %v", events, list, want)
	}
}
