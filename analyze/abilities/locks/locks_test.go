package locks

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coreos/dbtester/analyze/abilities"
	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/ability/locks"
	"github.com/coreos/dbtester/pkg/results"
)

// of is a run with an outcome.
func of(t *testing.T, o *locks.Outcome) *run.Run {
	t.Helper()
	record := &results.DatabaseRun{Database: "etcd"}
	if o != nil {
		if err := locks.Record().Set(&record.Records, *o); err != nil {
			t.Fatal(err)
		}
	}
	r := &run.Run{}
	r.Info.Record = record
	return r
}

const msec = int64(time.Millisecond)

// competed is an outcome in which 2 and 10 contenders compete for a lock with a lease.
func competed() *locks.Outcome {
	return &locks.Outcome{
		Plan: locks.Plan{Names: 1, Contenders: []int{2, 10}, Hold: time.Millisecond, Recipe: "library", TTL: 10 * time.Second},
		What: "key", By: "a library", Waits: "a watch", Fence: "a revision", Queue: true, TTL: 10 * time.Second, Rule: "after its TTL",
		Earliest: 6 * time.Second, Latest: 11 * time.Second, Stops: 2, LongestStop: 150 * time.Millisecond,
		Stages: []locks.Stage{
			{
				Contenders: 2, Acquired: 1200, PerSecond: 60, Wait: &results.Spread{N: 1200, P50: 100 * msec, P99: 120 * msec, Max: 130 * msec}, Held: &results.Spread{N: 1200, P50: 1100_000, Max: 2 * msec},
				HandOff: &results.Spread{N: 1199, Mean: 49 * msec, P50: 83 * msec, P99: 98 * msec, Max: 101 * msec}, Delayed: 3,
				Fairness:  locks.Fairness{Most: .501, Fewest: .499, Jain: 1, LongestWithout: 130 * time.Millisecond, LongestTurns: 1, Order: locks.Queue, Decided: 1190, Chances: 1199, ByChance: .5, Assumed: true, Shares: []float64{.501, 1}},
				Meanwhile: &locks.Latency{Seconds: 19, Requests: 3800, P99: 5 * time.Millisecond},
			},
			{
				Contenders: 10, Acquired: 2000, PerSecond: 100, Wait: &results.Spread{N: 2000, P50: 90 * msec, P99: 200 * msec, Max: 300 * msec},
				HandOff:  &results.Spread{N: 50, Mean: 12 * msec, P50: 9 * msec, Max: 20 * msec},
				Fairness: locks.Fairness{Most: .4, Fewest: .01, Jain: .5, LongestWithout: 4500 * time.Millisecond, LongestTurns: 73, Order: locks.Race, Decided: 1000, Overtook: 900, Overtakes: 3000, Again: 500, Chances: 1999, ByChance: .1, Assumed: true, Shares: []float64{.4, .9, 1}},
				Refused:  2, WhyRefused: "no answer", Meanwhile: &locks.Latency{Seconds: 19, Requests: 3800, P99: 8 * time.Millisecond},
			},
		},
		Before: &locks.Latency{Seconds: 19, Requests: 3800, P99: 2 * time.Millisecond},
	}
}

// elected is the outcome of an election on a database that keeps locks back.
func elected() *locks.Outcome {
	o := competed()
	o.Plan.Elect, o.Plan.Hold, o.Plan.LockDelay, o.Plan.Names, o.Plan.TTL, o.Delayed = true, time.Second, 15*time.Second, 2, 8*time.Second, "LockDelay"
	o.Stages = o.Stages[:1]
	s := &o.Stages[0]
	s.HandOff, s.Delayed, s.Held, s.Full = nil, 0, nil, true
	s.FailOver = locks.FailOver{Dead: 3, NotTaken: 1, Early: 1, Passed: &results.Spread{N: 2, P50: 35 * 1000 * msec, Max: 36 * 1000 * msec}}
	s.Safety = locks.Safety{Overlaps: 1, Disorder: 2, Believed: 3, Lost: 4, LongestBelieved: 20 * time.Second}
	s.Fairness.Decided, s.Meanwhile, o.Before = 0, nil, nil
	return o
}

