package cause

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/coreos/dbtester/analyze/run"
)

// model is a leader that syncs the requests which it has together, one sync after the other, and
// then answers. Times are in ms of simulated time.
type model struct {
	clients       int     // of a closed loop
	rate          float64 // requests per ms; 0: a closed loop
	sync, outside float64
	stopped       float64 // share of each 100 ms in which the quota stops the leader
}

// spent is where the requests' time went, in request-milliseconds by what happened, and the clock.
type spent struct {
	outside, stopped, syncing, rest, all float64
	answered                             int
	busy, halted, length                 float64 // of the leader
	syncs                                int
	inside                               float64
}

// simulate runs the model for a minute in steps of 0.05 ms, and counts what each request waits for.
func (m model) simulate() (s spent) {
	const dt, end = .05, 60e3
	random := rand.New(rand.NewPCG(1, 2))
	type request struct{ back, until float64 } // back is 1 on the way back
	var under []request                        // on the way
	queue, batch, left := 0, 0, 0.0
	for range m.clients {
		under = append(under, request{0, m.outside / 2})
	}
	for now := 0.0; now < end; now += dt {
		halted := math.Mod(now, 100) < 100*m.stopped
		if m.rate > 0 && random.Float64() < m.rate*dt {
			under = append(under, request{0, now + m.outside/2})
		}
		var still []request
		for _, q := range under {
			switch {
			case q.until > now:
				still = append(still, q)
			case q.back == 0:
				queue++
			default:
				s.answered++
				if m.rate == 0 {
					still = append(still, request{0, now + m.outside/2})
				}
			}
		}
		under = still
		if !halted && batch == 0 && queue > 0 {
			batch, queue, left = queue, 0, m.sync*(.5+random.Float64())
			s.syncs++
		}
		at := float64(queue + batch)
		s.outside += dt * float64(len(under))
		s.all += dt * (float64(len(under)) + at)
		s.inside += dt * at
		switch {
		case halted:
			s.stopped += dt * at
		case batch > 0:
			s.syncing += dt * at
		default:
			s.rest += dt * at
		}
		s.length += dt
		if halted {
			s.halted += dt
		}
		if batch > 0 {
			s.busy += dt
			if !halted {
				left -= dt
			}
			if left <= 0 {
				for range batch {
					under = append(under, request{1, now + m.outside/2})
				}
				batch = 0
			}
		}
	}
	return s
}

// facts are what the records of such a load contain.
func (s *spent) facts(inside bool) *Facts {
	n := int64(s.answered)
	none := run.Missing("not recorded")
	f := &Facts{
		Response: run.Measured(s.all/float64(n), n), Service: run.Inapplicable("a closed loop"), Client: run.Measured(0, n),
		Throttled: run.Measured(s.halted/s.length, n), Syncing: run.Measured(s.busy/s.length, n), Sync: run.Measured(s.busy/float64(s.syncs), n),
		Inside: none, FollowersSync: none, Queue: none, Agreement: none, Trip: none, Waiting: none,
	}
	if inside {
		f.Inside = run.Measured(s.inside/float64(n), n)
	}
	return f
}

