package cause

import (
	"fmt"

	"github.com/coreos/dbtester/analyze/run"
)

// peersRule names the other members, and the network to them.
func peersRule() Rule {
	return Rule{
		Name: "peers", Words: "the other members and the way to them", Lines: []string{namePeers}, Over: over, Partly: partly,
		Numbers: func(f *Facts) string {
			if f.agrees() {
				return fmt.Sprintf("%s until most members agreed", millis(f.Agreement))
			}
			return fmt.Sprintf("%s a round trip, %s a sync of the fastest follower", millis(f.Trip), millis(f.FollowersSync))
		},
	}
}

// agrees reports whether the line for the other members comes from the leader's agreements.
func (f *Facts) agrees() bool { return f.Agreement.Known() && f.Sync.Known() }

// tooLong bounds the ratio of a round trip to the mean time in the members. Requests do not wait for
// longer round trips. It is above 1 because the two means cover slightly different requests.
const tooLong = 1.25

// beyond returns the time until most members have an entry, without the sync in the leader and its
// wait for the previous sync.
func (f *Facts) beyond(at above) run.Measure {
	switch {
	case f.agrees():
		own := f.Sync.Value
		if f.Queue.Known() {
			own += f.Queue.Value
		}
		return run.Measured(max(f.Agreement.Value-own, 0), f.Agreement.N)
	case !f.Trip.Known():
		return f.Trip
	case f.Trip.Value > tooLong*max(at.within, 0):
		return unrecorded("requests did not wait for a round trip to another member: it took longer than they were in the members")
	case !f.FollowersSync.Known():
		return f.FollowersSync
	case !f.Sync.Known():
		return f.Sync
	}
	return run.Measured(max(f.Trip.Value+f.FollowersSync.Value-f.Sync.Value, 0), f.Trip.N)
}

// peers returns the time for the other members. Its lower bound leaves out the time in which a
// thread in the leader or in another majority member waited for a processor, or the quota stopped
// the leader. It also leaves out work in the leader if the leader itself measured the agreements or
// round trips, which then contain it.
func peers(f *Facts, at above) run.Measure {
	m := f.beyond(at)
	if !m.Known() {
		return m
	}
	loads := []run.Measure{f.Majority}
	if f.Throttled.Known() { // members may have no quota
		loads = append(loads, f.Throttled)
	}
	if f.agrees() || !f.Acknowledged {
		loads = append(loads, f.Used)
	}
	return atLeast(m, m.Value-f.most(loads...)*max(at.within, 0)-f.uncounted())
}
