package config

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/coreos/dbtester/pkg/ability/capacity"
	"github.com/coreos/dbtester/pkg/workload"
)

func TestCapacity(t *testing.T) {
	const rest = "hosts: [a]\ndatabases: {etcd: }\n"
	for _, tt := range []struct{ text, want string }{
		{"capacity: {latency: 0s}\n", "test.yaml:1:21: latency must be positive, got 0s"},
		{"capacity: {at: p100}\n", `test.yaml:1:16: at: want a quantile from p50 to p99.99, such as p99, got "p100"`},
		{"capacity: {at: p99.995}\n", `test.yaml:1:16: at: want a quantile from p50 to p99.99, such as p99, got "p99.995"`},
		{"capacity: {at: p99.9}\nload: {clients: 2}\n", "test.yaml:2:17: clients: a window of 8s has a request above p99.9 from 125 requests/s on, and 2 clients carry at most 100 within 20ms"},
		{"capacity: {at: p99.99, window: 100ms}\n", "clients: a window of 100ms has a request above p99.99 from 100000 requests/s on, and 500 clients carry at most 25000 within 20ms"},
		{"capacity: {at: 99}\n", "want a quantile"},
		{"capacity: {errors: 1}\n", "did you mean 1%?"},
		{"capacity: {window: 30ms}\n", "window must be at least 100ms"},
		{"capacity: {latency: 1s, window: 1s}\n", "window must be at least twice the latency (1s), got 1s"},
		{"capacity: {share: 40%}\n", "share must be from 50% to 95%, got 40%"},
		{"capacity: {tolerance: 60%}\n", "tolerance must be from 0.1% to 50%"},
		{"capacity: {windows: 11}\n", "windows must be from 12 to 1000, got 11"},
		{"capacity: {hold: 1s}\n", "hold must be 0s or at least the window (8s), got 1s"},
		{"capacity: {}\nload: {requests: 10}\n", "test.yaml:2:18: requests: a search for a capacity decides"},
		{"capacity: {}\nload: {clients: [1, 2]}\n", "a search for a capacity decides"},
		{"capacity: {}\nload: {duration: 10s}\n", "duration: a search for a capacity has windows"},
		{"capacity: {}\nload: {backlog: keep}\n", "backlog: a search for a capacity sheds"},
		{"capacity: {}\nload: {bind: client}\n", "bind: a search for a capacity gives a request to any client"},
		{"capacity: {}\nload: {arrival: sine}\n", "arrival: a search for a capacity needs constant rates"},
		{"capacity: {latency: 1s, window: 10s}\nload: {timeout: 1s}\n", "timeout must be more than the latency of capacity (1s), got 1s"},
		{"capacity: {speed: 1}\n", "speed"},
	} {
		if _, _, err := Parse("test.yaml", []byte(tt.text+rest), testCatalog()); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: %v, want %q", tt.text, err, tt.want)
		}
	}
	if e := parse(t, rest); e.Search() != nil {
		t.Errorf("a file without a search has %+v", e.Abilities)
	}
	e := parse(t, "capacity: {latency: 5ms, hold: 0s}\nload: {rate: 1000}\n"+rest)
	want := capacity.Plan{Latency: 5 * time.Millisecond, At: 99, Errors: .1, Window: 8 * time.Second, Settle: 2 * time.Second, Share: 80, Tolerance: 6, Windows: 40}
	if diff := cmp.Diff(&want, capacity.Of(e.Abilities)); diff != "" {
		t.Errorf("the search (-want +got):\n%s", diff)
	}
	l := e.Databases[0].Load
	if l.Operation != workload.OpUpdate || l.Clients != 500 || l.Rate != 1000 || l.Requests != 0 || l.Duration != 10*time.Second ||
		l.WarmUp != 2*time.Second || l.Backlog != workload.BacklogShed || e.Databases[0].Abilities != nil {
		t.Errorf("the load of a search is %+v, its upkeep %+v", l, e.Databases[0].Abilities)
	}
	if err := e.SetRequests(5); err == nil {
		t.Error("a search takes a number of requests")
	}
	shown, err := Show(e)
	if err != nil {
		t.Fatalf("show: %v", err)
	}
	if again := parse(t, string(shown)); !cmp.Equal(again.Abilities, e.Abilities) || !cmp.Equal(again.Databases[0].Load, l) {
		t.Errorf("shown and read again it is another one:\n%s", shown)
	}
}

// TestCapacityFlags: values from a command line precede those in the file.
func TestCapacityFlags(t *testing.T) {
	read := func(text string, given map[string]string) (*capacity.Plan, error) {
		e, _, err := Variant{Flags: map[string]map[string]string{"capacity": given}}.Parse("test.yaml", []byte(text+"hosts: [a]\ndatabases: {etcd: }\n"), testCatalog())
		if err != nil {
			return nil, err
		}
		return capacity.Of(e.Abilities), nil
	}
	for _, text := range []string{"", "capacity: {latency: 9ms, windows: 20}\n"} {
		c, err := read(text, map[string]string{"latency": "7ms", "at": "p90"})
		if err != nil || c.Latency != 7*time.Millisecond || c.At != 90 || c.Windows == 20 != (text != "") {
			t.Errorf("%q: %+v, %v", text, c, err)
		}
	}
	if c, err := read("", map[string]string{"windows": "13", "share": "90%", "tolerance": "5%"}); err != nil || c.Windows != 13 || c.Share != 90 || c.Tolerance != 5 {
		t.Errorf("numbers: %+v, %v", c, err)
	}
	if c, err := read("", map[string]string{}); err != nil || c == nil || c.Latency != 20*time.Millisecond {
		t.Errorf("without values: %+v, %v", c, err)
	}
	// Wrong values are named by their flag, and values in the file by their place.
	const block = "capacity: {hold: 10s}\n"
	for _, tt := range []struct {
		text  string
		given map[string]string
		want  string
	}{
		{"", map[string]string{"window": "1ms"}, "--window must be at least 100ms, got 1ms"},
		{block, map[string]string{"window": "1ms"}, "--window must be at least 100ms, got 1ms"},
		{"", map[string]string{"latency": "20"}, "--latency: 20 has no unit (did you mean 20ms?)"},
		{block, map[string]string{"latency": "20"}, "--latency: 20 has no unit (did you mean 20ms?)"},
		{"", map[string]string{"settle": "2"}, "--settle: 2 has no unit (did you mean 2s?)"},
		{"", map[string]string{"latency": "soon"}, "--latency: want a duration such as 10s"},
		{"", map[string]string{"at": "99"}, "--at: want a quantile from p50"},
		{"", map[string]string{"share": "99%"}, "--share must be from 50% to 95%, got 99%"},
		{"", map[string]string{"windows": "many"}, "--windows: "},
		{"", map[string]string{"window": "90s"}, "--hold must be 0s or at least the window (1m30s), got 1m0s"},
		{block, map[string]string{"window": "90s"}, "test.yaml:1:18: hold must be 0s or at least the window (1m30s), got 10s"},
		{"sweep: {rate: [1, 3]}\n", map[string]string{}, "test.yaml:1:8: sweep: capacity searches for one rate; give one of the two"},
		{"capacity: {latency: 20}\n", map[string]string{"at": "p90"}, "test.yaml:1:21: latency: 20 has no unit (did you mean 20ms?)"},
	} {
		if _, err := read(tt.text, tt.given); err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%q with %v: %v, want %s", tt.text, tt.given, err, tt.want)
		}
	}
}
