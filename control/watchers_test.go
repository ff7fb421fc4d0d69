package control

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/ability"
	"github.com/coreos/dbtester/pkg/ability/watchers"
	"github.com/coreos/dbtester/pkg/files/linefile"
	"github.com/coreos/dbtester/pkg/mark"
	"github.com/coreos/dbtester/pkg/observation"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/results/histogram"
	"github.com/coreos/dbtester/pkg/sleep/slowtest"
)

// Watchers receive writes as the store reports them. The record agrees with the observations. An
// honest store has no fault, and one that loses deliveries makes the run invalid.
func TestWatchers(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	r := newRig(t)
	out := r.undisturbed(time.Second, `
load: {operation: update, keys: 10, rate: 200, duration: 4s, clients: 4, connections: 4, timeout: 60s, key_size: 32, value_size: 64}
watch: {watchers: [0, 5], connections: 2}
databases:
  fake__honest: {options: {watch_delay: 20ms}}
  fake__forgetful: {options: {watch_lie: lose, watch_lie_every: 50}}
`, r.lastStage(func(_ *results.DatabaseRun, s *watchers.Stage) bool { return s.Writes >= 200 }))
	for n, lies := range []bool{false, true} {
		rec := r.read(out.Folders[0], n)
		o, err := watchers.Record().Of(rec.run.Records)
		if err != nil {
			t.Fatalf("read the outcome of %s: %v", rec.run.Tag, err)
		}
		c := o.Counts
		if len(o.Stages) != 2 || o.Stages[0].Watchers != 0 || o.Stages[1].Watchers != 5 || o.Stages[1].Connections != 2 || o.Broken+o.BehindWhy != "" {
			t.Errorf("%s: the outcome is %+v, want stages of 0 and of 5 watchers on 2 connections", rec.run.Tag, o)
			continue
		}
		if lies != (c.Lost > 0) || lies != hasMark(rec.run, mark.WatchLost) || lies != (len(o.Witnesses) > 0) {
			t.Errorf("%s: counts %+v, witnesses %+v, marks %q", rec.run.Tag, c, o.Witnesses, rec.marks())
		}
		if c.Duplicate+c.Reordered+c.Behind+c.Unjudged+c.Foreign+c.Coalesced+c.Woken > 0 || c.Delivered == 0 {
			t.Errorf("%s: counts %+v, want nothing wrong but what is lost", rec.run.Tag, c)
		}
		s := o.Stages[1]
		if !lies && (s.Deliveries != 5*s.Writes || s.Sent == nil || s.Sent.P50 < 20e6) {
			t.Errorf("%s: %d deliveries of %d writes, from sent %+v; want 5 of each, after 20 ms", rec.run.Tag, s.Deliveries, s.Writes, s.Sent)
		}
		seconds, err := observation.Read(watchers.Observed(), rec.dir)
		if err != nil {
			t.Fatal(err)
		}
		totals := watchers.Observed().Total(seconds)
		recorded, err := ability.Observed().Of(rec.run.Records)
		if err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]int64{watchers.ValueSent: s.Deliveries, watchers.ValueDue: s.Deliveries, watchers.ValueAll: s.All.N} {
			if got, is := totals[name], recorded[watchers.Observed().Name][name]; got.N != want || is.N != want || got.Value != is.Value {
				t.Errorf("%s: %s is %+v in the file and %+v in the record, want %d", rec.run.Tag, name, got, is, want)
			}
		}
		if got := totals[watchers.ValueLost].Value; got != c.Lost {
			t.Errorf("%s: %d lost by second, want %d", rec.run.Tag, got, c.Lost)
		}
	}
}

// lastStage returns a function for [rig.undisturbed]: a run is spoilt if a busy machine delayed the
// last of its two stages so much that it is missing, or that usable is false for it.
func (r *rig) lastStage(usable func(*results.DatabaseRun, *watchers.Stage) bool) func(*Outcome) (why string) {
	return func(out *Outcome) string {
		for _, d := range r.databases(out) {
			o, err := watchers.Record().Of(d.Records)
			if err == nil && (len(o.Stages) != 2 || !usable(d, &o.Stages[1])) {
				return fmt.Sprintf("%s has %d stages, of which the second is missing or began too late", d.Tag, len(o.Stages))
			}
		}
		return ""
	}
}

