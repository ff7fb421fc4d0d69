package control

import (
	"slices"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/ability"
	"github.com/coreos/dbtester/pkg/ability/discovery"
	"github.com/coreos/dbtester/pkg/mark"
	"github.com/coreos/dbtester/pkg/observation"
	"github.com/coreos/dbtester/pkg/sleep/slowtest"
)

// Instances register during a load, die and are deployed, and consumers follow them. The record has
// the time when all knew, registrations that end too early make the run invalid, and keys of
// instances are not counted with those of the load.
func TestDiscovery(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	r := newRig(t)
	out := r.undisturbed(500*time.Millisecond, `
load: {rate: 100, duration: 12s, clients: 4, connections: 4, timeout: 60s, key_size: 32, value_size: 64}
discovery: {instances: 20, consumers: 3, notice: 2s, keep: 200ms, deaths: 4, deploys: 3, after: 2s, within: 3s}
databases:
  fake__honest: {}
  fake__hasty: {load: {duration: 14s}, discovery: {notice: 4s, keep: 3s}, options: {expire_early_every: 7}}
`, func(out *Outcome) string {
		if o, err := discovery.Record().Of(r.read(out.Folders[0], 1).run.Records); err == nil && o.Alive == 0 {
			return "no consumer saw a session that the hasty store ended"
		}
		return ""
	})
	// A hasty store ends sessions half a TTL too early. A client that sees an end in the other half can
	// tell: it is longer than a busy machine delays an observation.
	ttls := []time.Duration{2 * time.Second, 4 * time.Second}
	for n, hasty := range []bool{false, true} {
		rec := r.read(out.Folders[0], n)
		o, err := discovery.Record().Of(rec.run.Records)
		if err != nil {
			t.Fatalf("read the outcome of %s: %v", rec.run.Tag, err)
		}
		if o.Registered.Registered == 0 || o.Registered.Registered+o.NotRegistered != 20 || o.Left > 0 || o.TTL != ttls[n] || o.Watching+o.Broken != 3 {
			t.Errorf("%s: %d of 20 instances were registered (%s) with a TTL of %v, %d are left (%s), %d consumers", rec.run.Tag, o.Registered.Registered, o.Why, o.TTL, o.Left, o.WhyLeft, o.Watching)
		}
		if o.Lost > 0 || hasMark(rec.run, mark.Keys) || hasMark(rec.run, mark.ChangesLost) {
			t.Errorf("%s: counts %+v, marks %q", rec.run.Tag, o.Counts, rec.marks())
		}
		if hasty != (o.Alive > 0) || hasty != hasMark(rec.run, mark.InstancesEarly) {
			t.Errorf("%s: %d ended early, %d of them alive, marks %q", rec.run.Tag, o.Early, o.Alive, rec.marks())
		}
		if hasty {
			continue
		}
		// On a busy machine a session may end before its holder dies.
		if n := len(o.Of(discovery.Death)) + len(o.Of(discovery.Deploy)); o.Missed+o.Unrenewed+o.NotRegistered == 0 && n != 7 {
			t.Errorf("all consumers knew %d changes of %+v, want 7; %s", n, o.Changes, o.BehindWhy)
		}
		for _, c := range o.Changes {
			if c.All && c.Left+c.Late+c.Again+c.FanOut != c.Whole {
				t.Errorf("the parts of %+v do not add up", c)
			}
		}
		seconds, err := observation.Read(discovery.Observed(), rec.dir)
		if err != nil {
			t.Fatal(err)
		}
		totals := discovery.Observed().Total(seconds)
		recorded, err := ability.Observed().Of(rec.run.Records)
		if err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]int64{
			discovery.ValueDeath: int64(len(o.Of(discovery.Death))), discovery.ValueDeploy: int64(len(o.Of(discovery.Deploy))), discovery.ValueKeep: o.Keeps.N,
		} {
			if got, is := totals[name], recorded[discovery.Observed().Name][name]; got.N != want || is.N != want || got.Value != is.Value {
				t.Errorf("%s: %s is %+v in the file and %+v in the record, want %d", rec.run.Tag, name, got, is, want)
			}
		}
		if got := totals[discovery.ValueTold].Value; got != o.Told {
			t.Errorf("%s: %d changes were told by second, want %d", rec.run.Tag, got, o.Told)
		}
	}
}

// Instances elect a leader during a load. It dies twice, all consumers know the next one, and the
// parts of each election add up.
func TestElections(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	r := newRig(t)
	out := r.undisturbed(500*time.Millisecond, `
load: {rate: 100, duration: 16s, clients: 4, connections: 4, timeout: 60s, key_size: 32, value_size: 64}
discovery: {instances: 5, consumers: 3, notice: 1s, keep: 200ms, elections: 2, after: 2s, within: 7s}
databases:
  fake: {}
`, func(out *Outcome) string {
		o, err := discovery.Record().Of(r.read(out.Folders[0], 0).run.Records)
		if err == nil && slices.ContainsFunc(o.Changes, func(c discovery.Change) bool { return c.Why == "there was no leader that could die" }) {
			return "the second leader was elected after it was to die"
		}
		return ""
	})
	rec := r.read(out.Folders[0], 0)
	o, err := discovery.Record().Of(rec.run.Records)
	if err != nil {
		t.Fatal(err)
	}
	if o.Lost > 0 || o.Left > 0 || hasMark(rec.run, mark.Keys) || o.Count(discovery.Election) != 2 {
		t.Errorf("changes %+v, counts %+v, %d left (%s), marks %q", o.Changes, o.Counts, o.Left, o.WhyLeft, rec.marks())
	}
	// On a busy machine a session may end before its holder dies.
	if n := len(o.Of(discovery.Election)); o.Missed+o.Unrenewed+o.NotRegistered == 0 && n != 2 {
		t.Errorf("all consumers knew the next leader after %d of %+v, want 2; %s %s", n, o.Changes, o.BehindWhy, o.Why)
	}
	for _, c := range o.Changes {
		if sum := c.Left + c.Late + c.HandOff + c.FanOut; c.All && sum != c.Whole {
			t.Errorf("the parts of %+v add up to %v", c, sum)
		}
	}
}
