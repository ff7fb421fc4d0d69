package watchers

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coreos/dbtester/analyze/abilities"
	"github.com/coreos/dbtester/analyze/figure"
	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/analyze/run/packed"
	"github.com/coreos/dbtester/analyze/runtest"
	"github.com/coreos/dbtester/pkg/ability/watchers"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/results"
)

// of is a run with an outcome.
func of(t *testing.T, o *watchers.Outcome) *run.Run {
	t.Helper()
	record := &results.DatabaseRun{}
	if o != nil {
		if err := watchers.Record().Set(&record.Records, *o); err != nil {
			t.Fatal(err)
		}
	}
	r := &run.Run{}
	r.Info.Record = record
	return r
}

// watched is the outcome of a load without watchers, with one, and with a hundred.
func watched() *watchers.Outcome {
	ms := int64(time.Millisecond)
	spread := func(n, times int64) *results.Spread {
		return &results.Spread{N: n, P50: times * ms, P99: 2 * times * ms, P999: 3 * times * ms, Max: 4 * times * ms}
	}
	return &watchers.Outcome{
		Plan: watchers.Plan{Watchers: []int{0, 1, 100}, Of: watchers.All}, Kind: database.WatchStream, How: "one stream", Ordered: true, Values: true,
		Counts: watchers.Counts{Writes: 4000, Delivered: 202_000},
		Stages: []watchers.Stage{
			{Length: 10 * time.Second, Seconds: 9, Requests: 1800, P99: 2 * time.Millisecond},
			{Watchers: 1, Connections: 1, Added: 1, Establish: 10 * time.Millisecond, Length: 10 * time.Second, Writes: 2000, Deliveries: 2000, BeforeAck: 1500, Sent: spread(2000, 1), Due: spread(2000, 2), All: spread(2000, 1), Old: spread(2000, 2), Seconds: 9, Requests: 1800, P99: 3 * time.Millisecond},
			{Watchers: 100, Connections: 50, Added: 99, Establish: 99 * time.Millisecond, Length: 10 * time.Second, Writes: 2000, Deliveries: 200_000, BeforeAck: 50_000, Sent: spread(200_000, 3), Due: spread(200_000, 4), All: spread(2000, 5), Old: spread(2000, 6), Seconds: 9, Requests: 1800, P99: 4 * time.Millisecond},
		},
	}
}

// generated is watched, with writes by generators whose clocks are known to within 4 ms, and
// without a stage with one watcher.
func generated() *watchers.Outcome {
	o := watched()
	o.ClockError = 4 * time.Millisecond
	o.Stages = slices.Delete(o.Stages, 1, 2)
	return o
}

