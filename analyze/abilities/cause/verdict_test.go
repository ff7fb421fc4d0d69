package cause

import (
	"math"
	"strings"
	"testing"

	"github.com/coreos/dbtester/analyze/run"
)

// convicted are facts about a leader that syncs most of the time.
func convicted() *Facts {
	none := run.Missing("not recorded")
	return &Facts{
		Response: run.Measured(10, 100), Service: run.Inapplicable("a closed loop"), Pending: run.Measured(4, 0), Client: run.Measured(.2, 100), Inside: none,
		Throttled: none, Periods: none, Syncing: run.Measured(.8, 9), Sync: run.Measured(7, 50), FollowersSync: run.Measured(7, 50), Queue: none, Agreement: none, Trip: run.Measured(.5, 20),
		Waiting: run.Measured(.05, 9), Used: run.Measured(.1, 9), Processors: run.Measured(2, 0), Allowed: run.Measured(2, 0),
		Members: Load{run.Measured(.3, 9), run.Measured(.4, 9)}, Majority: run.Measured(.2, 9), Acknowledged: true, Clients: Load{run.Measured(0, 9), run.Measured(.1, 9)},
	}
}

func judged(t *testing.T, f *Facts) *Verdict {
	t.Helper()
	entries, why := Ledger(f)
	if entries == nil {
		t.Fatalf("no ledger: %+v", why)
	}
	return Judge(f, entries)
}