// Slow watchers have their own rows, and their late deliveries are not lost.
func TestSlowWatchers(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	r := newRig(t)
	out := r.undisturbed(time.Second, `
load: {operation: update, keys: 10, rate: 200, duration: 6s, clients: 4, connections: 4, timeout: 60s, key_size: 32, value_size: 64}
watch: {watchers: 9, connections: 3, slow: {share: 10%, pause: 3s}}
databases:
  fake: {}
`)
	rec := r.read(out.Folders[0], 0)
	o, err := watchers.Record().Of(rec.run.Records)
	if err != nil || len(o.Stages) != 1 || o.Stages[0].Slow == nil {
		t.Fatalf("the outcome is %+v, %v; want one stage with slow watchers", o, err)
	}
	s := o.Stages[0]
	if c := o.Counts; c.Lost+c.Duplicate+c.Reordered+c.Behind+c.Unjudged+c.Foreign > 0 || o.SlowEnded > 0 {
		t.Errorf("counts %+v, %d slow connections ended; want nothing wrong", c, o.SlowEnded)
	}
	if s.Slow.Watchers != 3 || s.Slow.Connections != 1 || s.Slow.Sent == nil {
		t.Errorf("the slow part is %+v, from sent %+v; want 3 watchers on one connection", s.Slow, s.Slow.Sent)
	}
	if s.Slow.Sent != nil && s.Deliveries != 2*s.Slow.Sent.N {
		t.Errorf("%d deliveries and %d to slow watchers, want twice as many", s.Deliveries, s.Slow.Sent.N)
	}
	if len(s.Slow.Each) != 1 || s.Slow.Each[0].Watchers != 3 || s.Slow.Each[0].Took <= 0 || s.Slow.Each[0].Ended || s.Slow.Each[0].CaughtUp != (s.Slow.CaughtUp == 1) || s.Slow.Waited <= 0 {
		t.Errorf("the connection caught up as %+v in %v, want one with 3 watchers", s.Slow.Each, s.Slow.Waited)
	}
}

// Watchers continue over new connections where they were: nothing is lost, and the record has the
// times. A store's losses are found.
func TestReconnectedWatchers(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	r := newRig(t)
	out := r.undisturbed(time.Second, `
load: {operation: update, keys: 10, rate: 200, duration: 5s, clients: 4, connections: 4, timeout: 60s, key_size: 32, value_size: 64}
watch: {watchers: [2, 6], connections: 2, of: 50%, reconnect: 1s}
databases:
  fake__honest: {options: {watch_delay: 20ms}}
  fake__forgetful: {options: {watch_lie: lose, watch_lie_every: 50}}
`, r.lastStage(func(d *results.DatabaseRun, s *watchers.Stage) bool {
		return s.Start.Before(d.LoadStart.Add(d.Load.Duration - 1500*time.Millisecond)) // its first reconnect is due half a second later
	}))
	for n, lies := range []bool{false, true} {
		rec := r.read(out.Folders[0], n)
		o, err := watchers.Record().Of(rec.run.Records)
		if err != nil || len(o.Stages) != 2 {
			t.Fatalf("the outcome of %s is %+v, %v; want two stages", rec.run.Tag, o, err)
		}
		c := o.Counts
		if lies != (c.Lost > 0) || lies != hasMark(rec.run, mark.WatchLost) || c.Duplicate+c.Reordered+c.Behind+c.Unjudged+c.Foreign+c.Gaps > 0 || o.Broken+o.BehindWhy+o.GapWhy != "" {
			t.Errorf("%s: counts %+v, broken %q, behind %q, gap %q, marks %q", rec.run.Tag, c, o.Broken, o.BehindWhy, o.GapWhy, rec.marks())
		}
		seconds, err := observation.Read(watchers.Observed(), rec.dir)
		if err != nil {
			t.Fatal(err)
		}
		totals, first, caughtUp := watchers.Observed().Total(seconds), int64(0), int64(0)
		for i, s := range o.Stages {
			is := s.Reconnects
			if is == nil || is.Connections == 0 || is.Failed > 0 || is.First == nil || is.CaughtUp == nil || !lies && is.CaughtUp.P50 < 20e6 {
				t.Fatalf("%s: the connections of stage %d were opened again as %+v; want times, of 20 ms and more", rec.run.Tag, i, is)
			}
			first, caughtUp = first+is.First.N, caughtUp+is.CaughtUp.N
		}
		if totals[watchers.ValueFirst].N != first || totals[watchers.ValueCaughtUp].N != caughtUp {
			t.Errorf("%s: %+v by second, want %d first events and %d times to catch up", rec.run.Tag, totals, first, caughtUp)
		}
	}
}