func TestRows(t *testing.T) {
	few := watched()
	few.Plan.Watchers, few.Plan.Of, few.Stages = []int{1}, watchers.Key, few.Stages[1:2]
	few.Stages[0].Sent = &results.Spread{N: 20, P50: 1_500_000, Max: 9_000_000}
	few.Stages[0].Due, few.Stages[0].All, few.Stages[0].Old, few.Stages[0].Deliveries, few.Stages[0].BeforeAck, few.Stages[0].Requests = nil, nil, nil, 0, 0, 0
	few.Values = false
	few.Coalesces = true
	few.Counts = watchers.Counts{Writes: 40, Unknown: 1, Delivered: 20, Coalesced: 19, Woken: 2, Lost: 1, Foreign: 3, Behind: 4}
	few.Witnesses = []watchers.Witness{{Fault: watchers.Lost, Watcher: 0, Version: 17, Request: 12, Key: 3}}
	few.Plan.Slow = watchers.Slow{Share: 1, Pause: 6 * time.Second}
	few.SlowEnded, few.SlowWhy = 1, "it was cut"
	few.Stages[0].Slow = &watchers.SlowStage{
		Watchers: 2, Connections: 1, Length: 6 * time.Second, Sent: &results.Spread{N: 20, P50: 5e6, Max: 6e9},
		CaughtUp: 1, CatchUp: 2 * time.Second, Longest: 2 * time.Second, Changes: 1000,
		Each: []watchers.CatchUp{
			{Watchers: 1, Took: 2 * time.Second, Changes: 1000, CaughtUp: true}, {Watchers: 1, Took: 4 * time.Second, Changes: 1600}, {Watchers: 1, Took: time.Second, Ended: true},
		},
		Waited: 4 * time.Second, Written: 1800,
		Before: watchers.Latency{Seconds: 3, Requests: 300, P99: 7e6}, During: watchers.Latency{Seconds: 5, Requests: 500, P99: 9e6}, After: watchers.Latency{Seconds: 2, Requests: 200, P99: 8e6},
	}
	few.Plan.Reconnect, few.Counts.Gaps, few.GapWhy = 20*time.Second, 2, "versions up to 4"
	few.Stages[0].Reconnects = &watchers.Reconnects{Connections: 3, Watchers: 6, Failed: 1, First: &results.Spread{N: 20, P50: 2e6, Max: 4e6}}
	for _, c := range []struct {
		name string
		of   *watchers.Outcome
		want []string // "" for a cell that says why there is nothing
	}{
		{"stages", watched(), []string{
			"100 of all keys over 50 connections, by stream watches: one stream; 1: 100 added/s; 100: 1000 added/s",
			"1: p50 1.000, p99 2.000, longest 4.000 ms of 2,000; 100: p50 3.000, p99 6.000, p99.9 9.000, longest 12.000 ms of 200,000",
			"1: p50 2.000, p99 4.000, longest 8.000 ms of 2,000; 100: p50 4.000, p99 8.000, p99.9 12.000, longest 16.000 ms of 200,000",
			"1: p50 1.000, p99 2.000, longest 4.000 ms of 2,000; 100: p50 5.000, p99 10.000, longest 20.000 ms of 2,000",
			"1: p50 2.000, p99 4.000, longest 8.000 ms of 2,000; 100: p50 6.000, p99 12.000, longest 24.000 ms of 2,000",
			"1: 75.0 % of 2,000; 100: 25.0 % of 200,000",
			"1: 200/s in 10.0 s; 100: 20,000/s in 10.0 s",
			"", "",
			"202,000 of 4,000 writes: 0 lost, 0 again, 0 after newer ones",
			"0: p99 2.000 ms of 1,800 in 9 s; 1: p99 3.000 ms of 1,800 in 9 s; 100: p99 4.000 ms of 1,800 in 9 s",
			"", "", "", "", "", "", "",
		}},
		{"few, and not all right", few, []string{
			"1 of one key each over 1 connection, by stream watches: one stream; 100 added/s",
			"p50 1.500, longest 9.000 ms of 20",
			"", "", "", "", "", "", "",
			"20 of 40 writes: 1 lost, 0 again, 0 after newer ones, 19 replaced by newer ones and 2 events without news by design; 4 had not come by the end; 3 were of writes of others, or of unknown ones; 1 more writes may have been made: their outcome is unknown; first: lost, watcher 0, version 17 of key 3",
			"",
			"p50 5.000, longest 6000.000 ms of 20 to 2 watchers over 1 connection that read nothing for 6.0 s; 1 slow connection ended: it was cut",
			"p50 450/s, least 400/s of 2 connections; 450/s were written meanwhile; the newest value of each key alone: what a watcher misses is not kept for it",
			"p50 2000.000, longest 2000.000 ms; 1 of 3 connections caught up; 1 had not after 4000.000 ms",
			"p99 9.000 ms of 500 in 5 s, before 7.000 ms of 300 in 3 s, while they caught up 8.000 ms of 200 in 2 s",
			"3 connections with 6 watchers, 1 could not be opened again; each once in 20s; 2 gaps, as the database had discarded changes: first versions up to 4",
			"p50 2.000, longest 4.000 ms of 20",
			"",
		}},
		{"by generators", generated(), []string{
			"100 of all keys over 50 connections, by stream watches: one stream; 100: 1000 added/s",
			"100: p50 <= 4.000, p99 6.000, p99.9 9.000, longest 12.000 ms of 200,000; clocks to within 4.000 ms",
			"100: p50 4.000, p99 8.000, p99.9 12.000, longest 16.000 ms of 200,000; clocks to within 4.000 ms",
			"100: p50 5.000, p99 10.000, longest 20.000 ms of 2,000; clocks to within 4.000 ms",
			"100: p50 6.000, p99 12.000, longest 24.000 ms of 2,000; clocks to within 4.000 ms",
			"100: 25.0 % of 200,000; clocks to within 4.000 ms",
			"100: 20,000/s in 10.0 s",
			"", "",
			"202,000 of 4,000 writes: 0 lost, 0 again, 0 after newer ones",
			"0: p99 2.000 ms of 1,800 in 9 s; 100: p99 4.000 ms of 1,800 in 9 s",
			"", "", "", "", "", "", "",
		}},
		{"none", nil, make([]string, len(Half{}.Rows()))},
	} {
		t.Run(c.name, func(t *testing.T) {
			for i, row := range (Half{}).Rows() {
				m, text := row.Cell(of(t, c.of))
				if text != c.want[i] || (text == "") != (m.Missing != "") {
					t.Errorf("%s is %q (%+v), want %q", row.Name, text, m, c.want[i])
				}
			}
		})
	}
}

