package cause

import (
	"github.com/coreos/dbtester/analyze/run"
)

// Facts are the numbers from the records of a step that explain its time. A fact that was not
// recorded has the reason. Times are in milliseconds, of one request or of one piece of work.
type Facts struct {
	// Response is the mean response time of the requests that ended ok. Service is the part from
	// the sending on; in a closed loop it is the same.
	Response, Service run.Measure
	// Pending is the mean number of requests that were sent and not answered.
	Pending run.Measure
	// Client is the part of the response time that the client itself caused.
	Client run.Measure
	// Inside is the mean time of a write in the members, from having it until the answer.
	Inside run.Measure
	// Throttled and Syncing are shares of the time, from 0 to 1, in which the leader was stopped
	// by its processor quota, and in which it synced its log. The kernel adds up the former over
	// processors.
	Throttled, Syncing run.Measure
	// Periods is the share of the quota's periods in which the leader was stopped.
	Periods run.Measure
	// Sync is the mean time of a sync of the leader's log, FollowersSync that of the fastest
	// follower. Queue is the mean time for which an entry waited for its sync.
	Sync, FollowersSync, Queue run.Measure
	// Agreement is the mean time from the leader's proposal until most members had an entry, Trip
	// that of a round trip from the leader to the nearest members that are a majority with it, or, by
	// the leader's own measure, to any.
	Agreement, Trip run.Measure
	// Acknowledged means that the round trips end with acknowledgements by the other kernel, so that
	// they contain no work of members.
	Acknowledged bool
	// Whole means that members count whole milliseconds of some of these times.
	Whole bool
	// Waiting is the mean number of the leader's threads that waited for a processor.
	Waiting run.Measure
	// ClientsBusy is the share of the processors of the clients' machine that they used, of those that
	// they may use.
	ClientsBusy run.Measure
	// Used is the mean number of processors that the leader used. Processors are those of its
	// machine, Allowed those that it may use at once.
	Used, Processors, Allowed run.Measure
	// Busy is the share of the processors of the leader's machine, from 0 to 1, that this run used:
	// the members there, and the clients if they are there.
	Busy run.Measure
	// Members and Clients are the processor loads of all members and of the clients.
	Members, Clients Load
	// Majority is the mean number of threads that waited for a processor of the leader and, of the
	// others, of as many as make a majority with it: those of which most waited.
	Majority run.Measure
	// Direct means that all clients are connected to the leader.
	Direct bool
	// Shared means that clients and members share a machine.
	Shared bool
}

// Load is the mean number of threads that waited for a processor, and of used processors.
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
	// left is the response time that they leave, and within the time in the members, which the lines
	// outside of them leave.
	left, within float64
	// unsure is how much of the lines may have been waits for a processor.
	unsure float64
}

// Names of lines that rules refer to.
const (
	nameClient     = "LEDGER-CLIENT"
	nameFreeClient = "LEDGER-FREE-CLIENT"
	nameOutside    = "LEDGER-OUTSIDE"
	nameThrottled  = "LEDGER-THROTTLED"
	nameFsync      = "LEDGER-FSYNC"
	namePeers      = "LEDGER-PEERS"
	nameProcessors = "LEDGER-PROCESSORS"
)

// Unexplained is the name of the last line: the time that all others leave.
const Unexplained = "LEDGER-UNEXPLAINED"

