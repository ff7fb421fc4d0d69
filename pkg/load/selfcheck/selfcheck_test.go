package selfcheck

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/coreos/dbtester/pkg/results"
)

// TestRun runs a whole check with loads a second long. Its measurements depend on the machine, but
// the server log bounds them from below.
func TestRun(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	t.Parallel()
	var parts []string
	r, err := Run(t.Context(), Options{
		Server: serverArgv(t), Duration: time.Second, Progress: func(what string) { parts = append(parts, what) },
		Tool: results.Tool{Version: "v1"}, Host: results.Host{Name: "here", CPUs: 2, BootID: "boot-1"},
	})
	if err != nil {
		t.Fatalf("run the check: %v", err)
	}
	if len(parts) != 5 || r.Response.N != 1000 || r.Service.N < 100 {
		t.Errorf("parts %q with %d requests at a rate and %d in a closed loop, want 5 parts, 1000 and at least 100", parts, r.Response.N, r.Service.N)
	}
	for _, row := range r.Service.Rows {
		// An engine call contains the server delay; 0.1 % is the bucket width.
		if float64(row.Measured) < 0.998*float64(row.True) {
			t.Errorf("service %s: measured %d ns, want at least the %d that the server took", row.Name, row.Measured, row.True)
		}
	}
	if got := r.Response.Rows[4]; got.Measured < int64(r.Response.Law.StallFor) {
		t.Errorf("the longest response took %d ns, want at least the stall of %v", got.Measured, r.Response.Law.StallFor)
	}
	// A second is enough for these, whatever the machine does.
	if len(r.Paces) < 2 || r.Paces[0].Due < leastPaced || r.Paces[1].Due < leastPaced || r.TimerLateness.N < 100 || r.ClientLateness.N < 100 {
		t.Errorf("rates %+v, %d waits of a timer, %d of a client, want two rates with enough requests and 100 waits each", r.Paces, r.TimerLateness.N, r.ClientLateness.N)
	}
	t.Logf("%d waits of a timer, %d of a client", r.TimerLateness.N, r.ClientLateness.N)
	var b bytes.Buffer
	if err := r.Print(&b); err != nil {
		t.Fatalf("print the report: %v", err)
	}
	for _, want := range []string{
		"Service time in a closed loop: 10 clients for 1s, n = ", "Response time at 1,000 requests per second", "p99.9 (few)",
		"its percentiles omit waiting", "the highest rate kept on this machine", "overshoot",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the table must contain %q, got:\n%s", want, b.String())
		}
	}
	p99 := r.Response.Rows[2]
	if want := (results.Compared{N: 1000, Measured: p99.Measured, True: p99.True}); r.ResponseP99 != want || r.ServiceP99.N != r.Service.N {
		t.Errorf("the manifest's part has %+v and %+v, want %+v", r.ResponseP99, r.ServiceP99, want)
	}
	path := filepath.Join(t.TempDir(), "report.json")
	mustWrite(t, path, r)
	again, err := Read(path)
	if err != nil || !cmp.Equal(r, again) {
		t.Errorf("the report must be read as it was written: error %v\n%s", err, cmp.Diff(r, again))
	}
}

func TestAccurate(t *testing.T) {
	enough := results.Spread{N: 1000}
	good := Pace{Rate: 1000, Due: 1000, Sent: 1000, Lateness: enough}
	for name, c := range map[string]struct {
		change func(*Pace)
		want   bool
	}{
		"kept":              {func(*Pace) {}, true},
		"one percent less":  {func(p *Pace) { p.Sent = 990 }, true},
		"two percent less":  {func(p *Pace) { p.Sent = 980 }, false},
		"too few to know":   {func(p *Pace) { p.Lateness.N = 999 }, false},
		"late":              {func(p *Pace) { p.Lateness.P99 = int64(time.Millisecond) }, false},
		"late at the worst": {func(p *Pace) { p.Lateness.Max = int64(time.Second) }, true},
		"queued":            {func(p *Pace) { p.Queued = 1 }, false},
		"nothing due":       {func(p *Pace) { *p = Pace{} }, false},
	} {
		p := good
		c.change(&p)
		if got := p.Accurate(); got != c.want {
			t.Errorf("%s: accurate is %v, want %v", name, got, c.want)
		}
	}
	bad := func(rate float64) Pace { return Pace{Rate: rate, Due: 1, Queued: 1} }
	for name, c := range map[string]struct {
		list   []Pace
		kept   float64
		missed []float64
	}{
		"none":        {nil, 0, nil},
		"all kept":    {[]Pace{{Rate: 500, Due: 1, Sent: 1, Lateness: enough}, good}, 1000, nil},
		"all missed":  {[]Pace{bad(500), bad(2000)}, 0, []float64{500, 2000}},
		"a gap":       {[]Pace{bad(500), good, bad(2000), bad(5000)}, 1000, []float64{500, 2000, 5000}},
		"in no order": {[]Pace{bad(5000), good, {Rate: 500, Due: 1, Sent: 1, Lateness: enough}}, 1000, []float64{5000}},
	} {
		if kept, missed := highest(c.list); kept != c.kept || !slices.Equal(missed, c.missed) {
			t.Errorf("%s: kept %v and missed %v, want %v and %v", name, kept, missed, c.kept, c.missed)
		}
	}
}

// TestPrintFew: every percentile with too few values is marked.
func TestPrintFew(t *testing.T) {
	few, some := results.Spread{N: 19, P50: 2e6, P99: 3e6, Max: 4e6}, results.Spread{N: 20, P50: 2e6, P99: 3e6, Max: 4e6}
	enough := results.Spread{N: 1000, P50: 2e6, P99: 3e6, Max: 4e6}
	r := small()
	r.TimerLateness, r.ClientLateness = few, enough
	r.Paces = []Pace{{Rate: 5000, Due: 500, Sent: 500, Seconds: 0.1, Lateness: some}}
	var b strings.Builder
	if err := r.Print(&b); err != nil {
		t.Fatalf("print the report: %v", err)
	}
	text := strings.Join(strings.Fields(b.String()), " ")
	for _, want := range []string{
		"5,000 5,000 0 2.000 ms 3.000 ms (few) 4.000 ms 20 no",
		"timer 2.000 ms (few) 3.000 ms (few) 4.000 ms 19", "client 2.000 ms 3.000 ms 4.000 ms 1,000",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the table must contain %q, got:\n%s", want, b.String())
		}
	}
}

func TestPaceFor(t *testing.T) {
	for _, c := range []struct {
		rate    float64
		d, want time.Duration
	}{{1000, time.Second, 2 * time.Second}, {5000, 100 * time.Millisecond, 400 * time.Millisecond}, {1e6, time.Second, time.Second}} {
		if got := paceFor(c.rate, c.d); got != c.want {
			t.Errorf("%v/s with a duration of %v is tried for %v, want %v", c.rate, c.d, got, c.want)
		}
	}
}

func TestOptionsAreChecked(t *testing.T) {
	for _, o := range []Options{{Duration: time.Second}, {Server: []string{"x"}, Duration: time.Millisecond}} {
		if _, err := Run(t.Context(), o); err == nil {
			t.Errorf("%s is accepted, want an error", fmt.Sprint(o))
		}
	}
}
