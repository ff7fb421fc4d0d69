package deaths

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coreos/dbtester/analyze/abilities"
	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/ability/deaths"
	"github.com/coreos/dbtester/pkg/results"
)

// of is a run with an outcome.
func of(t *testing.T, o *deaths.Outcome) *run.Run {
	t.Helper()
	record := &results.DatabaseRun{}
	if o != nil {
		if err := deaths.Record().Set(&record.Records, *o); err != nil {
			t.Fatal(err)
		}
	}
	r := &run.Run{}
	r.Info.Record = record
	return r
}

// died is an outcome with 2000 leases that ended at a rate.
func died() *deaths.Outcome {
	ms := int64(time.Millisecond)
	return &deaths.Outcome{
		Plan: deaths.Plan{Held: 2000, TTL: 7500 * time.Millisecond, Release: deaths.AllAtOnce}, Facts: deaths.Facts{What: "lease", Rule: "after its TTL", Renewal: "a stream", Watch: "a watch"},
		Tally: deaths.Tally{TTL: 8 * time.Second, Granted: 2000, Abandoned: 2000, KeepsLost: 2}, GrantsPerSecond: 1234,
		Keeps: &results.Spread{N: 12_000, P50: 400_000, P99: 3 * ms, Max: 9 * ms},
		Ends: deaths.Ends{
			Expired: 2000, AllGone: 9900 * time.Millisecond, RenewedNS: 2700 * ms, PerSecond: 1000.4,
			Late: &results.Spread{N: 2000, P50: 1200 * ms, P99: 1990 * ms, Max: 2100 * ms}, LateLeast: &results.Spread{N: 2000, P50: 1190 * ms, P99: 1980 * ms, Max: 1990 * ms},
			Survivors: []deaths.Survivors{{After: 100 * time.Millisecond, Left: 1999}, {After: time.Second, Left: 1000}, {After: 2100 * time.Millisecond, Left: 0}},
		},
		Before: &deaths.Latency{Seconds: 10, Requests: 2000, P99: 5 * time.Millisecond}, During: &deaths.Latency{Seconds: 3, Requests: 600, P99: 8 * time.Millisecond},
	}
}