// Processor time is divided by the deliveries in the same time, by watcher count. With slow
// watchers nothing is divided.
func TestPerEvent(t *testing.T) {
	o := watched()
	var samples []results.Sample
	for i := range 31 { // 0.5 s processor time each second, and 2.5 s with a hundred watchers
		samples = append(samples, runtest.Sampled(float64(i), 1, float64(i)/2+max(0, float64(i-20))*2, 10))
	}
	for i := range o.Stages {
		o.Stages[i].Start = time.Unix(0, samples[0].UnixNano).Add(time.Duration(10*i) * time.Second)
	}
	slow := *o
	slow.Stages = slices.Clone(o.Stages)
	slow.Stages[2].Slow = &watchers.SlowStage{}
	for _, c := range []struct {
		of           *watchers.Outcome
		client, both string
		value        float64
	}{
		{o, "1: 2500.00 us of 2,000 events in 10.0 s; 100: 125.00 us of 200,000 events in 10.0 s", "1: 5000.00 us of 2,000 events in 10.0 s; 100: 250.00 us of 200,000 events in 10.0 s", 125},
		{&slow, "1: 2500.00 us of 2,000 events in 10.0 s", "1: 5000.00 us of 2,000 events in 10.0 s", 2500},
	} {
		r := of(t, c.of)
		machine := run.Machine{Name: "a machine", Samples: packed.Of(samples...)}
		r.Machines.Client, r.Machines.Servers = machine, []run.Machine{machine, machine}
		for _, row := range (Half{}).Rows() {
			want, value := "", 0.0
			switch row.Name {
			case "WATCH-CLIENT-CPU":
				want, value = c.client, c.value
			case "WATCH-SERVER-CPU":
				want, value = c.both, 2*c.value
			default:
				continue
			}
			if m, text := row.Cell(r); text != want || m.Value != value {
				t.Errorf("%s is %q (%+v), want %q and %g", row.Name, text, m, want, value)
			}
		}
	}
}