func TestRows(t *testing.T) {
	for _, c := range []struct {
		name string
		of   *locks.Outcome
		want []string // "" for a cell that says why there is nothing
	}{
		{"competed", competed(), []string{
			"3,200; recipe library by a library; key, TTL 10s; held for 1ms (median 1.10 ms)",
			"with 2: mean 49.0 ms, p50 83.0 ms, p99 98.0 ms, longest 101 ms (1,199); with 10: mean 12.0 ms, p50 9.00 ms, longest 20.0 ms (50); 3 of all without stops of this client of at most 150ms",
			"with 2: 60.0/s, waited p50 100 ms; with 10: 100.0/s, waited p50 90.0 ms, 2 requests failed: no answer",
			"with 2: 50.1 % to 49.9 % (equal 50.0 %), Jain 1.000, longest wait 0.130 s, 1 turn; with 10: 40.0 % to 1.0 % (equal 10.0 %), Jain 0.500, longest wait 4.500 s, 73 turns",
			"with 2: queue (0 of 1,190 overtook), releaser again 0 of 1,199 (by chance 50.0 %); with 10: race (900 of 1,000 overtook 3,000, 3.00 a turn), releaser again 500 of 1,999 (by chance 10.0 %); by its recipe a queue, which reports no places",
			"0 of 3,200; 0 fences out of order; a fence is a revision",
			"0 of 3,200; 0 not held when given up; 2 stops of this client of at most 150ms",
			"",
			"with 2: p99 5.00 ms in 19 s; with 10: p99 8.00 ms in 19 s; before 2.00 ms in 19 s",
		}},
		{"elected", elected(), []string{
			"1,200; recipe library by a library, LockDelay 15s; key, TTL 10s (asked 8s); held for 1s; 2 names; a stage ended early, without room for more turns",
			"",
			"with 2: 60.0/s, waited p50 100 ms",
			"with 2: 50.1 % to 49.9 % (equal 50.0 %), Jain 1.000, longest wait 0.130 s, 1 turn",
			"",
			"1 of 1,200; 2 fences out of order; a fence is a revision",
			"3 of 1,200, for at most 20.000 s; 4 not held when given up; 2 stops of this client of at most 150ms",
			"with 2: longest 36.000 s (2), 1 not taken by the end, 1 early; a session ends after its TTL, then LockDelay of 15s: 6s to 11s after the death",
			"",
		}},
		{"none", nil, []string{"", "", "", "", "", "", "", "", ""}},
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

// The numbers in the rows are those that their definitions name.
func TestNumbers(t *testing.T) {
	want := map[string]float64{
		"LOCKS": 3200, "LOCK-HAND-OFF": 49, "LOCK-ACQUISITIONS": 60, "LOCK-SHARES": 10, "LOCK-ORDER": 90,
		"LOCKS-HELD-TWICE": 0, "LOCKS-BELIEVED-HELD": 0, "WRITES-BESIDE-LOCKS": 8,
	}
	for _, row := range (Half{}).Rows() {
		m, _ := row.Cell(of(t, competed()))
		if is, known := want[row.Name]; known && m.Value != is {
			t.Errorf("%s is %v, want %v", row.Name, m.Value, is)
		}
	}
}

// The sentence names the recipe and the delay, and the card the known numbers for each database.
func TestCard(t *testing.T) {
	runs := [][]*run.Run{{of(t, competed())}, {of(t, nil)}, {of(t, elected()), of(t, elected())}}
	names := []string{"a", "b", "c"}
	if !(Half{}).Acted(runs[0][0]) || (Half{}).Acted(runs[1][0]) {
		t.Error("contenders competed in the first run and not in the second")
	}
	said := (Half{}).Say(names[:2], runs[:2])
	if want := "A lock changes hands (mean of 1,199 hand-offs between 2 contenders, held for 1ms) in a 49.0 ms (recipe library). Of 10 contenders each had of all turns: a 1.0 % to 40.0 %."; said != want {
		t.Errorf("the sentence is %q, want %q", said, want)
	}
	said = (Half{}).Say(names[2:], runs[2:])
	if want := "The lock of a dead holder passes (medians of 2 trials) after c 35.000 s (recipe library, LockDelay 15s, TTL 10s)."; !strings.HasPrefix(said, want) {
		t.Errorf("the sentence is %q, want %q", said, want)
	}
	other := competed()
	other.Stages[0].HandOff.Mean *= 2
	same := []*run.Run{of(t, competed()), of(t, other)}
	said = (Half{}).Say([]string{"a", "b", "c", "d", "e"}, [][]*run.Run{same, same, same, same, same[:1]})
	if want := "A lock changes hands (mean) in a 49.0 ms to 98.0 ms, b 49.0 ms to 98.0 ms, c 49.0 ms to 98.0 ms, d 49.0 ms to 98.0 ms, e 49.0 ms. " +
		"Of 10 contenders each had of all turns: a 1.0 % to 40.0 %, b 1.0 % to 40.0 %, c 1.0 % to 40.0 %, d 1.0 % to 40.0 %, e 1.0 % to 40.0 %."; said != want {
		t.Errorf("the sentence is %q, want %q", said, want)
	}
	if said = (Half{}).Say(names[1:2], runs[1:2]); !strings.HasPrefix(said, "No lock") {
		t.Errorf("the sentence is %q, want it to state that nothing was measured", said)
	}
	card := (Half{}).Card(names, runs)
	if card == nil || len(card.Notes) != 2 || !strings.Contains(card.Notes[1], "a session ends after its TTL, then LockDelay of 15s: 6s to 11s after the death; medians of 2 trials (least..most), violations of all") {
		t.Fatalf("the card is %+v", card)
	}
	for _, want := range [][]string{
		{"locks", "a", "b", "c"},
		{"2 contenders: hand-off mean", "49.0 ms, n 1,199", "-", "-"},
		{"  hand-off p50", "83.0 ms", "-", "-"},
		{"  hand-off p99", "98.0 ms", "-", "-"},
		{"  fail-over p50", "-", "-", "35.000 s, n 4"},
		{"  acquired/s", "60.0", "-", "60.0"},
		{"  luckiest / unluckiest", "50.1 / 49.9 %", "-", "50.1 / 49.9 %"},
		{"  order", "queue", "-", "queue"},
		{"10 contenders: hand-off mean", "12.0 ms, n 50", "-", "-"},
		{"  order", "race", "-", "-"},
		{"  p99 of requests / before", "8.00 / 2.00 ms", "-", "-"},
		{"held twice / fences out of order", "0 / 0", "-", "2 / 4"},
		{"believed held / lost", "0 / 0", "-", "6 / 8"},
	} {
		if !slices.ContainsFunc(append(card.Rows, card.Head), func(row []string) bool { return slices.Equal(row, want) }) {
			t.Errorf("the card lacks %q: %q", want, card.Rows)
		}
	}
	other.Stages[1].Fairness.Order = locks.Undecided
	card = (Half{}).Card(names[:1], [][]*run.Run{{of(t, competed()), of(t, other), of(t, competed())}})
	for _, want := range [][]string{
		{"2 contenders: hand-off mean", "49.0 (49.0..98.0) ms, n 3,597"},
		{"  luckiest / unluckiest", "50.1 / 49.9 %"},
		{"  order", "queue"},
		{"  order", "race in 2, undecided in 1"},
	} {
		if !slices.ContainsFunc(card.Rows, func(row []string) bool { return slices.Equal(row, want) }) {
			t.Errorf("the card of three trials lacks %q: %q", want, card.Rows)
		}
	}
	if (Half{}).Card(names[1:2], runs[1:2]) != nil {
		t.Error("a card of a database without contenders")
	}
}

// Databases that differ in the hold time are rows on a card, and the sentence has the fastest and
// the slowest; if one of them differs in something else, each has a column.
func TestByHold(t *testing.T) {
	longer, direct := competed(), competed()
	longer.Plan.Hold = 200 * time.Millisecond
	longer.Stages[0].HandOff = &results.Spread{N: 50, Mean: 2 * msec, P50: 3 * msec, Max: 4 * msec}
	direct.Plan.Recipe = "direct"
	other := competed()
	other.Plan.Recipe, other.Plan.Hold = "direct", 60*time.Millisecond
	names, runs := []string{"a", "b", "c", "d", "e"}, [][]*run.Run{{of(t, longer)}, {of(t, competed())}, {of(t, direct)}, {of(t, other)}, {of(t, nil)}}
	said := (Half{}).Say(names, runs)
	if want := "A lock changes hands between 2 contenders on average in etcd (recipe library) 2.00 ms if it is held for 200ms to 49.0 ms if for 1ms, etcd (recipe direct) 49.0 ms."; said != want {
		t.Errorf("the sentence is %q, want %q", said, want)
	}
	card := (Half{}).Card(names, runs)
	if card == nil || len(card.Notes) != 2 || !slices.Equal(card.Head[1:], []string{"etcd, recipe library", "etcd, recipe direct"}) {
		t.Fatalf("the card is %+v", card)
	}
	for i, want := range [][]string{
		{"1ms", "49.0 ms (83.0 ms / 98.0 ms), n 1,199", "49.0 ms (83.0 ms / 98.0 ms), n 1,199"}, {"60ms", "-", "49.0 ms (83.0 ms / 98.0 ms), n 1,199"}, {"200ms", "2.00 ms (3.00 ms), n 50", "-"},
		{"held twice / fences out of order", "0 / 0", "0 / 0"},
	} {
		if !slices.Equal(card.Rows[i], want) {
			t.Errorf("row %d is %q, want %q", i, card.Rows[i], want)
		}
	}
	if card := (Half{}).Card(names[:3], runs[:3]); len(card.Head) != 4 || card.Head[1] != "a" {
		t.Errorf("the card of databases that differ in their recipe is %+v, want a column for each", card)
	}
}

// Hand-offs are shown by contenders, and by the time for which locks are held where that differs.
// earlier returns the same hand-offs as recorded by an earlier release, without means.
func earlier() *locks.Outcome {
	o := competed()
	for i := range o.Stages {
		o.Stages[i].HandOff.Mean = 0
	}
	return o
}

// Records without means have medians, which are named so. Beside other records these have them too.
func TestEarlierRecords(t *testing.T) {
	longer := earlier()
	longer.Plan.Hold = 200 * time.Millisecond
	longer.Stages[0].HandOff = &results.Spread{N: 50, P50: 3 * msec, Max: 4 * msec}
	names, runs := []string{"a", "b"}, [][]*run.Run{{of(t, earlier())}, {of(t, competed())}}
	const said = "A lock changes hands (median of 1,199 hand-offs between 2 contenders, held for 1ms) in a 83.0 ms (recipe library), b 83.0 ms (recipe library)."
	if got := (Half{}).Say(names, runs); !strings.HasPrefix(got, said) {
		t.Errorf("the sentence is %q, want %q", got, said)
	}
	rows := (Half{}).Card(names, runs).Rows
	for i, want := range [][]string{{"2 contenders: hand-off p50", "83.0 ms, n 1,199", "83.0 ms, n 1,199"}, {"  hand-off p99", "98.0 ms", "98.0 ms"}} {
		if !slices.Equal(rows[i], want) {
			t.Errorf("row %d is %q, want %q", i, rows[i], want)
		}
	}
	for _, row := range (Half{}).Rows() {
		if m, text := row.Cell(runs[0][0]); row.Name == "LOCK-HAND-OFF" && (m.Value != 83 || !strings.HasPrefix(text, "with 2: p50 83.0 ms, ")) {
			t.Errorf("%s is %v, %q; want the median", row.Name, m.Value, text)
		}
	}
	if f := byContenders([]abilities.Column{{Name: "a", Runs: runs[0]}}); len(f.Series) != 1 || f.Series[0].Name != "a p50" || f.Notes[0] != "from the sending of a release to the next holder, while somebody waited; the median" {
		t.Errorf("the figure has %+v, noted %q; want medians", f.Series, f.Notes)
	}
	runs[1] = []*run.Run{of(t, longer)}
	const byHold = "A lock changes hands between 2 contenders at the median in etcd (recipe library) 3.00 ms if it is held for 200ms to 83.0 ms if for 1ms."
	if got := (Half{}).Say(names, runs); got != byHold {
		t.Errorf("the sentence is %q, want %q", got, byHold)
	}
	card := (Half{}).Card(names, runs)
	for i, want := range [][]string{
		{"median hand-off (p99) between 2 contenders of a lock that is held for", "etcd, recipe library"}, {"1ms", "83.0 ms (98.0 ms), n 1,199"}, {"200ms", "3.00 ms, n 50"},
	} {
		if got := slices.Concat([][]string{card.Head}, card.Rows)[i]; !slices.Equal(got, want) {
			t.Errorf("row %d is %q, want %q", i, got, want)
		}
	}
}

func TestFigures(t *testing.T) {
	longer := competed()
	longer.Plan.Hold = 200 * time.Millisecond
	longer.Stages[0].HandOff = &results.Spread{N: 1199, Mean: 2 * msec, P50: 3 * msec, P99: 3 * msec, Max: 4 * msec}
	column := func(name string, key int, runs ...*run.Run) abilities.Column {
		return abilities.Column{Name: name, Key: key, Runs: runs}
	}
	list := (Half{}).Figures([]abilities.Column{column("a", 1, of(t, competed())), column("b", 2, of(t, nil)), column("c", 3, of(t, longer))})
	if len(list) != 3 {
		t.Fatalf("%d figures, want 3", len(list))
	}
	if f := list[0]; len(f.Series) != 2 || f.Series[0].Name != "a mean" || !slices.Equal(f.Series[0].X, []float64{2, 10}) || !slices.Equal(f.Series[0].Y, []float64{49, 12}) || !strings.HasSuffix(f.Notes[0], "; the mean") {
		t.Errorf("hand-offs by contenders %+v, noted %q, want the means of a and c; 50 hand-offs have no p99", f.Series, f.Notes)
	}
	if f := list[1]; len(f.Series) != 2 || f.Series[0].Name != "etcd, library, 2 contenders mean" || !slices.Equal(f.Series[0].X, []float64{1, 200}) || !slices.Equal(f.Series[0].Y, []float64{49, 2}) || !slices.Equal(f.Series[1].Y, []float64{98, 3}) || !strings.HasSuffix(f.Notes[0], "; solid: mean, dashed: p99") {
		t.Errorf("hand-offs by hold %+v, noted %q, want mean and p99 for 1 and 200 ms", f.Series, f.Notes)
	}
	if f := list[2]; len(f.Series) != 4 || len(f.Panels) != 2 || f.Series[1].Panel != 1 || !slices.Equal(f.Series[0].X, []float64{0, 50, 100}) || !slices.Equal(f.Series[1].Y, []float64{0, 40, 90, 100}) {
		t.Errorf("turns %+v in %q, want those of two databases in two panels", f.Series, f.Panels)
	}
	if list := (Half{}).Figures([]abilities.Column{column("c", 1, of(t, elected()), of(t, elected()))}); len(list) != 1 || list[0].Series[0].Statistic != "trial 1" {
		t.Errorf("figures %+v of an election, want how turns were shared", list)
	}
}