func TestVerdict(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Facts)
		want   string
	}{
		// Without the time in the client and the other members, 80 % of 9.3 ms are syncs. One takes
		// 7 ms, without waits for 5 % of the time and work on 5 % of the processors 6.1.
		"named": {func(*Facts) {}, "syncs of the leader's log 74 % [61 .. 74]: 7 ms a sync, for 80 % of the time; then the other members and the way to them 5 % [0 .. 5], unexplained 18 %"},
		"partly": {func(f *Facts) { f.Waiting = run.Measured(.3, 9) },
			"partly syncs of the leader's log 74 % [39 .. 74]: 7 ms a sync, for 80 % of the time; then too few processors for the leader 6 % [0 .. 43], the other members and the way to them 5 % [0 .. 5], unexplained 13 %"},
		"unclear": {func(f *Facts) { f.Waiting = run.Measured(3, 9) },
			"none found: syncs of the leader's log 74 % [0 .. 74], too few processors for the leader 19 % [0 .. 98], the other members and the way to them 5 % [0 .. 5]; the waits for processors on this machine leave the bounds too wide to tell: free processors would"},
		// All waits by the clients and by the leader are for the same processors.
		"shared": {func(f *Facts) {
			f.Shared, f.Client, f.Waiting, f.Sync, f.FollowersSync = true, run.Measured(6, 100), run.Measured(3, 9), run.Measured(2, 50), run.Measured(2, 50)
		}, "processors, shared with the clients 67 % [60 .. 100]: 6 ms of a request; then syncs of the leader's log 28 % [0 .. 28], the other members and the way to them 5 % [0 .. 5]"},
		// A request cannot take less than 90 % of this, whatever else takes no time.
		"saturated": {func(f *Facts) { f.Busy = run.Measured(.9, 9) },
			"too few processors for the leader 90 %: 90 % of the 2 were used; syncs of the leader's log 74 % [61 .. 74]: 7 ms a sync, for 80 % of the time; then the other members and the way to them 5 % [0 .. 5]"},
		"saturated and shared": {func(f *Facts) { f.Shared, f.Busy, f.Waiting = true, run.Measured(.9, 9), run.Measured(3, 9) },
			"processors, shared with the clients 90 % [90 .. 100]: 90 % of the 2 were used; then syncs of the leader's log 74 % [0 .. 74], the other members and the way to them 5 % [0 .. 5]"},
		"saturated at a rate": {func(f *Facts) { f.Busy, f.Service = run.Measured(.9, 9), run.Measured(10, 100) },
			"syncs of the leader's log 74 % [61 .. 74]: 7 ms a sync"},
		// Half of 20 ms is the wait for a free client, which is long because of the rest.
		"queued": {func(f *Facts) { f.Response, f.Service = run.Measured(20, 100), run.Measured(10, 100) },
			"syncs of the leader's log 75 % [60 .. 75]: 7 ms a sync, for 80 % of the time; then unexplained 18 %; all without the wait for a free client, 49 % of AVG-LATENCY"},
		// Lines that sum to 140 % may each have 40 % too much.
		"overlapping": {func(f *Facts) { f.Trip, f.Majority = run.Measured(6.8, 20), run.Measured(0, 9) },
			"none found: the other members and the way to them 68 % [28 .. 68], syncs of the leader's log 70 % [21 .. 70], unexplained -40 %"},
		"nothing recorded": {func(f *Facts) { f.Waiting = run.Missing("not recorded") },
			"none found: syncs of the leader's log 74 % [0 .. 74], the other members and the way to them 5 % [0 .. 5], unexplained 19 %"},
	} {
		t.Run(name, func(t *testing.T) {
			f := convicted()
			c.change(f)
			if got := judged(t, f).String(); !strings.HasPrefix(got, c.want) {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// Stops on many processors at once are one, unless the quota is used up all the time.
func TestQuota(t *testing.T) {
	for _, c := range []struct{ throttled, periods, low, high float64 }{
		{.8, 1, 80, 80}, {1.7, .95, 95, 95}, {.8, .2, 20, 20}, {.8, .6, 40, 60}, {.1, .1, 5, 10},
	} {
		f := convicted()
		f.Client, f.Throttled, f.Periods = run.Measured(0, 100), run.Measured(c.throttled, 9), run.Measured(c.periods, 9)
		low, high := bounds(byName(t, f)[nameThrottled])
		if low < c.low-1e-9 || low > c.low+1e-9 || high < c.high-1e-9 || high > c.high+1e-9 {
			t.Errorf("%+v: got %g to %g %%", c, low, high)
		}
	}
}

// A closed loop that uses a quota up is held back by it for at least that share, in the periods in which
// it was stopped.
func TestUsedUp(t *testing.T) {
	for _, c := range []struct{ used, allowed, periods, want float64 }{
		{.24, .25, 1, 96}, {.24, .25, .85, 85}, {.26, .25, 1, 100}, {.15, .25, 1, 0}, {.24, .25, 0, 0}, {.24, 0, 1, 0},
	} {
		f := convicted()
		f.Used, f.Allowed, f.Throttled, f.Periods = run.Measured(c.used, 9), run.Measured(c.allowed, 0), run.Measured(.1, 9), run.Measured(c.periods, 9)
		if got := quotaRule().AtLeast(f); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%+v: got at least %g %%", c, got)
		}
		if v := judged(t, f); c.want > over && degrees(v)[:5] != "quota" {
			t.Errorf("%+v: got %v", c, v)
		}
		if f.Service = run.Measured(10, 100); quotaRule().AtLeast(f) != 0 {
			t.Errorf("%+v: at a rate nothing follows", c)
		}
	}
}

// The way from the clients to the leader has only the waits in the leader and the clients, and a
// leader that its quota stops reads no requests.
func TestDirect(t *testing.T) {
	f := convicted()
	f.Client, f.Inside, f.Direct = run.Measured(0, 100), run.Measured(1, 100), true
	low := func() float64 {
		low, _ := bounds(byName(t, f)[nameOutside])
		return low
	}
	// 9 of 10 ms, without waits in the leader for 5 % of the time.
	if got := low(); math.Abs(got-85) > 1e-9 {
		t.Errorf("the way has at least %g %%, want 85", got)
	}
	if f.Shared = true; math.Abs(low()-65) > 1e-9 { // 10 % are work in the leader and 10 % in the clients
		t.Errorf("on a shared machine the way has at least %g %%, want 65", low())
	}
	if f.ClientsBusy = run.Measured(.8, 9); low() != 0 {
		t.Errorf("with clients that use their processors up the way has at least %g %%, want 0", low())
	}
	f.ClientsBusy = run.Measured(.5, 9)
	if f.Throttled = run.Measured(.4, 9); math.Abs(low()-25) > 1e-9 {
		t.Errorf("with a leader that is stopped the way has at least %g %%, want 25", low())
	}
	if f.Direct, f.Shared = false, false; math.Abs(low()-20) > 1e-9 { // waits in all members
		t.Errorf("through any member the way has at least %g %%, want 20", low())
	}
	if f.Periods = run.Measured(.4, 9); low() != 0 {
		t.Errorf("with quotas of members that are not the leader the way has at least %g %%, want 0", low())
	}
}

// Agreements, and round trips that the leader timed, contain its work; round trips timed by kernels
// do not.
func TestWorkOfTheLeader(t *testing.T) {
	f := convicted()
	f.Client, f.Trip, f.Sync, f.FollowersSync, f.Syncing = run.Measured(0, 100), run.Measured(8, 20), run.Measured(0, 50), run.Measured(0, 50), run.Measured(0, 9)
	low := func() float64 {
		low, _ := bounds(byName(t, f)[namePeers])
		return low
	}
	if got := low(); math.Abs(got-60) > 1e-9 { // 8 of 10 ms, without the waits for 20 % of the time
		t.Errorf("a kernel's round trip is at least %g %%, want 60", got)
	}
	if f.Acknowledged = false; math.Abs(low()-50) > 1e-9 {
		t.Errorf("the leader's round trip is at least %g %%, want 50", low())
	}
	if f.Acknowledged, f.Agreement = true, run.Measured(9, 50); math.Abs(low()-60) > 1e-9 {
		t.Errorf("an agreement is at least %g %%, want 60", low())
	}
}

// Every rule is about lines that exist, and has words.
func TestRules(t *testing.T) {
	lines := map[string]bool{}
	for _, l := range Lines() {
		lines[l.Name] = true
	}
	f := convicted()
	for _, r := range Rules() {
		if r.Name == "" || r.Words == "" || r.Over < r.Partly || r.Partly <= 0 || len(r.Lines) == 0 || r.Numbers(f) == "" {
			t.Errorf("an incomplete rule: %+v", r)
		}
		for _, name := range r.Lines {
			if !lines[name] {
				t.Errorf("%s is about %s, which is no line", r.Name, name)
			}
		}
	}
}
