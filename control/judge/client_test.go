package judge

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/mark"
	"github.com/coreos/dbtester/pkg/results"
)

// TestGenerators: each is judged by itself and named.
func TestGenerators(t *testing.T) {
	t.Parallel()
	two := func(change func(*Client)) Evidence {
		e := goodRun()
		e.Clients = nil // control merges, and delays no request
		e.Steps = []Step{{Clients: 4, Rated: true, OK: 1000, Late: 20, Answered: 1000, Offered: 1000}}
		for i, name := range []string{"a:1", "b:1"} {
			g := Client{
				Name: name, Host: results.Host{CPUs: 4, BootID: name}, Clock: &results.Clock{N: 16, Error: time.Millisecond},
				Samples: samples(e.Run.LoadStart, []float64{100, 100, 100}),
				Steps:   []Step{{Clients: 2, Rated: true, OK: 500, ClientDelay: &Part{Is: time.Millisecond, Of: time.Second}}},
			}
			if i == 1 && change != nil {
				change(&g)
			}
			e.Clients = append(e.Clients, g)
		}
		return e
	}
	for _, tc := range []struct {
		name   string
		change func(*Client)
		want   results.Mark // Text is how it begins
	}{
		{name: "nothing to say"},
		{"lost", func(g *Client) { g.Lost = "its stream broke" }, results.Mark{Code: mark.GeneratorLost, Invalid: true, Text: "generator b:1: its stream broke"}},
		{"lost with requests in flight", func(g *Client) { g.Lost, g.Pending = "its stream broke", 3 }, results.Mark{Code: mark.GeneratorLost, Invalid: true, Text: "generator b:1: its stream broke; its later requests are missing, and so are the outcomes of 3 earlier ones"}},
		{"late", func(g *Client) { g.Steps[0].Late = 20 }, results.Mark{Code: mark.Late, Text: "generator b:1: step 1, 2 clients: 4 % of the requests were sent over 1 ms late"}},
		{"saturated", func(g *Client) { g.Samples = samples(goodRun().Run.LoadStart, []float64{390, 390, 390}) }, results.Mark{Code: mark.Saturated, Invalid: true, Text: "generator b:1: this client used over 85 % of its 4 processors in 3 of 3 seconds"}},
		{"its own delay", func(g *Client) { g.Steps[0].ClientDelay.Is = 900 * time.Millisecond }, results.Mark{Code: mark.Saturated, Invalid: true, Text: "generator b:1: step 1, 2 clients: 90 % of the response times is delay in the client itself"}},
		{"stopped", func(g *Client) {
			g.Stops = &results.Stops{N: 1, TotalNS: 2e9, Longest: results.Stretch{Length: 2 * time.Second}}
		}, results.Mark{Code: mark.Stopped, Text: "generator b:1: this client was stopped or starved 1 time for 2 s"}},
		{"clock", func(g *Client) { g.Clock.Error = time.Second }, results.Mark{Code: mark.Clock, Text: "generator b:1: its clock is known only to within 1 s"}},
		{"clock before a step", func(g *Client) { g.StepClocks = []StepClock{{Error: time.Second}, {Index: 1}} }, results.Mark{Code: mark.Clock, Text: "generator b:1: its clock is known only to within 1 s"}},
		{"clock that moves", func(g *Client) {
			g.StepClocks = []StepClock{{Error: 9 * time.Millisecond, Moved: 9 * time.Millisecond}, {Index: 1, Error: 2 * time.Millisecond, Moved: 4 * time.Millisecond}, {Index: 2, Moved: time.Millisecond}}
		}, results.Mark{Code: mark.Clock, Text: "generator b:1: its clock moved by at least 4 ms relative to control's clock during step 2, and was known to within 2 ms when the step began"}},
		{"clock that is set", func(g *Client) { g.ClockSet = -time.Minute }, results.Mark{Code: mark.Clock, Text: "generator b:1: its wall clock was changed by -1 min during the run"}},
		{"on a member's machine", func(g *Client) { g.Host.BootID = "server" }, results.Mark{Code: mark.SharedHost, Text: "generator b:1 and at least one member share a machine"}},
		{"on one machine", func(g *Client) { g.Host.BootID = "a:1" }, results.Mark{Code: mark.SharedHost, Text: "generators a:1 and b:1 share a machine"}},
	} {
		marks := plainMarks(two(tc.change))
		if tc.want.Code == "" {
			if len(marks) > 0 {
				t.Errorf("%s: %+v, want no mark", tc.name, marks)
			}
			continue
		}
		if len(marks) != 1 || marks[0].Code != tc.want.Code || marks[0].Invalid != tc.want.Invalid || !strings.HasPrefix(marks[0].Text, tc.want.Text) {
			t.Errorf("%s: %+v, want one like %+v", tc.name, marks, tc.want)
		}
	}
	e := two(func(g *Client) { g.Lost = "it died" })
	counted := func() bool {
		return !slices.ContainsFunc(plainMarks(e), func(m results.Mark) bool { return m.Code == mark.Counts })
	}
	if e.Run.Totals.OK -= 3; !counted() {
		t.Error("requests in flight on a lost generator: counts are marked, want that they need no outcome")
	}
	if e.Run.Totals.OK += 4; counted() {
		t.Error("more outcomes than requests, and a lost generator: counts are not marked")
	}
	e = two(func(g *Client) { g.Lost = "it died before the load" })
	e.Run.Totals, e.Steps = nil, nil
	if marks := plainMarks(e); !slices.ContainsFunc(marks, func(m results.Mark) bool { return m.Code == mark.GeneratorLost }) {
		t.Errorf("a run without a load: %+v, want the lost generator", marks)
	}
}
