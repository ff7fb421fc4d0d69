package control

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/ability"
	"github.com/coreos/dbtester/pkg/ability/deaths"
	"github.com/coreos/dbtester/pkg/database/fake/expiry"
	"github.com/coreos/dbtester/pkg/mark"
	"github.com/coreos/dbtester/pkg/observation"
	"github.com/coreos/dbtester/pkg/sleep/slowtest"
)

// Sessions are held during a load, die, and end by the rule of the store. The record agrees with
// the observations, sessions that end too early make the run invalid, and their keys are not
// counted with those of the load.
func TestSessions(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	r := newRig(t)
	out := r.undisturbed(500*time.Millisecond, `
load: {rate: 100, duration: 7s, clients: 4, connections: 4, timeout: 60s, key_size: 32, value_size: 64}
sessions: {held: 40, ttl: 1s, keep: 200ms, after: 3s, keys: 2}
databases:
  fake__honest: {options: {expiry: doubled}}
  fake__hasty: {options: {expire_early_every: 7}, sessions: {ttl: 3s}}
`, func(out *Outcome) string {
		if o, err := deaths.Record().Of(r.read(out.Folders[0], 1).run.Records); err != nil || o.Granted < 40 {
			return fmt.Sprintf("%d of 40 sessions were granted, %v", o.Granted, err)
		}
		return ""
	})
	// A hasty store ends sessions half a TTL too early. A client that sees an end later than it
	// should have been cannot tell: the TTL is longer than a busy machine delays an observation.
	ttls := []time.Duration{time.Second, 3 * time.Second}
	for n, law := range []expiry.Law{expiry.Doubled, expiry.Exact} {
		rec := r.read(out.Folders[0], n)
		o, err := deaths.Record().Of(rec.run.Records)
		if err != nil {
			t.Fatalf("read the outcome of %s: %v", rec.run.Tag, err)
		}
		// On a busy machine a session may end before it has its keys.
		if o.Granted == 0 || o.Granted+o.NotGranted != 40 || o.Left > 0 || o.TTL != ttls[n] || o.Rule != law.Rule() || o.GrantsPerSecond <= 0 {
			t.Errorf("%s: %d of 40 sessions were granted (%s) with a TTL of %v by the rule %q, %d are left (%s)", rec.run.Tag, o.Granted, o.Why, o.TTL, o.Rule, o.Left, o.WhyLeft)
		}
		if o.Abandoned+o.Early+o.Missed+o.Unrenewed < o.Granted || o.Expired+o.NotExpired != o.Abandoned || o.Expired == 0 {
			t.Errorf("%s: %d abandoned, %d expired, %d not, %d early, %d missed, %d not renewed; want all that were granted to end", rec.run.Tag, o.Abandoned, o.Expired, o.NotExpired, o.Early, o.Missed, o.Unrenewed)
		}
		hasty, early := strings.HasSuffix(rec.run.Tag, "hasty"), o.Early > 0
		// On a busy machine sessions may end without renewals before a hasty store ends one.
		if early != hasMark(rec.run, mark.SessionsEarly) || early && !hasty || hasty && !early && o.Missed+o.Unrenewed == 0 {
			t.Errorf("%s: %d ended early, marks %q", rec.run.Tag, o.Early, rec.marks())
		}
		if hasMark(rec.run, mark.Keys) {
			t.Errorf("%s: marks %q, want no key of a session counted", rec.run.Tag, rec.marks())
		}
		if o.Before == nil || o.During == nil {
			t.Errorf("%s: p99 before %+v, during %+v, want both", rec.run.Tag, o.Before, o.During)
		}
		if got := strings.Join(rec.kinds(), ","); !strings.Contains(got, "sessions abandoned") {
			t.Errorf("%s: events %s, want that of the deaths", rec.run.Tag, got)
		}
		mustAgree(t, rec, o)
	}
}

