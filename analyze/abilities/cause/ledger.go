package cause

import (
	"github.com/coreos/dbtester/analyze/run"
)

// Lines returns the lines in attribution order, from the client inwards, and within the leader from
// the best known time to the worst known one.
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

// Ledger returns the entries for all lines, and the rest last. Shares sum to 100: the rest contains
// the time for lines without a value, and is negative if the lines overlap. Without any line about
// the members, Ledger returns nil and the reason.
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
