package control

import (
	"fmt"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/mark"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/sleep/slowtest"
	"github.com/coreos/dbtester/pkg/workload"
)

// Requests from this process or from generators begin, renew and end sessions. Each granted session
// is accounted for, and no session remains.
func TestLoadSessions(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	for _, generators := range []int{0, 2} {
		t.Run(fmt.Sprint(generators), func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			key := ""
			if generators > 0 {
				key = r.generate(generators, true)
			}
			out := r.mustBeDone(r.hurried(key + `
load: {clients: 4, connections: 4, timeout: 60s, key_size: 32, value_size: 64, sessions: 101}
databases:
  fake__mixed: {load: {mix: {grant: 3, keepalive: 5, revoke: 1, write: 1}, requests: 1000}}
  fake__renewed: {load: {operation: keepalive, rate: 200, duration: 2s}}
  fake__ended: {load: {operation: revoke, requests: 90}}
  fake__begun: {load: {operation: grant, steps: [{clients: 2, connections: 2, requests: 50}, {clients: 4, connections: 4, requests: 50}]}}
`))
			for n, want := range []results.LoadSessions{
				{Granted: 101, Begun: 300, Revoked: 100, Ended: 301}, {Granted: 101, Ended: 101}, {Granted: 101, Revoked: 90, Ended: 11}, {Begun: 100, Ended: 100},
			} {
				rec := r.read(out.Folders[0], n)
				got := rec.run.Sessions
				if got == nil {
					t.Errorf("%s: nothing is recorded of its sessions", rec.run.Tag)
					continue
				}
				if want.Granted > 0 && got.Took <= 0 {
					t.Errorf("%s: sessions were granted in %v", rec.run.Tag, got.Took)
				}
				want.TTL, want.Took = 10*time.Minute, got.Took
				if *got != want {
					t.Errorf("%s: %+v, want %+v", rec.run.Tag, *got, want)
				}
				if hasMark(rec.run, mark.SessionsShort) || hasMark(rec.run, mark.Keys) {
					t.Errorf("%s: marks %q", rec.run.Tag, rec.marks())
				}
				rec.count(t, rec.run.Load.Operations())
			}
		})
	}
}

// count fails unless all requests with each operation were recorded as ok.
func (r record) count(t *testing.T, ops []workload.Op) {
	t.Helper()
	ok := map[string]int64{}
	for _, row := range r.intervals {
		ok[row.Operation] += row.OK
	}
	for _, op := range ops {
		if ok[string(op)] == 0 {
			t.Errorf("%s: no %s ended ok", r.run.Tag, op)
		}
	}
}

// Renewing an ended session is an error, and the session is counted as expired.
func TestLoadSessionsExpire(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	r := newRig(t)
	out, err := r.run(r.experiment(`
load: {operation: keepalive, requests: 400, clients: 4, connections: 4, timeout: 60s, key_size: 32, sessions: 8, session_ttl: 100ms, rate: 100}
databases: {fake: {options: {expire_early_every: 1}}}
`), nil)
	if err != nil {
		t.Fatalf("run: %v", err)
	}
	rec := r.read(out.Folders[0], 0)
	s := rec.run.Sessions
	if s == nil || s.Granted != 8 || s.Expired+s.Ended != 8 || s.Expired == 0 || s.Left > 0 {
		t.Fatalf("%+v, want 8 sessions that expired or were ended", s)
	}
	counts, err := readErrors(rec.dir)
	if err != nil {
		t.Fatalf("read the errors: %v", err)
	}
	lost := int64(0)
	for _, c := range counts {
		if c.Operation != string(workload.OpKeepAlive) || c.Class != string(database.ClassNotFound) {
			t.Errorf("an error of %s of the class %s, want renewals of sessions that are not found", c.Operation, c.Class)
		}
		lost += c.Count
	}
	if lost < s.Expired {
		t.Errorf("%d renewals failed of %d sessions that expired", lost, s.Expired)
	}
	r.mustBeIdle()
}