// Lines returns the lines in the order of attribution, from the client inwards, and within the
// leader from the best known time to the worst known one.
func Lines() []Line {
	return []Line{
		{nameClient, "delay that the client itself added: lateness before the sending, and stops of its process during calls", clientDelay, false, beyondLow},
		{nameFreeClient, "wait from the due time for a free client, without the line above (rate only)", freeClient, false, beyondLow},
		{nameOutside, "time outside the members: AVG-SERVICE (closed loop: AVG-LATENCY) without the mean time of a write in the members; network, forwarding to the leader, and the client's reading of the answer; low is without the time in which threads of clients or members (of the leader alone if all clients are connected to it) waited for a processor, the leader was stopped by its quota and, if they share a machine, they ran", outside, false, beyondLow},
		{nameThrottled, "time in which the leader was stopped by its processor quota: the share of the window, of what the lines above leave; low counts stops on several processors at once as one, unless it was stopped in nearly every period", throttled, true, noWaits},
		{nameFsync, "time in which the leader synced its log, by its own account: the share of the window, of what the lines above and the next one leave, or one whole sync if that is longer; with requests that wait for the sync before theirs, and with waits of the syncing thread for a processor; low is one whole sync without these", fsync, true, syncsUnsure},
		{namePeers, "time for the agreement of most members beyond the leader's own sync, and the wait for it: from the leader's mean agreement, or else from one round trip and the fastest follower's sync; low is without the time in which threads of the leader and of as many others as make a majority with it waited for a processor, the leader was stopped by its quota and, unless its kernel timed the round trip, the leader ran", peers, true, beyondLow},
		{nameProcessors, "time in which a thread of the leader waited for a processor: the mean number of waiting threads, at most 1, of what the lines above leave; several threads can wait at the same time, and not all delay a request, so it is an upper bound, and high has the waits that may be in the lines above as well", processors, true, beyondLow},
	}
}

// Entry is a line with its milliseconds and its percentage of the response time.
type Entry struct {
	Line
	Millis, Share run.Measure
}

// Ledger returns the entries for all lines, and the rest last. Shares sum to 100: the rest contains
// the time of the lines without a value, and is negative if the lines overlap. Without any line
// about the members, Ledger returns nil and the reason.
func Ledger(f *Facts) (entries []Entry, why run.Measure) {
	if !f.Response.Known() {
		return nil, f.Response
	}
	if f.Response.Value <= 0 {
		return nil, run.Inapplicable("requests took no time")
	}
	if !f.Throttled.Known() && !f.Syncing.Known() && !f.Inside.Known() && !f.Waiting.Known() {
		return nil, run.Inapplicable("%s", f.Waiting.Missing)
	}
	at := above{left: f.Response.Value}
	most := 0.0 // the most time that may belong to the rest as well
	add := func(l Line, m run.Measure) {
		entries = append(entries, Entry{l, m, m.Times(100 / f.Response.Value)})
	}
	for _, l := range Lines() {
		if !l.inside {
			at.within = at.left
		}
		m := l.Of(f, at)
		if m.Known() {
			at.left -= m.Value
			most += beyondLow(f, m)
			at.unsure += l.unsure(f, m)
		}
		if !l.inside {
			at.within = at.left
		}
		add(l, m)
	}
	rest := run.Measured(at.left, f.Response.N)
	rest.Low, rest.High = at.left, at.left+most
	add(Line{Name: Unexplained}, rest)
	return entries, run.Measure{}
}

// bounds returns the bounds of a measure, equal ones for an exact value.
func bounds(m run.Measure) (low, high float64) {
	if m.Low == 0 && m.High == 0 {
		return m.Value, m.Value
	}
	return m.Low, m.High
}

// beyondLow returns the distance of a measure from its lower bound.
func beyondLow(_ *Facts, m run.Measure) float64 {
	low, _ := bounds(m)
	return m.Value - low
}

// atLeast returns a measure with a lower bound, which is positive or 0.
func atLeast(m run.Measure, low float64) run.Measure {
	m.Low, m.High = min(max(low, 0), m.Value), m.Value
	return m
}

// during returns the part of the time left that an activity took which lasts for a share of the
// window. Clients of a closed loop always wait, so that it takes the same share of their time.
func during(share run.Measure, left float64) run.Measure {
	if !share.Known() {
		return share
	}
	return run.Measured(min(share.Value, 1)*max(left, 0), share.N)
}

// most returns the largest part of the time of pending requests that activities with these shares of
// the window can have taken. Where less than one request was pending, all activity may have fallen
// into the times with a request. It is 1 if a share was not recorded.
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