func TestRows(t *testing.T) {
	few := died()
	few.Abandoned, few.Expired, few.NotExpired, few.Early, few.Granted, few.NotGranted, few.Why = 40, 39, 1, 1, 40, 1960, "no room"
	few.PerSecond, few.Resolution, few.Delayed, few.LongestStop, few.Before = 0, 5*time.Millisecond, 3, 80*time.Millisecond, nil
	few.Late = &results.Spread{N: 39, P50: int64(4 * time.Millisecond), Max: int64(90 * time.Millisecond)}
	few.LateLeast = &results.Spread{N: 39, P50: 0, Max: int64(2 * time.Millisecond)}
	never := died()
	never.Abandoned, never.Expired, never.Late, never.LateLeast, never.Keeps, never.Before = 0, 0, nil, nil, nil, nil
	for _, c := range []struct {
		name string
		of   *deaths.Outcome
		want []string // "" for a cell that says why there is nothing
	}{
		{"all at once", died(), []string{
			"2,000, TTL 8s (asked 7.5s); a lease ends after its TTL; 1234 granted/s",
			"12,000, p50 0.400 ms, p99 3.000 ms, longest 9.000 ms, 2 lost, 0 sent late; by a stream",
			"p50 1.200 s, p99 1.990 s, longest 1.99..2.10 s; seen by a watch",
			"2,000 of 2,000, the last 9.9 s after the first death, 1000/s; 0 early",
			"p99 8.000 ms in 3 s, before 5.000 ms in 10 s",
		}},
		{"few, some of them early", few, []string{
			"40, TTL 8s (asked 7.5s); a lease ends after its TTL; 1234 granted/s; 1,960 not granted: no room",
			"12,000, p50 0.400 ms, p99 3.000 ms, longest 9.000 ms, 2 lost, 0 sent late; by a stream",
			"p50 <= 0.005 s, longest 0.00..0.09 s; seen by a watch; 3 were read after a stop of this client of at most 80ms",
			"39 of 40, the last 9.9 s after the first death; 1 were left at the end of the load; 1 early",
			"",
		}},
		{"never", never, []string{"2,000, TTL 8s (asked 7.5s); a lease ends after its TTL; 1234 granted/s", "", "", "", ""}},
		{"none", nil, []string{"", "", "", "", ""}},
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

// The sentence and the card state when all keys were gone, and unknown values are dashes.
func TestCard(t *testing.T) {
	left := died()
	left.Expired, left.NotExpired, left.Resolution = 1500, 500, 20*time.Millisecond
	runs := [][]*run.Run{{of(t, died())}, {of(t, nil)}, {of(t, left), of(t, left)}}
	names := []string{"a", "b", "c"}
	if !(Half{}).Acted(runs[0][0]) || (Half{}).Acted(runs[1][0]) {
		t.Error("holders died in the first run and not in the second")
	}
	said := (Half{}).Say(names, runs)
	if want := "2,000 clients die at once (TTL 7.5s, granted by a 8s, c 8s): all their keys are gone after a 9.9 s, c more than the load had time for (500 of 2,000 left)"; !strings.HasPrefix(said, want) {
		t.Errorf("the sentence is %q, want %q", said, want)
	}
	equal := died()
	equal.TTL = equal.Plan.TTL
	said = (Half{}).Say(names[:2], [][]*run.Run{{of(t, equal)}, {of(t, equal)}})
	if want := "2,000 clients die at once (TTL 7.5s, which all grant): all their keys"; !strings.HasPrefix(said, want) {
		t.Errorf("the sentence is %q, want %q", said, want)
	}
	card := (Half{}).Card(names, runs)
	if card == nil || len(card.Notes) != 2 || !strings.Contains(card.Notes[1], "at most 20ms apart; the first of 2 trials") {
		t.Fatalf("the card is %+v", card)
	}
	for _, want := range [][]string{
		{"dead clients", "a", "b", "c"},
		{"all keys gone after", "9.9 s", "-", "more than the load had time for (500 of 2,000 left)"},
		{"TTL granted", "8s", "-", "8s"},
		{"later than the TTL, p50", "1.200 s", "-", "1.200 s"},
		{"  longest", "1.99..2.10 s", "-", "1.99..2.10 s"},
		{"ends/s", "1000", "-", "1000"},
		{"ended early", "0", "-", "0"},
		{"p99 of requests meanwhile (before)", "8.000 ms (5.000 ms)", "-", "8.000 ms (5.000 ms)"},
	} {
		if !slices.ContainsFunc(append(card.Rows, card.Head), func(row []string) bool { return slices.Equal(row, want) }) {
			t.Errorf("the card lacks %q: %q", want, card.Rows)
		}
	}
	none := died()
	none.Expired, none.NotExpired, none.RenewedNS, none.Late, none.LateLeast = 0, 2000, 0, nil, nil
	card = (Half{}).Card(names[:1], [][]*run.Run{{of(t, none)}})
	if card == nil || len(card.Notes) != 1 || card.Notes[0] != "a: a lease ends after its TTL; renewed by a stream; seen by a watch" {
		t.Errorf("the card of a run in which no session ended is %+v; it must not state when the last renewals were", card)
	}
	if (Half{}).Card(names[1:2], runs[1:2]) != nil {
		t.Error("a card of a database without sessions")
	}
}

// A line begins with all sessions and ends with the remaining ones.
func TestFigures(t *testing.T) {
	early := died()
	early.Survivors = []deaths.Survivors{{After: -4 * time.Second, Left: 1999}, {After: 0, Left: 20}}
	list := (Half{}).Figures([]abilities.Column{
		{Name: "a", Key: 1, Runs: []*run.Run{of(t, died())}},
		{Name: "b", Key: 2, Runs: []*run.Run{of(t, nil)}},
		{Name: "c", Key: 3, Runs: []*run.Run{of(t, early), of(t, died())}},
	})
	if len(list) != 1 || len(list[0].Series) != 3 {
		t.Fatalf("figures %+v, want one with a line of a and two of c", list)
	}
	a, c := list[0].Series[0], list[0].Series[1]
	if !slices.Equal(a.X, []float64{0, .1, 1, 2.1}) || !slices.Equal(a.Y, []float64{100, 99.95, 50, 0}) || a.Key != 1 || a.Thin {
		t.Errorf("the line of a is %+v", a)
	}
	if !slices.Equal(c.X, []float64{-4, -4, 0}) || !slices.Equal(c.Y, []float64{100, 99.95, 1}) || !c.Thin || c.Statistic != "trial 1" {
		t.Errorf("the first line of c is %+v", c)
	}
	if (Half{}).Figures([]abilities.Column{{Name: "b", Runs: []*run.Run{of(t, nil)}}}) != nil {
		t.Error("a figure without sessions")
	}
}
