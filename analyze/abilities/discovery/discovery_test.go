package discovery

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coreos/dbtester/analyze/abilities"
	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/ability/discovery"
	"github.com/coreos/dbtester/pkg/results"
)

// of is a run with an outcome.
func of(t *testing.T, o *discovery.Outcome) *run.Run {
	t.Helper()
	record := &results.DatabaseRun{Leader: -1}
	if o != nil {
		if err := discovery.Record().Set(&record.Records, *o); err != nil {
			t.Fatal(err)
		}
	}
	r := &run.Run{}
	r.Info.Record = record
	return r
}

// died is an outcome with twenty deaths, the i-th known to all consumers after 10 s and i
// milliseconds, and with two deploys.
func died() *discovery.Outcome {
	o := &discovery.Outcome{
		Plan:  discovery.Plan{Instances: 200, Consumers: 50, Notice: 10010 * time.Millisecond, TTL: 8 * time.Second, Keep: 2 * time.Second, Deaths: 20, Deploys: 2},
		Facts: discovery.Facts{What: "lease", Rule: "after its TTL", Renewal: "a stream", Watch: "a watch"},
		TTL:   8 * time.Second, Earliest: 8 * time.Second, Latest: 8500 * time.Millisecond, Watching: 50, Quiet: 10 * time.Second, Resolution: 2 * time.Millisecond,
		Registered: discovery.Registered{Registered: 200, PerSecond: 1234, Keeps: &results.Spread{N: 2000, P50: 4e5, P99: 3e6, Max: 9e6}},
	}
	o.Told = 1200
	for i := range 20 {
		c := discovery.Change{Kind: discovery.Death, Heard: 50, All: true, Left: 7 * time.Second, Late: 2990 * time.Millisecond, FanOut: time.Duration(i+11) * time.Millisecond}
		c.Whole = c.Left + c.Late + c.FanOut
		o.Changes = append(o.Changes, c)
	}
	for _, ms := range []time.Duration{40, 30} {
		o.Changes = append(o.Changes, discovery.Change{Kind: discovery.Deploy, Heard: 50, All: true, Again: 10 * time.Millisecond, FanOut: (ms - 10) * time.Millisecond, Whole: ms * time.Millisecond})
	}
	return o
}

// elected returns an outcome with two elections. The second one had no next leader. The other way
// to find dead instances elects no leaders.
func elected() *discovery.Outcome {
	o := died()
	o.Beside = "health checks"
	o.Plan.Deaths, o.Plan.Deploys, o.Plan.Elections = 0, 0, 2
	o.Changes = []discovery.Change{
		{
			Kind: discovery.Election, Instance: 3, Heard: 50, All: true, Whole: 10_005 * time.Millisecond,
			Left: 7 * time.Second, Late: 2990 * time.Millisecond, HandOff: 5 * time.Millisecond, FanOut: 10 * time.Millisecond,
		},
		{Kind: discovery.Election, Instance: 4},
	}
	return o
}

