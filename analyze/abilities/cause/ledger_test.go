package cause

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/sleep/slowtest"
)

// The shares in the ledger are the simulated waits of requests, at most 5 points more and 8 fewer,
// and the rest is at most 30 %. The verdict has the planted cause, and both if two were planted.
func TestPlanted(t *testing.T) {
	for name, c := range map[string]struct {
		model
		want string // the named cause and, behind a comma, the partly named one
	}{
		"slow disk":                   {model{clients: 16, sync: 11, outside: .2}, "fsync"},
		"slow disk, one client":       {model{clients: 1, sync: 11, outside: 1}, "fsync"},
		"slow disk, low rate":         {model{rate: .01, sync: 11, outside: .4}, "fsync"},
		"slow disk, work":             {model{clients: 1, sync: 11, outside: .4, work: .3, peers: .4, inside: true}, "fsync"},
		"slow disk, others run":       {model{clients: 1, sync: 20, outside: .4, work: .2, busy: .2}, "fsync"},
		"slow disk, two in turns":     {model{clients: 2, sync: 11, outside: .4, work: .3}, ",fsync"}, // one may wait for something else while the other is synced
		"slow disk, others run a lot": {model{clients: 1, sync: 4, outside: .4, work: .2, busy: .8}, ""},
		"quota":                       {model{clients: 16, sync: 1, outside: .2, stopped: .75, inside: true}, "quota"},
		"quota, used up":              {model{clients: 16, sync: 1, outside: .2, stopped: .3, work: 1}, "quota"},
		"slow network":                {model{clients: 16, sync: 1, outside: 12, inside: true}, "outside"},
		"slow network and a sync":     {model{clients: 4, sync: 7, outside: 8, inside: true}, ",outside,fsync"},
		"far members":                 {model{clients: 4, sync: 1, outside: .2, peers: 10}, "peers"},
		"far members, agreements":     {model{clients: 4, sync: 1, outside: .2, peers: 10, inside: true, agrees: true}, "peers"},
		"slow disks of all":           {model{clients: 1, sync: 11, outside: .2, peers: .4, follower: 11}, "fsync"},
		"too few processors":          {model{clients: 16, sync: 1, outside: .2, work: 1}, "processors"},
		"far members and slow disk":   {model{clients: 4, sync: 8, outside: .2, peers: 17, agrees: true, inside: true}, ",peers,fsync"},
	} {
		t.Run(name, func(t *testing.T) {
			s := c.simulate(60e3)
			f := s.facts()
			entries, why := Ledger(f)
			if entries == nil {
				t.Fatalf("no ledger: %+v", why)
			}
			checkSum(t, entries)
			lines := map[string]string{nameThrottled: "quota", nameFsync: "fsync", nameOutside: "outside"}
			for _, e := range entries {
				rule := lines[e.Name]
				if rule == "" || !e.Share.Known() || c.busy > 0 {
					continue
				}
				got, want := e.Share.Value, s.took(rule)
				t.Logf("%s is %.1f %%, in truth %.1f %%", e.Name, got, want)
				// The rest of a sync that a request finds is not counted where there are few.
				if got-want > 5 || want-got > 8 {
					t.Errorf("%s is %.1f %%, want %.1f %%", e.Name, got, want)
				}
			}
			v := Judge(f, entries)
			if rest := v.Unexplained; rest > 30 && c.want != "" {
				t.Errorf("%.1f %% are unexplained", rest)
			}
			if got := degrees(v); got != c.want {
				t.Errorf("the verdict is %q, want %q: %v", got, c.want, v)
			}
		})
	}
}

// degrees lists the named causes and, each behind a comma, the partly named ones.
func degrees(v *Verdict) (text string) {
	for _, s := range v.Of(Named) {
		text += s.Name
	}
	for _, s := range v.Of(Partly) {
		text += "," + s.Name
	}
	return text
}