// Watchers during a load by two generators receive all writes, which are judged as those of one
// process: an honest store has no fault, and losses in another are found.
func TestWatchersOfGenerators(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	r := newRig(t)
	// The second stage has half the 800 writes, unless those of the first one end late.
	half := func(s *watchers.Stage) bool { return s.Writes >= 200 && s.Writes <= 500 }
	out := r.undisturbed(time.Second, r.generate(2, true)+`
load: {operation: update, keys: 10, rate: 200, duration: 4s, clients: 4, connections: 4, timeout: 20s, drain: 20s, key_size: 32, value_size: 64}
watch: {watchers: [0, 5], connections: 2}
databases:
  fake__honest: {options: {watch_delay: 20ms}}
  fake__forgetful: {options: {watch_lie: lose, watch_lie_every: 50}}
`, r.lastStage(func(_ *results.DatabaseRun, s *watchers.Stage) bool { return half(s) }))
	for n, lies := range []bool{false, true} {
		rec := r.read(out.Folders[0], n)
		o, err := watchers.Record().Of(rec.run.Records)
		if err != nil || len(o.Stages) != 2 || len(rec.run.Generators) != 2 {
			t.Fatalf("the outcome of %s is %+v, %v, with %d generators; want two stages and two generators", rec.run.Tag, o, err, len(rec.run.Generators))
		}
		c := o.Counts
		if lies != (c.Lost > 0) || lies != hasMark(rec.run, mark.WatchLost) || c.Duplicate+c.Reordered+c.Behind+c.Unjudged+c.Foreign+c.Coalesced+c.Woken > 0 || o.Broken+o.BehindWhy != "" {
			t.Errorf("%s: counts %+v, broken %q, behind %q, marks %q; want nothing wrong but what is lost", rec.run.Tag, c, o.Broken, o.BehindWhy, rec.marks())
		}
		if s := o.Stages[1]; !half(&s) || c.Writes < s.Writes || !lies && s.Deliveries != 5*s.Writes || o.ClockError <= 0 || o.ClockError > time.Second {
			t.Errorf("%s: %d deliveries of %d writes, %d in all, clocks to within %v; want 5 of each of some 400", rec.run.Tag, s.Deliveries, s.Writes, c.Writes, o.ClockError)
		}
	}
}

// watchedLong has watchers for as long as a test lets it.
const watchedLong = `
load: {operation: update, keys: 10, rate: 200, duration: 1h, clients: 4, connections: 4, timeout: 60s, key_size: 32, value_size: 64}
watch: {watchers: 5, connections: 2}
`

// written returns the seconds from watchers below the folder of results, without an incomplete last
// row, and the folder that they are in, or "".
func written(t *testing.T, below string) (seconds []observation.Second, dir string) {
	t.Helper()
	g := watchers.Observed()
	list, err := filepath.Glob(filepath.Join(below, "*", "*", "*", g.File()))
	if err != nil || len(list) == 0 {
		return nil, ""
	}
	dir = filepath.Dir(list[0])
	seconds, err = observation.Read(g, dir)
	if err != nil && !errors.Is(err, linefile.ErrTruncated) {
		t.Errorf("read %s: %v", list[0], err)
	}
	return seconds, dir
}

