package selfcheck

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestRun is a whole check of a second's loads. What it measures depends on the
// machine, but the server's log bounds it from below.
func TestRun(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	var told []string
	r, err := Run(t.Context(), Options{Server: serverArgv(t), Duration: time.Second, Progress: func(what string) { told = append(told, what) }})
	if err != nil {
		t.Fatal(err)
	}
	if len(told) != 5 || r.Response.N != 1000 || r.Service.N < 100 {
		t.Errorf("told %q, %d requests at a rate and %d in a closed loop", told, r.Response.N, r.Service.N)
	}
	for _, row := range r.Service.Rows {
		// The engine's call holds the server's delay; 0.1 % is a histogram's bucket.
		if float64(row.Measured) < 0.998*float64(row.True) {
			t.Errorf("service %s: measured %d ns, but the server took %d", row.Name, row.Measured, row.True)
		}
	}
	if got := r.Response.Rows[4]; got.Measured < int64(r.Response.Law.StallFor) {
		t.Errorf("the longest response was %d ns with a stall of %v", got.Measured, r.Response.Law.StallFor)
	}
	if len(r.Paces) < 2 || r.Timer.N == 0 || r.Client.N == 0 {
		t.Errorf("%d rates, %d waits of a timer, %d of a client", len(r.Paces), r.Timer.N, r.Client.N)
	}
	var b bytes.Buffer
	if err := r.Print(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"Service time in a closed loop: 10 clients for 1s, n = ", "Response time at 1,000 requests per second", "p99.9 (few)",
		"its percentiles omit waiting", "the highest rate kept on this machine", "overshoot",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in\n%s", want, b.String())
		}
	}
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var again Report
	if err := json.Unmarshal(text, &again); err != nil || !cmp.Equal(*r, again) {
		t.Errorf("the report is not what its JSON says: %v\n%s", err, cmp.Diff(*r, again))
	}
}

func TestAccurate(t *testing.T) {
	good := Pace{Rate: 1000, Due: 1000, Sent: 1000}
	for name, c := range map[string]struct {
		change func(*Pace)
		want   bool
	}{
		"kept":              {func(*Pace) {}, true},
		"one percent less":  {func(p *Pace) { p.Sent = 990 }, true},
		"two percent less":  {func(p *Pace) { p.Sent = 980 }, false},
		"late":              {func(p *Pace) { p.Lateness.P99 = int64(time.Millisecond) }, false},
		"late at the worst": {func(p *Pace) { p.Lateness.Max = int64(time.Second) }, true},
		"queued":            {func(p *Pace) { p.Queued = 1 }, false},
		"nothing due":       {func(p *Pace) { *p = Pace{} }, false},
	} {
		p := good
		c.change(&p)
		if got := p.Accurate(); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	if got := highest([]Pace{good, {Rate: 2000, Due: 1, Queued: 1}, {Rate: 500, Due: 1, Sent: 1}}); got != 1000 {
		t.Errorf("the highest rate is %v, want 1000", got)
	}
	if got := highest(nil); got != 0 {
		t.Errorf("the highest of no rates is %v", got)
	}
}

func TestOptionsAreChecked(t *testing.T) {
	for _, o := range []Options{{Duration: time.Second}, {Server: []string{"x"}, Duration: time.Millisecond}} {
		if _, err := Run(t.Context(), o); err == nil {
			t.Errorf("%s was taken", fmt.Sprint(o))
		}
	}
}
