package control

import (
	"fmt"
	"strings"
	"testing"

	"github.com/coreos/dbtester/pkg/sleep/slowtest"
)

// TestPreload: the database counts the data before a load. This includes a write load, whose keys
// come after it, a cluster that already has some data, and requests with one key and with many.
func TestPreload(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	r := newRig(t)
	file := func(preload int, operation string, start, stop bool) string {
		return fmt.Sprintf("load: {preload: {keys: %d}, operation: %s, requests: 200, clients: 4, key_size: 16, value_size: 32}\n", preload, operation) +
			fmt.Sprintf("databases: {fake: {steps: {start: %v, load: true, stop: %v}}}", start, stop)
	}
	for i, tt := range []struct {
		file                         string
		keys, counted, first, before int64
		perRequest                   int
	}{
		{file(12_000, "write", true, false), 12_000, 12_000, 12_000, 12_000, 37},
		{file(500, "write", false, false), 500, 12_200, 12_200, 12_200, 1},
		{file(11_000, "read", false, true), 11_000, 12_400, 0, 0, 37},
	} {
		out, err := r.run(r.experiment(tt.file), nil)
		if err != nil {
			t.Fatalf("run %d: %v", i+1, err)
		}
		run := r.read(out.Folders[0], 0).run
		p := run.Preload
		if p == nil || p.Keys != tt.keys || p.Counted != tt.counted || p.PerRequest != tt.perRequest || p.Took <= 0 {
			t.Fatalf("run %d: recorded %+v, want %d keys, %d counted, %d in a request", i+1, p, tt.keys, tt.counted, tt.perRequest)
		}
		if run.Totals.OK != 200 || run.Totals.Offered != 200 {
			t.Errorf("run %d: %+v, want 200 requests, all ok, and no more", i+1, run.Totals)
		}
		if tt.before > 0 && (run.Load.FirstKey != tt.first || run.Keys.Before != tt.before || run.Keys.Found() != 200) {
			t.Errorf("run %d: first key %d, counts %+v; want key %d, %d keys before and 200 more", i+1, run.Load.FirstKey, run.Keys, tt.first, tt.before)
		}
	}
}

// TestPreloadRefused: a failed request for the data before the load ends the run, which names the
// keys.
func TestPreloadRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	e := r.experiment("load: {preload: {keys: 20000}, requests: 10, clients: 1}\ndatabases: {fake: {options: {fail_every: 3}}}")
	_, err := r.run(e, nil)
	if err == nil || !strings.Contains(err.Error(), "write 20000 keys before the load: ") {
		t.Errorf("%v, want an error that names the keys before the load", err)
	}
}