func TestRows(t *testing.T) {
	bad := died()
	bad.Changes[3].All, bad.Early, bad.Alive, bad.Lost, bad.Missed, bad.Behind = false, 2, 1, 3, 1, 4
	bad.Registered.Registered, bad.NotRegistered, bad.Why, bad.Broken, bad.Watching, bad.BrokenWhy = 199, 1, "no room", 1, 49, "cut"
	bad.Latest, bad.Beside, bad.Delayed, bad.LongestStop = 20*time.Second, "health checks", 5, 30*time.Millisecond
	calm := died()
	calm.Changes, calm.Keeps, calm.Plan.Notice = nil, nil, 0
	led := elected()
	led.Keeps = nil
	for _, c := range []struct {
		name string
		of   *discovery.Outcome
		want []string // "" for a cell that says why there is nothing
	}{
		{"all known", died(), []string{
			"200, TTL 8s; a lease ends after its TTL; 1234 registered/s; 50 consumers, by a watch",
			"p50 10.010 s, p95 10.019 s, longest 10.020 s; 20 of 20 known to all, 10 of 20 within 10.01s",
			"of the TTL left p50 7.000 s, p95 7.000 s, longest 7.000 s; session ended late by p50 2.990 s, p95 2.990 s, longest 2.990 s; to the last consumer p50 20.000 ms, p95 29.000 ms, longest 30.000 ms; known to 2.000 ms",
			"p50 30.000 ms, p95 40.000 ms, longest 40.000 ms; until the new key was requested p50 10.000 ms, p95 10.000 ms, longest 10.000 ms, to the last consumer p50 20.000 ms, p95 30.000 ms, longest 30.000 ms; 2 of 2 known to all",
			"",
			"0 ended early (0 alive), 0 never heard of by a consumer; 0 ended unanswered, 0 missed by this client; 0 not known by the end; of 1,200 changes told",
			"2,000, p50 0.400 ms, p99 3.000 ms, longest 9.000 ms, 0 lost, 0 sent late; by a stream",
			"",
		}},
		{"wrong", bad, []string{
			"199, TTL 8s; a lease ends after its TTL; 1234 registered/s; 49 consumers, by a watch; 1 not registered: no room; 1 consumers stopped: cut; another way: health checks",
			"p50 10.011 s, p95 10.020 s, longest 10.020 s; 19 of 20 known to all, 9 of 20 within 10.01s (the rule may take 20s); 5 reports were read after a stop of this client of at most 30ms",
			"of the TTL left p50 7.000 s, p95 7.000 s, longest 7.000 s; session ended late by p50 2.990 s, p95 2.990 s, longest 2.990 s; to the last consumer p50 21.000 ms, p95 30.000 ms, longest 30.000 ms; known to 2.000 ms",
			"p50 30.000 ms, p95 40.000 ms, longest 40.000 ms; until the new key was requested p50 10.000 ms, p95 10.000 ms, longest 10.000 ms, to the last consumer p50 20.000 ms, p95 30.000 ms, longest 30.000 ms; 2 of 2 known to all",
			"",
			"2 ended early (1 alive), 3 never heard of by a consumer; 0 ended unanswered, 1 missed by this client; 4 not known by the end; of 1,200 changes told",
			"2,000, p50 0.400 ms, p99 3.000 ms, longest 9.000 ms, 0 lost, 0 sent late; by a stream",
			"",
		}},
		{"nothing happened", calm, []string{
			"200, TTL 8s; a lease ends after its TTL; 1234 registered/s; 50 consumers, by a watch", "", "", "", "",
			"0 ended early (0 alive), 0 never heard of by a consumer; 0 ended unanswered, 0 missed by this client; 0 not known by the end; of 1,200 changes told", "", "",
		}},
		{"a leader died", led, []string{
			"200, TTL 8s; a lease ends after its TTL; 1234 registered/s; 50 consumers, by a watch", "", "", "",
			"10.005 s; of the TTL left 7.000 s; session ended late by 2.990 s; until the next leader 5.000 ms; to the last consumer 10.000 ms; 1 of 2 known to all",
			"0 ended early (0 alive), 0 never heard of by a consumer; 0 ended unanswered, 0 missed by this client; 0 not known by the end; of 1,200 changes told", "", "",
		}},
		{"none", nil, []string{"", "", "", "", "", "", "", ""}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for i, row := range (Half{}).Rows() {
				m, text := row.Cell(of(t, c.of))
				if text != c.want[i] || (text == "") != (m.Missing != "") {
					t.Errorf("%s is\n%q (%+v), want\n%q", row.Name, text, m, c.want[i])
				}
			}
		})
	}
}