// The verdict never names a cause that did not take time in the leader, whatever did: an unrecorded
// lock, work, other programs on the processor, a proxy on the way, and all others at once.
func TestNeverAWrongName(t *testing.T) {
	slowtest.Skip(t)
	models := 400
	if slowtest.Long() {
		models = 4000
	}
	random := rand.New(rand.NewPCG(7, 7))
	pick := func(of ...float64) float64 { return of[random.IntN(len(of))] }
	some := func() float64 { return math.Pow(10, 2*random.Float64()-.7) } // 0.2 to 20 ms
	found := map[string]int{}
	for i := range models {
		m := model{
			clients: int(pick(1, 1, 2, 4, 16, 64)), sync: some(), outside: some(), peers: some(), follower: pick(0, some()), work: pick(.01, .01, .1, .3, 4), busy: pick(0, 0, .1, .3, .6, .9),
			lock: pick(0, 0, some(), 4*some()), stopped: pick(0, 0, 0, .2, .75), seed: uint64(i), inside: random.IntN(2) == 0, agrees: random.IntN(2) == 0,
		}
		if random.IntN(4) == 0 {
			m.clients, m.rate = 0, pick(.005, .02, .1)
		}
		s := m.simulate(10e3)
		if s.answered < 20 {
			continue
		}
		f := s.facts()
		entries, _ := Ledger(f)
		checkSum(t, entries)
		v := Judge(f, entries)
		for _, suspect := range append(v.Of(Named), v.Of(Partly)...) {
			least := suspect.Partly
			if suspect.Degree == Named {
				least = suspect.Over
				found[suspect.Name]++
			}
			if truth := s.truth(suspect.Name); truth < least-8 {
				t.Errorf("%+v: %s has %.1f %% of the time: %v", m, suspect.Name, truth, v)
			}
		}
	}
	t.Logf("named in %d models: %v", models, found)
	for _, name := range []string{"outside", "quota", "fsync", "peers", "processors"} {
		if found[name] < models/100 {
			t.Errorf("%s was named %d times in %d models", name, found[name], models)
		}
	}
}

// checkSum fails unless the lines sum to 100 %, and to the response time.
func checkSum(t *testing.T, entries []Entry) {
	t.Helper()
	sum := 0.0
	for _, e := range entries {
		sum += e.Share.Value
	}
	if math.Abs(sum-100) > 1e-9 || entries[len(entries)-1].Name != Unexplained || len(entries) != len(Lines())+1 {
		t.Errorf("%d lines sum to %g %%, want 100 and the rest last", len(entries), sum)
	}
}

// byName are ledger entries.
func byName(t *testing.T, f *Facts) map[string]run.Measure {
	t.Helper()
	entries, why := Ledger(f)
	if entries == nil {
		t.Fatalf("no ledger: %+v", why)
	}
	checkSum(t, entries)
	all := map[string]run.Measure{}
	for _, e := range entries {
		all[e.Name] = e.Share
	}
	return all
}

