package workload

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestKeyNumbers counts key numbers.
func TestKeyNumbers(t *testing.T) {
	mix := func(shares ...Share) []Share { return shares }
	for _, test := range []struct {
		name     string
		load     Load
		requests int64
		want     int64
	}{
		{"writes", Load{Content: Content{Operation: "write"}}, 1001, 1001},
		{"reads", Load{Content: Content{Operation: "read"}, Keyspace: Keyspace{Keys: 10}}, 1001, 10},
		{"one key", Load{Content: Content{Operation: "read"}, Keyspace: Keyspace{Keys: 10, SameKey: true}}, 1001, 1},
		{"a mix of writes only", Load{Content: Content{Mix: mix(Share{"write", 2})}}, 1001, 1001},
		{"a mix without writes", Load{Content: Content{Mix: mix(Share{"read", 1}, Share{"update", 1})}, Keyspace: Keyspace{Keys: 10}}, 1001, 10},
		{"whole blocks", Load{Content: Content{Mix: mix(Share{"read", 3}, Share{"write", 1})}, Keyspace: Keyspace{Keys: 10}}, 1001, 510},
		{"sessions", Load{Content: Content{Operation: "grant"}}, 1001, 0},
		{"sessions and writes", Load{Content: Content{Mix: mix(Share{"grant", 3}, Share{"write", 1})}}, 1001, 500},
		{"no end", Load{Content: Content{Mix: mix(Share{"read", 3}, Share{"write", 1})}, Keyspace: Keyspace{Keys: 10}}, 0, 10},
		{"more than numbers can count", Load{Content: Content{Mix: mix(Share{"read", 1}, Share{"write", 999})}, Keyspace: Keyspace{Keys: 1<<63 - 1}}, 1<<63 - 1, 9218760350836347517},
	} {
		if got := test.load.KeyNumbers(test.requests); got != test.want {
			t.Errorf("%s: %d, want %d", test.name, got, test.want)
		}
	}
}

// TestSessionsUsed: a load that ends more sessions than it begins uses up the difference.
func TestSessionsUsed(t *testing.T) {
	grant, keep, revoke := Share{"grant", 1}, Share{"keepalive", 8}, Share{"revoke", 1}
	for _, test := range []struct {
		name   string
		mix    []Share
		extent Extent
		rate   float64
		want   int64
		known  bool
	}{
		{"renewals", []Share{keep}, Extent{}, 0, 0, true},
		{"as many begun as ended", []Share{grant, keep, revoke}, Extent{}, 0, 0, true},
		{"only ended", []Share{revoke}, Extent{Requests: 1001}, 0, 1001, true},
		{"some ended", []Share{keep, revoke}, Extent{Requests: 1001}, 0, 222, true},
		{"few requests", []Share{keep, revoke}, Extent{Requests: 5}, 0, 5, true},
		{"of a rate", []Share{revoke}, Extent{Duration: 10 * time.Second}, 30, 300, true},
		{"of steps", []Share{revoke}, Extent{Steps: []Step{{Requests: 100}, {Rate: 10, Duration: time.Second}}}, 0, 110, true},
		{"without an end", []Share{revoke}, Extent{Duration: 10 * time.Second}, 0, 0, false},
	} {
		l := Load{Content: Content{Mix: test.mix}, Extent: test.extent, Pace: Pace{Rate: test.rate}}
		if got, known := l.SessionsUsed(); got != test.want || known != test.known {
			t.Errorf("%s: %d (known: %v), want %d (%v)", test.name, got, known, test.want, test.known)
		}
	}
}

// TestPerBlock: every operation gets its share in a thousand requests, and the shares add up.
func TestPerBlock(t *testing.T) {
	for _, test := range []struct {
		weights []float64
		want    []int64
	}{
		{[]float64{1}, []int64{1000}},
		{[]float64{1, 1, 1}, []int64{333, 334, 333}},
		{[]float64{0.95, 0.05}, []int64{950, 50}},
		{[]float64{999, 1}, []int64{999, 1}},
		{[]float64{999.5, 0.5}, []int64{1000, 0}},
		{[]float64{1e9, 1e-300}, []int64{1000, 0}},
	} {
		var mix []Share
		for _, w := range test.weights {
			mix = append(mix, Share{OpRead, w})
		}
		if diff := cmp.Diff(test.want, PerBlock(mix)); diff != "" {
			t.Errorf("%v (-want +got):\n%s", test.weights, diff)
		}
	}
}
