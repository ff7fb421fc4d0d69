package control

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/database/etcd"
	"github.com/coreos/dbtester/pkg/mark"
	"github.com/coreos/dbtester/pkg/sleep/slowtest"
	"github.com/coreos/dbtester/pkg/workload"
)

// mustCount fails the test if the key count of a run is not between its ok requests and those that
// may have been applied.
func mustCount(t *testing.T, out *Outcome, rec record) {
	t.Helper()
	for _, reason := range out.Invalid {
		if strings.Contains(reason, string(mark.Keys)) {
			t.Errorf("invalid: %s", reason)
		}
	}
	k, totals := rec.run.Keys, rec.run.Totals
	if k == nil || totals == nil {
		t.Fatalf("keys %v and totals %v, want both recorded", k, totals)
	}
	if found := k.Found(); found < totals.OK || found > totals.OK+totals.Unknown {
		t.Errorf("%d keys found, want %d to %d: ok to ok + unknown", found, totals.OK, totals.OK+totals.Unknown)
	}
}

// TestSameFileTwice: one write in ten fails, so the first run's key numbers have gaps. The second
// run creates keys above all these.
func TestSameFileTwice(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	r := newRig(t)
	rest := func(start, stop bool) string {
		return small + fmt.Sprintf("databases: {fake: {options: {fail_every: 10}, steps: {start: %v, load: true, stop: %v}}}", start, stop)
	}
	for i, file := range []string{rest(true, false), rest(false, false), rest(false, true)} {
		out, err := r.run(r.experiment(file), nil)
		if err != nil {
			t.Fatalf("run %d: %v", i+1, err)
		}
		rec := r.read(out.Folders[0], 0)
		mustCount(t, out, rec)
		if got, want := rec.run.Keys.Found(), int64(270); got != want {
			t.Errorf("run %d: %d keys found, want %d of 300 writes", i+1, got, want)
		}
		// Numbers may be missing where a run ends.
		if first, low := rec.run.Load.FirstKey, int64(i)*290; first < low || first > int64(i)*300 {
			t.Errorf("run %d: first key %d, want %d to %d", i+1, first, low, i*300)
		}
	}
}

// TestTimeOutsTwice runs a file twice below one prefix on an etcd cluster, with time-outs exceeded
// by about one write in ten.
func TestTimeOutsTwice(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	r := startEtcd(t)
	timeout := slowest(t, r, 0.9)
	for i := range 2 {
		out, err := r.run(r.parse(r.sharedFile(fmt.Sprintf("requests: 2000, clients: 20, key_size: 32, value_size: 64, timeout: %v", timeout), "prefix: twice")), nil)
		if err != nil {
			t.Fatalf("run %d: %v", i+1, err)
		}
		rec := r.read(out.Folders[0], 0)
		mustCount(t, out, rec)
		totals := rec.run.Totals
		t.Logf("run %d: first key %d, %d ok, %d unknown, %d failed, %d found", i+1, rec.run.Load.FirstKey, totals.OK, totals.Unknown, totals.Failed, rec.run.Keys.Found())
		if first := rec.run.Load.FirstKey; (first > 0) != (i > 0) {
			t.Errorf("run %d: first key %d, want it above the earlier run's", i+1, first)
		}
	}
	// Ranges reach keys from earlier runs, whose values have other sizes.
	out := r.mustRun(r.parse(r.sharedFile("operation: range, keys: 50, range_limit: 20, requests: 200, clients: 4, key_size: 32, value_size: 128", "prefix: twice")), nil)
	if rec := r.read(out.Folders[0], 0); rec.run.Totals.OK != 200 || rec.run.Load.FirstKey < 2000 {
		t.Errorf("ranges on a cluster that ran before: %d of 200 ok, first key %d, want all ok and a first key above the earlier runs'", rec.run.Totals.OK, rec.run.Load.FirstKey)
	}
}

// slowest returns a quantile of the times for concurrent puts, on keys outside all loads.
func slowest(t *testing.T, r *running, q float64) time.Duration {
	t.Helper()
	const clients, each = 20, 50
	took := make([]time.Duration, clients*each)
	var wg sync.WaitGroup
	for n := range clients {
		client, err := etcd.New().Dial(t.Context(), r.Target())
		if err != nil {
			t.Fatalf("dial the member: %v", err)
		}
		wg.Go(func() {
			defer client.Close()
			for i := range each {
				start := time.Now()
				if err := client.Put(t.Context(), fmt.Appendf(nil, "before-%d-%d", n, i), nil); err != nil {
					t.Errorf("put a key: %v", err)
				}
				took[n*each+i] = time.Since(start)
			}
		})
	}
	wg.Wait()
	slices.Sort(took)
	return took[int(q*float64(len(took)))].Round(time.Microsecond)
}

// TestFirstKey: the first key is above all others, and all keys have their size.
func TestFirstKey(t *testing.T) {
	writes := workload.Load{Content: workload.Content{Operation: workload.OpWrite}, Extent: workload.Extent{Requests: 100}, Sizing: workload.Sizing{KeySize: 4}}
	reads := workload.Load{Content: workload.Content{Operation: workload.OpRange}, Extent: workload.Extent{Requests: 100}, Keyspace: workload.Keyspace{Keys: 50}, Sizing: workload.Sizing{KeySize: 4}}
	mixed := workload.Load{Content: workload.Content{Mix: []workload.Share{{Operation: workload.OpRead, Weight: 0.9}, {Operation: workload.OpWrite, Weight: 0.1}}}, Extent: workload.Extent{Requests: 2000}, Keyspace: workload.Keyspace{Keys: 500}, Sizing: workload.Sizing{KeySize: 4}}
	timed := workload.Load{Content: workload.Content{Operation: workload.OpWrite}, Extent: workload.Extent{Duration: time.Second}, Sizing: workload.Sizing{KeySize: 4}}
	wide := workload.Load{Content: workload.Content{Operation: workload.OpWrite}, Extent: workload.Extent{Requests: 100}, Sizing: workload.Sizing{KeySize: 256}}
	for _, tc := range []struct {
		name    string
		load    workload.Load
		highest int64
		want    int64 // -1 for an error
	}{
		{"no key", writes, -1, 0},
		{"sparse keys", writes, 4999, 5000},
		{"the last that fit", writes, 9899, 9900},
		{"one too many", writes, 9900, -1},
		{"keys of the load itself", mixed, 499, 500},
		{"no key, but some to be preloaded", mixed, -1, 500},
		{"a mix creates a tenth", mixed, 9799, 9800},
		{"a mix without room", mixed, 9800, -1},
		{"by duration", timed, 9998, 9999},
		{"by duration, no room", timed, 9999, -1},
		{"nothing is created", reads, 9999, 10000},
		{"the last number", wide, math.MaxInt64, -1},
		{"nearly the last number", wide, math.MaxInt64 - 50, -1},
		{"large numbers", wide, math.MaxInt64 - 500, math.MaxInt64 - 499},
	} {
		got, err := firstKey(&tc.load, tc.highest)
		if tc.want < 0 {
			if err == nil {
				t.Errorf("%s: highest key %d: want an error, got first key %d", tc.name, tc.highest, got)
			}
			continue
		}
		if err != nil || got != tc.want {
			t.Errorf("%s: highest key %d: want first key %d, got %d, error %v", tc.name, tc.highest, tc.want, got, err)
		}
	}
}