// The sentence has when all knew, and names an unmeasured way instead of a loser. The card has the
// parts, and dashes for unknown ones.
func TestCard(t *testing.T) {
	consul, late := died(), died()
	consul.Beside = "health checks of agents"
	for i := range late.Changes {
		late.Changes[i].All = false
	}
	runs := [][]*run.Run{{of(t, died())}, {of(t, nil)}, {of(t, consul), of(t, consul)}, {of(t, late)}}
	names := []string{"a", "b", "c", "d"}
	if !(Half{}).Acted(runs[0][0]) || (Half{}).Acted(runs[1][0]) {
		t.Error("instances registered in the first run and not in the second")
	}
	want := "A dead instance is known to all 50 consumers after a 10.0 s (longest 10.0 s of 20), c 10.0 s to 10.0 s (medians of 2 trials). Not known by the end of the load: b, d. No loser is named: c has another way, health checks of agents, which was not measured."
	if said := (Half{}).Say(names, runs); said != want {
		t.Errorf("the sentence is\n%q, want\n%q", said, want)
	}
	native := died()
	native.Plan.Registry, native.Beside = discovery.Services, "sessions"
	both := append(slices.Clone(runs), []*run.Run{of(t, native)})
	if said := (Half{}).Say(append(slices.Clone(names), "e"), both); strings.Contains(said, "No loser") {
		t.Errorf("both ways of a database were measured: %q", said)
	}
	both[4][0].Info.Record.Database = "other"
	if said := (Half{}).Say(append(slices.Clone(names), "e"), both); !strings.Contains(said, "No loser is named: c has another way, health checks of agents, which was not measured; e has another way, sessions, which was not measured.") {
		t.Errorf("two databases have ways that were not measured: %q", said)
	}
	card := (Half{}).Card(names, runs)
	if card == nil || len(card.Notes) != 3 || !strings.Contains(card.Notes[1], "another way: health checks of agents; the first of 2 trials") {
		t.Fatalf("the card is %+v", card)
	}
	for _, want := range [][]string{
		{"death known to all, p50", "10.010 s", "-", "10.010 s", "-"},
		{"session rule, p50", "9.990 s", "-", "9.990 s", "-"},
		{"to the last consumer, p50", "20.000 ms", "-", "20.000 ms", "-"},
		{"  deaths", "20 of 20", "-", "20 of 20", "0 of 20"},
		{"declared dead alive / never heard", "0 / 0", "-", "0 / 0", "0 / 0"},
	} {
		if !slices.ContainsFunc(card.Rows, func(row []string) bool { return slices.Equal(row, want) }) {
			t.Errorf("the card lacks %q: %q", want, card.Rows)
		}
	}
	led := [][]*run.Run{{of(t, elected())}, {of(t, nil)}}
	if said, want := (Half{}).Say(names[:2], led), "After the death of a leader the next one is known to all 50 consumers after a 10.0 s (longest 10.0 s of 1). Not known by the end of the load: b."; said != want {
		t.Errorf("the sentence is\n%q, want\n%q", said, want)
	}
	if card = (Half{}).Card(names[:2], led); len(card.Notes) != 1 || strings.Contains(card.Notes[0], "another way") {
		t.Errorf("the notes of elections are %q", card.Notes)
	}
	for _, want := range [][]string{
		{"next leader known to all, p50", "10.005 s", "-"}, {"leader's session rule, p50", "9.990 s", "-"}, {"until the next leader, p50", "5.000 ms", "-"},
		{"to the last consumer, p50", "10.000 ms", "-"}, {"  elections", "1 of 2", "-"},
	} {
		if !slices.ContainsFunc(card.Rows, func(row []string) bool { return slices.Equal(row, want) }) {
			t.Errorf("the card of elections lacks %q: %q", want, card.Rows)
		}
	}
	if (Half{}).Card(names[1:2], runs[1:2]) != nil {
		t.Error("a card of a database without instances")
	}
	if said := (Half{}).Say(names[3:], runs[3:]); said != "No death of an instance was known to all consumers by the end of the load." {
		t.Errorf("the sentence of a run without known deaths is %q", said)
	}
}

// A p99 needs 300 times.
func TestPercentiles(t *testing.T) {
	o := died()
	for len(o.Of(discovery.Death)) < 300 {
		o.Changes = append(o.Changes, o.Changes[:20]...)
	}
	if got := percentiles(times(o, discovery.Death, whole), seconds); got != "p50 10.010 s, p95 10.019 s, p99 10.020 s, longest 10.020 s" {
		t.Errorf("300 deaths were known after %s", got)
	}
}

// A line rises to the share of deaths that all consumers knew.
func TestFigures(t *testing.T) {
	half := died()
	for i := range 10 {
		half.Changes[i].All = false
	}
	list := (Half{}).Figures([]abilities.Column{{Name: "a", Key: 1, Runs: []*run.Run{of(t, half)}}, {Name: "b", Key: 2, Runs: []*run.Run{of(t, nil)}}})
	if len(list) != 1 || len(list[0].Series) != 1 {
		t.Fatalf("figures %+v, want one with a line", list)
	}
	if line := list[0].Series[0]; len(line.X) != 11 || line.X[10] != 10.020 || line.Y[0] != 0 || line.Y[10] != 50 {
		t.Errorf("the line is %+v", line)
	}
	half.Changes = append(half.Changes, discovery.Change{Kind: discovery.Election, All: true, Whole: 12 * time.Second}, discovery.Change{Kind: discovery.Election})
	list = (Half{}).Figures([]abilities.Column{{Name: "a", Key: 1, Runs: []*run.Run{of(t, half)}}})
	if len(list) != 2 || list[1].Name != "ELECTIONS-KNOWN" || len(list[1].Series) != 1 {
		t.Fatalf("figures %+v, want one of deaths and one of elections", list)
	}
	if line := list[1].Series[0]; len(line.X) != 2 || line.X[1] != 12 || line.Y[1] != 50 {
		t.Errorf("the line of elections is %+v", line)
	}
	if (Half{}).Figures([]abilities.Column{{Name: "b", Runs: []*run.Run{of(t, nil)}}}) != nil {
		t.Error("a figure without instances")
	}
}
