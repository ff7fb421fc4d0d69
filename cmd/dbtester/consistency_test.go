package main

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/coreos/dbtester/pkg/ability/consistency"
	judge "github.com/coreos/dbtester/pkg/consistency"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/workload"
)

// TestPrintVerdict: the verdict on a run and its violations are printed in words.
func TestPrintVerdict(t *testing.T) {
	dir := t.TempDir()
	event := func(request, at int64) *judge.Event { return &judge.Event{Request: request, Client: 3, At: at} }
	witnesses := []judge.Witness{{
		Class: judge.StaleValue, Key: 7, Reads: 1,
		Older: judge.Value{Number: 1, Write: event(1, 1000), FirstEnd: event(1, 2000), LastSent: event(9, 9000)},
		Newer: &judge.Value{Number: 2, Write: event(2, 3000), FirstEnd: event(2, 4000), LastSent: event(2, 3000)},
	}}
	if err := consistency.WriteWitnesses(filepath.Join(dir, consistency.FileWitness), append(witnesses, witnesses...)); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		verdict consistency.Verdict
		want    string
	}{
		"none":    {consistency.Verdict{}, "a: the records have no verdict on answers\n"},
		"unasked": {consistency.Verdict{Form: consistency.Unasked}, "a: answers were not judged: the file does not ask for it\n"},
		"violations": {consistency.Verdict{
			Form: consistency.Judged, Read: workload.ReadLinearizable, Promise: "a quorum agrees", Since: 1000, TookNS: 5e8,
			Counts: judge.Counts{Operations: 2000, Judged: 1999, Violations: judge.Violations{Stale: 2}}, Held: &judge.HeldKeys{Keys: 10, Read: 10, Older: 1},
		}, `a:
  LINEARIZABLE: 2 violations among 1,999 judged of 2,000: stale read 2
  LOST-WRITES: 1: 1 an older value, 0 not there, of 10 keys
  JUDGE-SECONDS: 0.500 s, 250.00 µs for a request
  linearizable reads: a quorum agrees
  key 7: stale read. Value 1 was there when request 1 of client 3 ended at 1µs, and was written or read by request 9 of client 3, sent at 8µs. Value 2 was there when request 2 of client 3 ended at 3µs, and was written or read by request 2 of client 3, sent at 2µs. Each must have come before the other.
  1 more in ` + filepath.Base(dir) + "/witness.jsonl\n"},
		"staleness": {consistency.Verdict{
			Form: consistency.Measured, Why: "stale reads promise less", Read: workload.ReadStale, Promise: "a copy",
			Counts: judge.Counts{Operations: 10, Judged: 10, StaleReads: 3, StepsBack: 1}, Staleness: &results.Spread{N: 3, Max: 2e6}, NotReadBack: "it was interrupted",
		}, `a:
  LINEARIZABLE: not judged: stale reads promise less
  STALE-READS: 3 of 10 requests, longest 2.000 ms, at least 1 step back
  LOST-WRITES: the keys were not read back: it was interrupted
  stale reads: a copy
`},
	} {
		t.Run(name, func(t *testing.T) {
			d, at := &results.DatabaseRun{Tag: "a"}, dir
			if name != "violations" {
				at = t.TempDir()
			}
			if err := consistency.Record().Set(&d.Records, c.verdict); err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			if err := printVerdict(&out, at, d, 1); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, out.String()); diff != "" {
				t.Errorf("printed (-want +got):\n%s", diff)
			}
		})
	}
}
