package cause

import "github.com/coreos/dbtester/analyze/run"

// Facts are numbers recorded in a step that explain its time. A fact that was not recorded has the
// reason. Times are in milliseconds, for one request or one piece of work.
type Facts struct {
	// Response is the mean response time over the requests that ended ok. Service is the part from
	// the sending on; in a closed loop it is the same.
	Response, Service run.Measure
	// Pending counts requests sent but not answered, on average.
	Pending run.Measure
	// Client is the response time that the client itself caused.
	Client run.Measure
	// Inside is the mean time that a write spends in the members, from when they have it until the
	// answer.
	Inside run.Measure
	// Throttled and Syncing are the shares of time, from 0 to 1, in which its processor quota
	// stopped the leader and in which it synced its log. The kernel adds up the former over
	// processors.
	Throttled, Syncing run.Measure
	// Periods is the share of quota periods in which the leader was stopped.
	Periods run.Measure
	// Sync is the mean time that the leader's log syncs take, FollowersSync the fastest follower's.
	// Queue is the mean time for which an entry waited for its sync.
	Sync, FollowersSync, Queue run.Measure
	// Agreement is the mean time from a proposal until most members had an entry. Trip is the mean
	// round trip from the leader to the nearest members that are a majority with it or, as the
	// leader measured it, to any.
	Agreement, Trip run.Measure
	// Acknowledged means that an acknowledgement by the other kernel ends a round trip, so that it
	// contains no work by members.
	Acknowledged bool
	// Whole means that members count some of these times in whole milliseconds.
	Whole bool
	// Waiting counts leader threads that waited for a processor, on average.
	Waiting run.Measure
	// ClientsBusy is the used share of the processors available to clients on their machine.
	ClientsBusy run.Measure
	// Used counts processors that the leader used, on average. Processors are those in its machine,
	// Allowed those that it may use at once.
	Used, Processors, Allowed run.Measure
	// Busy is the share of processors in the leader's machine, from 0 to 1, that this run used: the
	// members there, and the clients if they are there.
	Busy run.Measure
	// Members and Clients are the processor loads from all members and from the clients.
	Members, Clients Load
	// Majority counts threads that waited for a processor, on average, in the leader and in as many
	// others as make a majority with it: those with the most waits.
	Majority run.Measure
	// Direct means that all clients are connected to the leader.
	Direct bool
	// Shared means that clients and members share a machine.
	Shared bool
}

// Load counts waiting threads and used processors, on average.
type Load struct{ Waiting, Used run.Measure }

// Line is a part of the mean response time.
type Line struct {
	Name string
	// Definition completes "share of the mean response time of ok requests: ...".
	Definition string
	// Of returns the line's milliseconds. Lines without a value leave all.
	Of func(*Facts, above) run.Measure
	// inside means that it is time in the members.
	inside bool
	// unsure is how much of the line may have been waits for a processor.
	unsure func(*Facts, run.Measure) float64
}

// above sums up the lines above a line, in milliseconds.
type above struct {
	// left is the response time that they leave. within is the time in the members that the lines
	// outside them leave.
	left, within float64
	// unsure is how much of the lines may have been waits for a processor.
	unsure float64
}

// Line names that rules refer to.
const (
	nameClient     = "LEDGER-CLIENT"
	nameFreeClient = "LEDGER-FREE-CLIENT"
	nameOutside    = "LEDGER-OUTSIDE"
	nameThrottled  = "LEDGER-THROTTLED"
	nameFsync      = "LEDGER-FSYNC"
	namePeers      = "LEDGER-PEERS"
	nameProcessors = "LEDGER-PROCESSORS"
)

// Unexplained names the last line: the time that all others leave.
const Unexplained = "LEDGER-UNEXPLAINED"

// bounds returns the bounds on a measure, equal ones for an exact value.
func bounds(m run.Measure) (low, high float64) {
	if m.Low == 0 && m.High == 0 {
		return m.Value, m.Value
	}
	return m.Low, m.High
}

// atLeast returns a measure with a lower bound, which is positive or 0.
func atLeast(m run.Measure, low float64) run.Measure {
	m.Low, m.High = min(max(low, 0), m.Value), m.Value
	return m
}

// during returns the part of the time left that an activity took, if it lasts for a share of the
// window. Closed-loop clients always wait, so it takes the same share of their time.
func during(share run.Measure, left float64) run.Measure {
	if !share.Known() {
		return share
	}
	return run.Measured(min(share.Value, 1)*max(left, 0), share.N)
}

// most returns the largest part of the time with pending requests that activities with these shares
// of the window can have taken. Where less than one request was pending, all activity may have
// fallen into the times with a request. It is 1 if a share was not recorded.
func (f *Facts) most(shares ...run.Measure) float64 {
	sum := 0.0
	for _, s := range shares {
		if !s.Known() {
			return 1
		}
		sum += s.Value
	}
	if !f.Pending.Known() {
		return 1
	}
	if f.Pending.Value > 0 && f.Pending.Value < 1 {
		sum /= f.Pending.Value
	}
	return min(sum, 1)
}

// beyondLow returns how far a measure is above its lower bound.
func beyondLow(_ *Facts, m run.Measure) float64 {
	low, _ := bounds(m)
	return m.Value - low
}

// Entry is a line with its milliseconds and its percentage of the response time.
type Entry struct {
	Line
	Millis, Share run.Measure
}
