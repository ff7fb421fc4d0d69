package cause

import (
	"github.com/coreos/dbtester/analyze/run"
)

// Facts are what the records of a step contain about its time. A fact that was not recorded has
// the reason. Times are in milliseconds, of one request or of one piece of work.
type Facts struct {
	// Response is the mean response time of the requests that ended ok. Service is the part from
	// the sending on; in a closed loop it is the same.
	Response, Service run.Measure
	// Client is the part of the response time that the client itself caused.
	Client run.Measure
	// Inside is the mean time of a write in the members, from having it until the answer.
	Inside run.Measure
	// Throttled and Syncing are shares of the time, from 0 to 1, in which the leader was stopped
	// by its processor quota, and in which it synced its log.
	Throttled, Syncing run.Measure
	// Sync is the mean time of a sync of the leader's log, FollowersSync that of the fastest
	// follower. Queue is the mean time for which an entry waited for its sync.
	Sync, FollowersSync, Queue run.Measure
	// Agreement is the mean time from the leader's proposal until most members had an entry, Trip
	// that of a round trip from the leader to another member.
	Agreement, Trip run.Measure
	// Waiting is the mean number of the leader's threads that waited for a processor.
	Waiting run.Measure
}

// Line is a part of the mean response time.
type Line struct {
	Name string
	// Definition completes "share of the mean response time of ok requests: ...".
	Definition string
	// Of returns the line's milliseconds. Left are those that the lines above it have left, and
	// synced those of the line of syncs; lines without a value leave all.
	Of func(f *Facts, left, synced float64) run.Measure
}

// Lines whose bounds depend on one another: waits of the syncing thread for a processor are in both.
const (
	nameFsync      = "LEDGER-FSYNC"
	nameProcessors = "LEDGER-PROCESSORS"
)

// Unexplained is the name of the last line: what all others leave.
const Unexplained = "LEDGER-UNEXPLAINED"

// Lines returns the lines in the order of attribution, from the client inwards, and within the
// leader from what is known best to what is known worst.
func Lines() []Line {
	return []Line{
		{"LEDGER-CLIENT", "delay that the client itself added: lateness before the sending, and stops of its process during calls",
			func(f *Facts, _, _ float64) run.Measure { return f.Client }},
		{"LEDGER-FREE-CLIENT", "wait from the due time for a free client, without the line above (rate only)", freeClient},
		{"LEDGER-OUTSIDE", "time outside the members: AVG-SERVICE (closed loop: AVG-LATENCY) without the mean time of a write in the members; network, forwarding to the leader, and the client's reading of the answer", outside},
		{"LEDGER-THROTTLED", "time in which the leader was stopped by its processor quota: the share of the window, of what the lines above leave",
			func(f *Facts, left, _ float64) run.Measure { return during(f.Throttled, left) }},
		{nameFsync, "time in which the leader synced its log, by its own account: the share of the window, of what the lines above leave, or one whole sync if that is longer; with requests that wait for the sync before theirs, and with waits of the syncing thread for a processor, so that it may be as small as low", fsync},
		{"LEDGER-PEERS", "time for the agreement of most members beyond the leader's own syncs, and the wait for them: from the leader's mean agreement, or else from one round trip and the fastest follower's sync", peers},
		{nameProcessors, "time in which a thread of the leader waited for a processor: the mean number of waiting threads, at most 1, of what the lines above leave; several threads can wait at the same time, and not all delay a request, so it is an upper bound, and high has the waits during syncs as well", processors},
	}
}

// Entry is a line with its milliseconds and its percentage of the response time.
type Entry struct {
	Line
	Millis, Share run.Measure
}

// Ledger returns the entries for all lines, and the rest last. Shares sum to 100: the rest has
// what the lines without a value would explain, and is negative if the lines overlap. A ledger
// without any line about the members is nil, with the reason.
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
	left := f.Response.Value
	var syncs, waits run.Measure
	add := func(l Line, m run.Measure) {
		entries = append(entries, Entry{l, m, m.Times(100 / f.Response.Value)})
	}
	for _, l := range Lines() {
		m := l.Of(f, left, syncs.Value)
		switch {
		case !m.Known():
		case l.Name == nameFsync:
			syncs = m
		case l.Name == nameProcessors:
			m.High = m.Value + syncs.High - syncs.Low
			waits = m
		}
		if m.Known() {
			left -= m.Value
		}
		add(l, m)
	}
	rest := run.Measured(left, f.Response.N)
	rest.Low, rest.High = left, left+waits.Value
	add(Line{Name: Unexplained}, rest)
	return entries, run.Measure{}
}

// during is the part of the time left in which something lasted that takes a share of the window.
// Clients of a closed loop always wait, so what lasts for a share of the window takes that share
// of their time.
func during(share run.Measure, left float64) run.Measure {
	if !share.Known() {
		return share
	}
	return run.Measured(min(share.Value, 1)*max(left, 0), share.N)
}

func freeClient(f *Facts, _, _ float64) run.Measure {
	if !f.Service.Known() {
		return f.Service
	}
	wait := f.Response.Value - f.Service.Value
	if f.Client.Known() {
		wait -= f.Client.Value
	}
	return run.Measured(max(wait, 0), f.Service.N)
}

// outside leaves the time inside the members.
func outside(f *Facts, left, _ float64) run.Measure {
	if !f.Inside.Known() {
		return f.Inside
	}
	return run.Measured(left-f.Inside.Value, f.Inside.N)
}

// fsync is at least the part that the leader's waits for a processor cannot explain. A sync that
// takes longer than the agreement of most members was not waited for to its end.
func fsync(f *Facts, left, _ float64) run.Measure {
	if !f.Syncing.Known() {
		return f.Syncing
	}
	waited := 1.0
	if f.Agreement.Known() && f.Sync.Known() && f.Sync.Value > f.Agreement.Value {
		waited = f.Agreement.Value / f.Sync.Value
	}
	m := during(f.Syncing.Times(waited), left)
	if f.Sync.Known() {
		whole := f.Sync.Value * waited
		if f.Throttled.Known() { // syncs last while the leader is stopped
			whole *= 1 - min(f.Throttled.Value, 1)
		}
		m.Value = max(m.Value, whole)
	}
	if f.Waiting.Known() {
		m.Low, m.High = max(m.Value-min(f.Waiting.Value, 1)*max(left, 0), 0), m.Value
	}
	return m
}

// peers leaves out what the agreement and the leader's syncs have in common: the entry's sync, and
// its wait for the one before.
func peers(f *Facts, _, synced float64) run.Measure {
	switch {
	case f.Agreement.Known() && f.Sync.Known():
		own := f.Sync.Value
		if f.Queue.Known() {
			own += f.Queue.Value
		}
		return run.Measured(max(f.Agreement.Value-max(own, synced), 0), f.Agreement.N)
	case !f.Trip.Known():
		return f.Trip
	case !f.FollowersSync.Known():
		return f.FollowersSync
	case !f.Sync.Known():
		return f.Sync
	}
	return run.Measured(max(f.Trip.Value+f.FollowersSync.Value-f.Sync.Value, 0), f.Trip.N)
}

func processors(f *Facts, left, _ float64) run.Measure { return during(f.Waiting, left) }