// Generators hold parts of the sessions, each with its own watch and its own clock. Their counts
// and times are merged exactly.
func TestSessionsOfGenerators(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	r := newRig(t)
	out := r.undisturbed(500*time.Millisecond, r.generate(2, true)+`
load: {rate: 100, duration: 6s, clients: 4, connections: 4, timeout: 60s, key_size: 32, value_size: 64}
sessions: {held: 41, ttl: 1s, keep: 200ms, after: 1s, keys: 2}
databases:
  fake__honest: {options: {expiry: doubled}}
  fake__never: {sessions: {release: never, held: 5}}
  fake__one: {sessions: {held: 1, ttl: 3s}}
`, func(out *Outcome) string {
		if o, err := deaths.Record().Of(r.read(out.Folders[0], 2).run.Records); err == nil && o.Missed+o.Unrenewed+o.NotGranted > 0 {
			return "the only session ended before its holder died"
		}
		return ""
	})
	ttls := []time.Duration{time.Second, time.Second, 3 * time.Second}
	for n, held := range []int{41, 5, 1} {
		rec := r.read(out.Folders[0], n)
		o, err := deaths.Record().Of(rec.run.Records)
		if err != nil {
			t.Fatalf("read the outcome of %s: %v", rec.run.Tag, err)
		}
		// On a busy machine a session may end before it has its keys.
		if o.Granted == 0 || o.Granted+o.NotGranted != held || o.Left > 0 || o.TTL != ttls[n] || o.Plan.Held != held || o.Machines != 2 || o.ClockError <= 0 {
			t.Errorf("%s: %d of %d sessions were granted (%s) with a TTL of %v by %d machines with clocks known to %v, %d are left (%s)",
				rec.run.Tag, o.Granted, held, o.Why, o.TTL, o.Machines, o.ClockError, o.Left, o.WhyLeft)
		}
		if hasMark(rec.run, mark.Keys) || hasMark(rec.run, mark.SessionsEarly) {
			t.Errorf("%s: marks %q, want no key of a session counted and none that ended early", rec.run.Tag, rec.marks())
		}
		if held == 5 {
			if o.Abandoned > 0 || o.Keeps == nil {
				t.Errorf("%s: %d holders died, renewals %+v", rec.run.Tag, o.Abandoned, o.Keeps)
			}
			continue
		}
		if o.Abandoned+o.Early+o.Missed+o.Unrenewed < o.Granted || o.Expired+o.NotExpired != o.Abandoned || o.Expired == 0 {
			t.Errorf("%s: %d abandoned, %d expired, %d not, %d early, %d missed, %d not renewed; want all that were granted to end", rec.run.Tag, o.Abandoned, o.Expired, o.NotExpired, o.Early, o.Missed, o.Unrenewed)
		}
		if died := strings.Count(strings.Join(rec.kinds(), ","), "sessions abandoned"); died != min(held, 2) {
			t.Errorf("%s: events %q, want the deaths of each generator that held some", rec.run.Tag, rec.kinds())
		}
		if o.Death.Before(rec.run.LoadStart) || o.Death.After(rec.run.LoadEnd) {
			t.Errorf("%s: the holders died at %v, want a time of the load, %v to %v", rec.run.Tag, o.Death, rec.run.LoadStart, rec.run.LoadEnd)
		}
		mustAgree(t, rec, o)
	}
}

// mustAgree fails unless the outcome of the sessions follows from the observations by second.
func mustAgree(t *testing.T, rec record, o deaths.Outcome) {
	t.Helper()
	seconds, err := observation.Read(deaths.Observed(), rec.dir)
	if err != nil {
		t.Fatalf("read %s: %v", filepath.Join(rec.dir, deaths.Observed().File()), err)
	}
	totals := deaths.Observed().Total(seconds)
	recorded, err := ability.Observed().Of(rec.run.Records)
	if err != nil {
		t.Fatal(err)
	}
	granted := totals[deaths.ValueGrant].N
	if granted < int64(o.Granted) || granted > int64(o.Granted+o.NotGranted) {
		t.Errorf("%s: %d grants were answered, want %d and at most %d without keys", rec.run.Tag, granted, o.Granted, o.NotGranted)
	}
	for name, want := range map[string]int64{deaths.ValueGrant: granted, deaths.ValueKeep: o.Keeps.N, deaths.ValueLate: int64(o.Expired), deaths.ValueLateLeast: int64(o.Expired)} {
		if got, is := totals[name], recorded[deaths.Observed().Name][name]; got.N != want || got.N != is.N || got.Value != is.Value || got.Longest != is.Longest {
			t.Errorf("%s of %s: %+v in the file, %+v in the record, want %d times", name, rec.run.Tag, got, is, want)
		}
	}
	for name, want := range map[string]int64{deaths.ValueKeepLost: o.KeepsLost, deaths.ValueEarly: int64(o.Early)} {
		if got := totals[name].Value; got != want {
			t.Errorf("%s of %s: %d in the file, want %d", name, rec.run.Tag, got, want)
		}
	}
	if o.Late == nil || time.Duration(o.Late.Max) != totals[deaths.ValueLate].Longest || time.Duration(o.Keeps.Max) != totals[deaths.ValueKeep].Longest {
		t.Errorf("%s: latest end %+v, longest renewal %+v; observed %+v", rec.run.Tag, o.Late, o.Keeps, totals)
	}
	var ends []int64 // seconds
	for _, s := range seconds {
		if s.Numbers[slices.IndexFunc(deaths.Observed().Values, func(v observation.Value) bool { return v.Name == deaths.ValueLate })].N > 0 {
			ends = append(ends, s.Second)
		}
	}
	if first, last := o.Death.Add(o.FirstGone).Unix(), o.Death.Add(o.AllGone).Unix(); len(ends) == 0 || slices.Min(ends) != first || slices.Max(ends) != last {
		t.Errorf("%s: sessions ended in the seconds %v by the file, from %d to %d by the record", rec.run.Tag, ends, first, last)
	}
	if last := len(o.Survivors) - 1; last < 0 || o.Survivors[last].Left != o.NotExpired || int64(o.Survivors[last].After) != o.Late.Max {
		t.Errorf("%s: the curve of survivors is %+v", rec.run.Tag, o.Survivors)
	}
}