// A connection that never caught up has a rate and no time, and the cell has the time that it was
// behind.
func TestNeverCaughtUp(t *testing.T) {
	o := watched()
	o.Plan.Slow = watchers.Slow{Share: 1, Pause: 5 * time.Second}
	o.Stages[2].Slow = &watchers.SlowStage{
		Watchers: 2, Connections: 1, Length: 5 * time.Second, Each: []watchers.CatchUp{{Watchers: 2, Took: 10 * time.Second, Changes: 70_000}},
		Waited: 10 * time.Second, Written: 90_000,
	}
	for _, c := range []struct {
		row, want string
		value     float64
	}{
		{"WATCH-SLOW-CATCH-UP", "100: p50 7,000/s, least 7,000/s of 1 connection; 9,000/s were written meanwhile", 7000},
		{"WATCH-SLOW-CAUGHT-UP", "100: 0 of 1 connection caught up; 1 had not after 10000.000 ms", 0},
	} {
		for _, row := range (Half{}).Rows() {
			if row.Name != c.row {
				continue
			}
			m, text := row.Cell(of(t, o))
			if text != c.want || m.Value != c.value || m.Known() != (c.value > 0) || !m.Known() && m.Words != text {
				t.Errorf("%s is %q (%+v), want %q and %g", c.row, text, m, c.want, c.value)
			}
		}
	}
}

// The sentence and the card describe the most watchers, and unknown values are dashes.
func TestCard(t *testing.T) {
	lossy := watched()
	lossy.Counts.Lost = 1234
	runs := [][]*run.Run{{of(t, watched())}, {of(t, nil)}, {of(t, lossy), of(t, lossy)}}
	names := []string{"a", "b", "c"}
	if !(Half{}).Acted(runs[0][0]) || (Half{}).Acted(runs[1][0]) {
		t.Error("keys were watched in the first run and not in the second")
	}
	if said, want := (Half{}).Say(names, runs), "The last watcher has heard of a write (p99) after a 10.000 ms with 100 watchers, c 10.000 ms with 100 watchers and 1,234 lost"; !strings.HasPrefix(said, want) {
		t.Errorf("the sentence is %q, want %q", said, want)
	}
	card := (Half{}).Card(names, runs)
	if card == nil || len(card.Notes) != 2 || !strings.HasSuffix(card.Notes[1], "200,000 deliveries in 10s; the first of 2 trials") {
		t.Fatalf("the card is %+v", card)
	}
	for _, want := range [][]string{
		{"watchers, p50 / p99 in ms", "a", "b", "c"},
		{"each heard", "3.00 / 6.00", "-", "3.00 / 6.00"},
		{"1 heard", "1.00 / 2.00", "-", "1.00 / 2.00"},
		{"all 100 heard", "5.00 / 10.0", "-", "5.00 / 10.0"},
		{"lost / replaced", "0 / 0", "-", "1,234 / 0"},
		{"p99 of writes, and with the fewest", "4.00, 2.00 with 0", "-", "4.00, 2.00 with 0"},
	} {
		if !slices.ContainsFunc(append(card.Rows, card.Head), func(row []string) bool { return slices.Equal(row, want) }) {
			t.Errorf("the card lacks %q: %q", want, card.Rows)
		}
	}
	pushed := watched()
	pushed.Plan.Values = true
	runs = [][]*run.Run{{of(t, pushed)}, {of(t, nil)}, {of(t, pushed)}}
	if said, want := (Half{}).Say(names, runs), "After the write of a new value was due, the last watcher used the old one (p99) for a 12.000 ms with 100 watchers, c 12.000 ms with 100 watchers."; said != want {
		t.Errorf("the sentence is %q, want %q", said, want)
	}
	if card := (Half{}).Card(names, runs); !slices.ContainsFunc(card.Rows, func(row []string) bool {
		return slices.Equal(row, []string{"old value used", "6.00 / 12.0", "-", "6.00 / 12.0"})
	}) {
		t.Errorf("the card has no old values: %q", card.Rows)
	}
	if (Half{}).Card(names[1:2], runs[1:2]) != nil {
		t.Error("a card of a database without watchers")
	}
}