func TestLines(t *testing.T) {
	none := run.Missing("not recorded")
	facts := func() *Facts {
		return &Facts{
			Response: run.Measured(20, 100), Service: run.Measured(10, 100), Client: run.Measured(2, 100), Inside: none,
			Throttled: none, Syncing: run.Measured(.25, 9), Sync: run.Measured(4, 50), FollowersSync: run.Measured(3, 50), Queue: none, Agreement: none, Trip: run.Measured(5, 20),
			Waiting: run.Measured(.5, 9),
		}
	}
	// From 20 ms the client has 2 and the wait for a free one 8. In the other 10, one sync of 4 ms
	// is longer than a quarter; a trip and a follower's sync take 4 ms more; half the last 2 are
	// waits.
	got := byName(t, facts())
	for name, want := range map[string]float64{"LEDGER-CLIENT": 10, "LEDGER-FREE-CLIENT": 40, nameFsync: 20, "LEDGER-PEERS": 20, nameProcessors: 5, Unexplained: 5} {
		if math.Abs(got[name].Value-want) > 1e-9 {
			t.Errorf("%s is %+v, want %g %%", name, got[name], want)
		}
	}
	// A thread waits half the time, perhaps the syncing one.
	if m := got[nameFsync]; m.Low != 0 || math.Abs(m.High-20) > 1e-9 {
		t.Errorf("a sync is %+v, want as little as 0", m)
	}
	if m := got[nameProcessors]; m.Low != 0 || math.Abs(m.High-25) > 1e-9 {
		t.Errorf("waits for a processor are %+v, want 0 to 25", m)
	}
	if m := got[Unexplained]; math.Abs(m.Low-5) > 1e-9 || math.Abs(m.High-30) > 1e-9 {
		t.Errorf("the rest is %+v, want 5 to 30", m)
	}
	if m := got["LEDGER-THROTTLED"]; m.Known() || m.Missing != "not recorded" {
		t.Errorf("a line without its input is %+v, want the reason", m)
	}
	// An agreement without the slow disk in the leader: no request waited for the whole sync.
	f := facts()
	f.Sync, f.Syncing, f.Agreement = run.Measured(100, 50), run.Measured(1, 9), run.Measured(1, 50)
	if got := byName(t, f); math.Abs(got[nameFsync].Value-5) > 1e-9 || got["LEDGER-PEERS"].Value != 0 {
		t.Errorf("a disk that most members do not wait for has %+v, want 1 of 20 ms", got[nameFsync])
	}
	// An agreement that takes 9 ms with 4 in the sync and 3 in the queue before it leaves 2 to the
	// others.
	f = facts()
	f.Agreement, f.Queue = run.Measured(9, 50), run.Measured(3, 50)
	if got := byName(t, f); math.Abs(got["LEDGER-PEERS"].Value-10) > 1e-9 {
		t.Errorf("the other members have %+v, want 2 of 20 ms", got["LEDGER-PEERS"])
	}
	// Lines that overlap make the rest negative.
	f = facts()
	f.Agreement = run.Measured(53, 50)
	if got := byName(t, f); math.Abs(got[Unexplained].Value+215) > 1e-9 {
		t.Errorf("the rest is %+v, want -215 %%", got[Unexplained])
	}
}

// Requests did not wait for a round trip that takes longer than their time in the members.
func TestTripTooLong(t *testing.T) {
	for _, c := range []struct {
		trip, inside float64 // in 10 ms, and 0 for not recorded
		known        bool
	}{{2, 0, true}, {12, 0, true}, {40, 0, false}, {8, 4, false}} {
		f := convicted()
		f.Client, f.Trip = run.Measured(0, 100), run.Measured(c.trip, 20)
		f.Inside = run.Missing("not recorded")
		if c.inside > 0 {
			f.Inside = run.Measured(c.inside, 100)
		}
		got := byName(t, f)
		if got[namePeers].Known() != c.known {
			t.Errorf("%+v: the other members have %+v", c, got[namePeers])
		}
		// The leader syncs for 80 % of the time without the wait for the others beyond its sync.
		if want := 80.; !c.known && c.inside == 0 && math.Abs(got[nameFsync].Value-want) > 1e-9 {
			t.Errorf("%+v: syncs have %+v, want %g %%", c, got[nameFsync], want)
		}
	}
}

// While a quota stops the leader, its other waits are not known.
func TestStoppedLeader(t *testing.T) {
	f := convicted()
	f.Trip, f.Sync, f.FollowersSync, f.Syncing = run.Measured(9, 20), run.Measured(.1, 50), run.Measured(.1, 50), run.Measured(.01, 9)
	f.Majority = run.Measured(0, 9)
	free, _ := bounds(byName(t, f)[namePeers])
	f.Throttled, f.Periods = run.Measured(.75, 9), run.Measured(.9, 9)
	if stopped, _ := bounds(byName(t, f)[namePeers]); free < 85 || stopped > 20 {
		t.Errorf("the other members have at least %.0f %%, and %.0f %% with a leader that is stopped, want 90 and less than 20", free, stopped)
	}
}

func TestNoLedger(t *testing.T) {
	none := run.Missing("no agents")
	f := &Facts{Response: run.Measured(20, 100), Throttled: none, Syncing: none, Inside: none, Waiting: none}
	if entries, why := Ledger(f); entries != nil || !why.Inapplicable || why.Missing != "no agents" {
		t.Errorf("a ledger without members is %+v, %+v", entries, why)
	}
	f.Response = run.Missing("not recorded")
	if entries, why := Ledger(f); entries != nil || why.Missing != "not recorded" {
		t.Errorf("a ledger without response times is %+v, %+v", entries, why)
	}
}