// The shares of the ledger are those for which requests waited in a simulation, to 5 points,
// at a low rate to 8.
func TestPlanted(t *testing.T) {
	for name, c := range map[string]struct {
		model
		inside bool
		most   string // the line with over half
	}{
		"slow disk":               {model{clients: 16, sync: 11, outside: .2}, false, nameFsync},
		"slow disk, one client":   {model{clients: 1, sync: 11, outside: 1}, false, nameFsync},
		"slow disk, low rate":     {model{rate: .01, sync: 11, outside: .5}, false, nameFsync},
		"quota":                   {model{clients: 16, sync: 1, outside: .1, stopped: .75}, true, "LEDGER-THROTTLED"},
		"slow network":            {model{clients: 16, sync: 1, outside: 12}, true, "LEDGER-OUTSIDE"},
		"slow network and a sync": {model{clients: 4, sync: 7, outside: 8}, true, "LEDGER-OUTSIDE"},
	} {
		t.Run(name, func(t *testing.T) {
			s := c.simulate()
			entries, why := Ledger(s.facts(c.inside))
			if entries == nil {
				t.Fatalf("no ledger: %+v", why)
			}
			truth := map[string]float64{"LEDGER-THROTTLED": s.stopped, nameFsync: s.syncing}
			if c.inside {
				truth["LEDGER-OUTSIDE"] = s.outside
			}
			most := ""
			for _, e := range entries {
				if want, is := truth[e.Name]; is {
					want *= 100 / s.all
					t.Logf("%s is %.1f %%, in truth %.1f %%", e.Name, e.Share.Value, want)
					// At a low rate the rest of a sync that a request finds is not counted.
					if e.Share.Value-want > 5 || want-e.Share.Value > 5 && (c.rate == 0 || want-e.Share.Value > 8) {
						t.Errorf("%s is %.1f %%, want %.1f %%", e.Name, e.Share.Value, want)
					}
				}
				if e.Share.Known() && e.Share.Value > 50 {
					most = e.Name
				}
			}
			if most != c.most {
				t.Errorf("%q has over half, want %q", most, c.most)
			}
			checkSum(t, entries)
		})
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

// byName are a ledger's entries.
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
	// Of 20 ms the client has 2 and the wait for a free one 8. Of the other 10, one sync of 4 ms is
	// longer than a quarter; a trip and a follower's sync take 4 ms more; half of the last 2 are waits.
	got := byName(t, facts())
	for name, want := range map[string]float64{"LEDGER-CLIENT": 10, "LEDGER-FREE-CLIENT": 40, nameFsync: 20, "LEDGER-PEERS": 20, nameProcessors: 5, Unexplained: 5} {
		if math.Abs(got[name].Value-want) > 1e-9 {
			t.Errorf("%s is %+v, want %g %%", name, got[name], want)
		}
	}
	// Half of the time a thread waits, perhaps the syncing one.
	if m := got[nameFsync]; m.Low != 0 || math.Abs(m.High-20) > 1e-9 {
		t.Errorf("a sync is %+v, want as little as 0", m)
	}
	if m := got[nameProcessors]; m.Low != 0 || math.Abs(m.High-25) > 1e-9 {
		t.Errorf("waits for a processor are %+v, want 0 to 25", m)
	}
	if m := got[Unexplained]; math.Abs(m.Low-5) > 1e-9 || math.Abs(m.High-10) > 1e-9 {
		t.Errorf("the rest is %+v, want 5 to 10", m)
	}
	if m := got["LEDGER-THROTTLED"]; m.Known() || m.Missing != "not recorded" {
		t.Errorf("a line without its input is %+v, want the reason", m)
	}
	// An agreement without the leader's slow disk: nobody waited for the whole sync.
	f := facts()
	f.Sync, f.Syncing, f.Agreement = run.Measured(100, 50), run.Measured(1, 9), run.Measured(1, 50)
	if got := byName(t, f); math.Abs(got[nameFsync].Value-5) > 1e-9 || got["LEDGER-PEERS"].Value != 0 {
		t.Errorf("a disk that most members do not wait for has %+v, want 1 of 20 ms", got[nameFsync])
	}
	// An agreement of 9 ms with 4 in the sync and 3 in the queue before it leaves 2 to the others.
	f = facts()
	f.Agreement, f.Queue = run.Measured(9, 50), run.Measured(3, 50)
	if got := byName(t, f); math.Abs(got["LEDGER-PEERS"].Value-10) > 1e-9 {
		t.Errorf("the other members have %+v, want 2 of 20 ms", got["LEDGER-PEERS"])
	}
	// Lines that overlap make the rest negative.
	f = facts()
	f.Trip = run.Measured(50, 20)
	if got := byName(t, f); math.Abs(got[Unexplained].Value+215) > 1e-9 {
		t.Errorf("the rest is %+v, want -215 %%", got[Unexplained])
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