// Writes have no time if it is not known when all had heard of them, and the row, the sentence and
// the note count them.
func TestUnheard(t *testing.T) {
	o := watched()
	o.Coalesces = true
	o.Stages[2].All.N, o.Stages[2].Old.N = 1500, 1500
	runs := [][]*run.Run{{of(t, o)}}
	if said, want := (Half{}).Say([]string{"a"}, runs), "after a 10.000 ms (of 1,500 of 2,000 writes) with 100 watchers."; !strings.HasSuffix(said, want) {
		t.Errorf("the sentence is %q, want %q at its end", said, want)
	}
	if card, want := (Half{}).Card([]string{"a"}, runs), "; with 100 watching, it is not known of 500 of 2,000 writes when all had heard of them, or of newer ones: they are in no time above"; !strings.HasSuffix(card.Notes[0], want) {
		t.Errorf("the note is %q, want %q at its end", card.Notes[0], want)
	}
	for _, name := range []string{"WATCH-ALL-HEARD", "WATCH-OLD-VALUE"} {
		at := slices.IndexFunc((Half{}).Rows(), func(r abilities.Row) bool { return r.Name == name })
		if _, text := (Half{}).Rows()[at].Cell(runs[0][0]); !strings.HasSuffix(text, "; without writes for which it is not known: 100: 500 of 2,000") {
			t.Errorf("%s: %q", name, text)
		}
	}
	o.Stages[2].All, o.Stages[2].Old = nil, nil
	if said, want := (Half{}).Say([]string{"a"}, [][]*run.Run{{of(t, o)}}), "after a - with 100 watchers."; !strings.HasSuffix(said, want) {
		t.Errorf("the sentence is %q, want %q at its end", said, want)
	}
}

// The picture has a point for each watcher count that has enough deliveries.
func TestFigures(t *testing.T) {
	list := (Half{}).Figures([]abilities.Column{{Name: "a", Key: 1, Runs: []*run.Run{of(t, watched())}}, {Name: "b", Key: 2, Runs: []*run.Run{of(t, nil)}}})
	if len(list) != 1 || len(list[0].Series) != 3 {
		t.Fatalf("figures %+v, want one with three lines", list)
	}
	for i, want := range [][]float64{{1, 3}, {2, 6}, {2, 10}} {
		if s := list[0].Series[i]; !slices.Equal(s.X, []float64{1, 100}) || !slices.Equal(s.Y, want) || s.Key != 1 {
			t.Errorf("line %d is %+v, want %v", i, s, want)
		}
	}
	if (Half{}).Figures(nil) != nil {
		t.Error("a figure without watchers")
	}
	hundred, one := watched(), watched()
	hundred.Stages, one.Stages = hundred.Stages[2:], one.Stages[1:2]
	column := func(o *watchers.Outcome) abilities.Column {
		return abilities.Column{Name: "a", Key: 1, Runs: []*run.Run{of(t, o)}}
	}
	if list := (Half{}).Figures([]abilities.Column{column(hundred), column(hundred)}); list != nil {
		t.Errorf("figures by the number of watchers, of which there is one: %+v", list)
	}
	if list := (Half{}).Figures([]abilities.Column{column(hundred), column(one)}); len(list) != 1 {
		t.Errorf("figures %+v, want one: databases have different numbers of watchers", list)
	}
}

// slowed is a run in which slow connections were served at some rates while the load wrote at another.
func slowed(t *testing.T, name string, written float64, rates ...float64) *run.Run {
	o := watched()
	o.Stages = o.Stages[1:2]
	is := &watchers.SlowStage{Waited: 10 * time.Second, Written: 10 * written}
	for _, rate := range rates {
		is.Each = append(is.Each, watchers.CatchUp{Watchers: 1, Took: 10 * time.Second, Changes: 10 * rate})
	}
	o.Stages[0].Slow = is
	r := of(t, o)
	r.Info.Record.Database = name
	return r
}