// The seconds from watchers are written while the load lasts. An interrupt adds those that are
// open: they add up to the totals in the record.
func TestWatchersInterrupted(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	r := newRig(t)
	ctx, interrupt := context.WithCancelCause(t.Context())
	defer interrupt(nil)
	var before []observation.Second
	out, err := r.runCtx(ctx, r.experiment(watchedLong+"databases: {fake: {}}"), func(u Update) {
		if u.Load == nil || ctx.Err() != nil {
			return
		}
		if before, _ = written(t, r.results); len(before) > 1 {
			interrupt(errSignal)
		}
	})
	r.mustBeInterrupted(out, err)
	rec := r.read(out.Folders[0], 0)
	o, err := watchers.Record().Of(rec.run.Records)
	if err != nil || len(o.Stages) != 1 {
		t.Fatalf("the outcome is %+v, %v; want one stage", o, err)
	}
	g, s := watchers.Observed(), o.Stages[0]
	seconds, dir := written(t, r.results)
	if dir != rec.dir || len(seconds) <= len(before) {
		t.Fatalf("%d seconds of %s are written, want those of %s and more than %d", len(seconds), dir, rec.dir, len(before))
	}
	recorded, err := ability.Observed().Of(rec.run.Records)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]int64{watchers.ValueSent: s.Deliveries, watchers.ValueDue: s.Deliveries, watchers.ValueAll: s.All.N} {
		got, is := g.Total(seconds)[name], recorded[g.Name][name]
		if got.N != want || is.N != want || got.Value != is.Value || is.P50 == 0 {
			t.Errorf("%s is %+v in the file and %+v in the record, want %d", name, got, is, want)
		}
	}
	if s.Deliveries != 5*s.Writes || s.Writes == 0 {
		t.Errorf("%d deliveries of %d writes, want 5 of each", s.Deliveries, s.Writes)
	}
	r.checkDigests(rec)
}

// If control is killed, the complete seconds from watchers remain, each with its histograms.
func TestWatchersKilled(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	s := newStage(t, 1, 0, watchedLong, "fake: {}")
	// Each batch of seconds is written as rows, and then as times in the log. The kill cuts at most
	// the last batch, which comes after the whole seconds.
	var p *player
	whole, more := 0, 0
	for attempt := 1; more == 0 && attempt <= attempts; attempt++ {
		s.clear()
		p = s.until("loading", "")
		if whole = s.written(p, 2); whole > 0 {
			more = s.written(p, whole)
		}
	}
	p.kill()
	seconds, dir := written(t, s.path("results"))
	if more == 0 || len(seconds) < more {
		t.Fatalf("%d seconds are left of %d, of which %d were to be whole; %q", len(seconds), more, whole, p.said)
	}
	times := map[int64]int64{}
	for line, err := range histogram.ReadBuckets(filepath.Join(dir, watchers.Observed().Log())) {
		if errors.Is(err, linefile.ErrTruncated) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if line.Tag == watchers.ValueSent+":step0" {
			times[line.Start.Unix()] += line.Buckets.Total()
		}
	}
	totals := watchers.Observed().Total(seconds)
	if sent, writes := totals[watchers.ValueSent].N, totals[watchers.ValueWrites].Value; sent != 5*writes || writes == 0 {
		t.Errorf("%d deliveries of %d writes, want 5 of each", sent, writes)
	}
	for _, one := range seconds[:whole] {
		if got, want := times[one.Second], one.Numbers[0].N; got != want || want == 0 {
			t.Errorf("second %d has %d times in the log and %d in its row, want the same", one.Second, got, want)
		}
	}
}

// written waits until a run has written more than a number of seconds from watchers, and returns
// their number. It is 0 if the run ends before.
func (s *stage) written(p *player, than int) int {
	s.t.Helper()
	for end := time.Now().Add(patience); ; {
		if seconds, _ := written(s.t, s.path("results")); len(seconds) > than {
			return len(seconds)
		}
		if time.Now().After(end) {
			s.t.Fatalf("no more than %d seconds are written; %q", than, p.said)
		}
		select {
		case text, open := <-p.lines:
			if !open {
				return 0
			}
			p.said = append(p.said, text)
		case <-time.After(50 * time.Millisecond):
		}
	}
}