// If all databases have slow watchers, the sentence and the card are about how fast they caught up:
// the rates for each store, and the writes under which its watchers still did.
func TestLateCard(t *testing.T) {
	caught := func(r *run.Run) []*run.Run {
		o, none := outcome(r)
		if none != "" {
			t.Fatal(none)
		}
		for i := range o.Stages[0].Slow.Each {
			o.Stages[0].Slow.Each[i].CaughtUp = true
		}
		o.Stages[0].Slow.CaughtUp = len(o.Stages[0].Slow.Each)
		with := of(t, &o)
		with.Info.Record.Database = r.Info.Record.Database
		return []*run.Run{with}
	}
	names := []string{"etcd-8000", "etcd-1000", "etcd-4000", "other"}
	runs := [][]*run.Run{{slowed(t, "etcd", 8000, 7000, 7200, 7100)}, caught(slowed(t, "etcd", 1000, 9000)), caught(slowed(t, "etcd", 4000, 8000, 8400)), caught(slowed(t, "other", 500, 600))}
	const want = "A watcher of etcd that was behind got 7,100/s to 9,000/s (medians): it caught up while 4,000/s were written, and not while 8,000/s were. A watcher of other that was behind got 600/s (medians): it caught up while 500/s were written."
	if said := (Half{}).Say(names, runs); said != want {
		t.Errorf("the sentence is %q, want %q", said, want)
	}
	card := (Half{}).Card(names, runs)
	if card == nil || len(card.Rows) != 4 {
		t.Fatalf("the card is %+v", card)
	}
	for i, want := range [][]string{
		{"etcd-8000", "8,000/s", "7,100/s / 7,000/s", "0 of 3 in 10.0 s", "-"},
		{"etcd-1000", "1,000/s", "9,000/s / 9,000/s", "1 of 1 in 10.0 s", "-"},
	} {
		if !slices.Equal(card.Rows[i], want) {
			t.Errorf("row %d is %q, want %q", i, card.Rows[i], want)
		}
	}
	if said := (Half{}).Say(names[:2], [][]*run.Run{runs[0], {of(t, watched())}}); !strings.HasPrefix(said, "The last watcher") {
		t.Errorf("beside a database without slow watchers the sentence is %q", said)
	}
}

// The picture of the catch-up has a line through a database's write rates, and one for connections
// that would be as fast as writes.
func TestCatchUpFigure(t *testing.T) {
	column := func(name string, key int, runs ...*run.Run) abilities.Column {
		return abilities.Column{Name: name, Key: key, Runs: runs}
	}
	list := (Half{}).Figures([]abilities.Column{
		column("etcd-4000", 1, slowed(t, "etcd", 4000, 7000, 8000, 8500)), column("etcd-1000", 2, slowed(t, "etcd", 1000, 9000), slowed(t, "etcd", 1100, 9100)),
		column("other", 3, slowed(t, "other", 500, 600)),
	})
	i := slices.IndexFunc(list, func(f figure.Figure) bool { return f.Name == "WATCH-CATCH-UP" })
	if i != 0 || len(list) != 1 {
		t.Fatalf("figures %+v, want how fast watchers caught up alone: all have one watcher", list)
	}
	for n, want := range []struct {
		name string
		x, y []float64
	}{
		{"etcd p50", []float64{1000, 1100, 4000}, []float64{9000, 9100, 8000}},
		{"etcd least", []float64{1000, 1100, 4000}, []float64{9000, 9100, 7000}},
		{"other p50", []float64{500}, []float64{600}},
		{"other least", []float64{500}, []float64{600}},
		{"as fast as writes", []float64{500, 4000}, []float64{500, 4000}},
	} {
		if n >= len(list[i].Series) {
			t.Fatalf("%d lines, want %q", len(list[i].Series), want.name)
		}
		if s := list[i].Series[n]; s.Name != want.name || !slices.Equal(s.X, want.x) || !slices.Equal(s.Y, want.y) {
			t.Errorf("line %d is %q %v %v, want %+v", n, s.Name, s.X, s.Y, want)
		}
	}
	if len(list[i].Series) != 5 {
		t.Errorf("%d lines, want 5", len(list[i].Series))
	}
}
