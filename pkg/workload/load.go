package workload

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// Load describes the requests to one database. Each parameter is declared in one of these groups
// and nowhere else; the experiment, the engine and the manifest hold this type. Group names are in
// no record.
type Load struct {
	Content
	Keyspace
	Extent
	Pace
	Sizing
	Limits
	Route
	Validity
}

// Content is what the requests do.
type Content struct {
	// Operation is sent by every request; "" if there is a Mix.
	Operation Op `json:"operation,omitempty"`
	// Workload names one of [Workloads] if Mix was given by name.
	Workload string `json:"workload,omitempty"`
	// Mix holds operations and their weights in file order; empty means Operation alone.
	Mix []Share `json:"mix,omitempty"`
	// Read is the read mode; "" if no operation reads.
	Read ReadMode `json:"read,omitempty"`
}

// Keyspace is the keys that requests take, and the keys that exist before the load.
type Keyspace struct {
	// Keys is the number of keys that are written before the load, for operations on keys that
	// exist, and of locks with names. KeyLaw decides which of these an operation takes. Both are
	// zero with SameKey or if no operation needs a key.
	Keys   int64  `json:"keys,omitempty"`
	KeyLaw KeyLaw `json:"key_law,omitempty"`
	// Preload, if not 0, is the number of keys written before the load, whatever it does: at least
	// Keys.
	Preload int64 `json:"preload_keys,omitempty"`
	// HotKeys is the number of hot keys with [KeysHotset], HotShare the share of requests that take
	// one, and HotMoves the number of requests after which they move on; 0 means never.
	HotKeys  int64   `json:"hot_keys,omitempty"`
	HotShare Percent `json:"hot_share_percent,omitempty"`
	HotMoves int64   `json:"hot_moves,omitempty"`
	// SameKey sends every request to one key.
	SameKey bool `json:"same_key,omitempty"`
	// Sessions is the number granted before the load, for operations that take sessions. SessionTTL
	// is the time to live to request for each. Both are 0 without operations on sessions.
	Sessions   int64         `json:"sessions,omitempty"`
	SessionTTL time.Duration `json:"session_ttl_ns,omitempty"`
	// Locks are the locks that operations acquire; zero if they acquire no locks.
	Locks Locks `json:"locks,omitzero"`
}

// Locks describes locks that requests take, whose names are key numbers.
type Locks struct {
	// Recipe is the way to take a lock, and Hold the time for which it is kept.
	Recipe string        `json:"recipe,omitempty"`
	Hold   time.Duration `json:"hold_ns,omitempty"`
	// TTL is requested for each contender's session. Each client has one contender.
	TTL time.Duration `json:"ttl_ns,omitempty"`
	// Delay is the time in which no contender gets a lock whose holder died, where members have
	// such a time.
	Delay time.Duration `json:"delay_ns,omitempty"`
}

// Extent has the numbers of requests and clients, and the duration.
type Extent struct {
	// Requests bounds the load if not 0, Duration too. At least one is set. With Steps they are the
	// sums over the steps.
	Requests int64         `json:"requests"`
	Duration time.Duration `json:"duration_ns,omitempty"`
	// Clients is the number of concurrent clients, Connections the number of connections they
	// share. Steps, if not empty, run one after the other; Clients and Connections are then the
	// largest in any step.
	Clients     int    `json:"clients"`
	Connections int    `json:"connections"`
	Steps       []Step `json:"steps,omitempty"`
}

// Pace is when requests are due.
type Pace struct {
	// Rate is due requests per second over all clients; 0 is a closed loop.
	Rate float64 `json:"rate,omitempty"`
	// RateEnd, if not 0, is the rate at the end of Duration. Ramp is the time over which the first
	// requests from clients in a closed loop are spread. With Steps both are 0: each step has its
	// own.
	RateEnd float64       `json:"rate_end,omitempty"`
	Ramp    time.Duration `json:"ramp_ns,omitempty"`
	// Arrival, Backlog and Bind mean nothing in a closed loop, nor does [Limits.Drain].
	Arrival Arrival `json:"arrival"`
	Backlog Backlog `json:"backlog"`
	Bind    Bind    `json:"bind,omitempty"`
	// Period is the length of one wave if the rate changes in periods, and Peak the highest rate as
	// a multiple of Rate, the mean. Burst is the time at the highest rate at the start of each
	// period; 0 for a sine.
	Period time.Duration `json:"period_ns,omitempty"`
	Peak   float64       `json:"peak,omitempty"`
	Burst  time.Duration `json:"burst_ns,omitempty"`
}

// Sizing has key, value and request sizes.
type Sizing struct {
	// KeySize and ValueSize are in bytes, and exact. A key is longer if its number
	// has more digits.
	KeySize   int `json:"key_size"`
	ValueSize int `json:"value_size"`
	// ValueSizeMax, if not 0, makes sizes range from ValueSize to ValueSizeMax: uniformly
	// unless Sizes has a law.
	ValueSizeMax int   `json:"value_size_max,omitempty"`
	Sizes        Sizes `json:"value_sizes,omitzero"`
	// RangeLimit is the most keys that one range, or one page of it, reads; 0 if no operation reads
	// ranges.
	RangeLimit int `json:"range_limit,omitempty"`
	// RangeMode is what data a range reads; "" means [RangeValues] if there are ranges. A mode
	// without a limit has a RangeLimit of 0.
	RangeMode RangeMode `json:"range_mode,omitempty"`
	// TxnKeys is the number of keys that one txn writes; 0 if no operation is a txn.
	TxnKeys int `json:"txn_keys,omitempty"`
}

// Limits bound, in time, a request, the backlog and which requests are measured.
type Limits struct {
	// Timeout is the request deadline, counted from when it was sent.
	Timeout time.Duration `json:"timeout_ns"`
	// Drain is the time after the end in which the backlog is still sent.
	Drain time.Duration `json:"drain_ns"`
	// WarmUp and CoolDown are cut from the measured population at both ends of each
	// step. CoolDown needs a step with a duration.
	WarmUp   time.Duration `json:"warm_up_ns,omitempty"`
	CoolDown time.Duration `json:"cool_down_ns,omitempty"`
}

// Route says to which members requests go.
type Route struct {
	// Target selects the members that connections go to: all, leader, follower, a host address, or
	// an endpoint.
	Target string `json:"target"`
	// Failover decides where a client goes when its member is lost.
	Failover Failover `json:"failover,omitempty"`
}

// Validity decides whether the numbers in a load are valid.
type Validity struct {
	// Judge bounds single facts. Expect says which failures are expected.
	Judge  Judge  `json:"judge,omitzero"`
	Expect Expect `json:"expect,omitzero"`
}

// Operations returns the operations in file order.
func (l Load) Operations() []Op {
	if len(l.Mix) == 0 {
		return []Op{l.Operation}
	}
	ops := make([]Op, len(l.Mix))
	for i, s := range l.Mix {
		ops[i] = s.Operation
	}
	return ops
}

// Any reports whether any operation in the load has a property: l.Any(workload.Op.Reads).
func (l Load) Any(has func(Op) bool) bool { return slices.ContainsFunc(l.Operations(), has) }

// Shares returns the mix; a single operation is a mix of one.
func (l Load) Shares() []Share {
	if len(l.Mix) == 0 {
		return []Share{{Operation: l.Operation, Weight: 1}}
	}
	return slices.Clone(l.Mix)
}

// Describe returns the operations as text: "write", "95 % read, 5 % update" or
// "ycsb-b (95 % read, 5 % update)".
func (l Load) Describe() string {
	switch {
	case len(l.Mix) == 0:
		return string(l.Operation)
	case l.Workload == "":
		return Percents(l.Mix)
	}
	return l.Workload + " (" + Percents(l.Mix) + ")"
}

// Stretches returns the steps; a load without steps is one stretch.
func (l Load) Stretches() []Step {
	if len(l.Steps) > 0 {
		return slices.Clone(l.Steps)
	}
	return []Step{{
		Clients: l.Clients, Connections: l.Connections, Requests: l.Requests, Duration: l.Duration,
		Rate: l.Rate, RateEnd: l.RateEnd, Ramp: l.Ramp,
	}}
}

// MostClients returns the largest number of clients in any stretch.
func (l Load) MostClients() (n int) {
	for _, s := range l.Stretches() {
		n = max(n, s.Clients)
	}
	return n
}

// Rated reports whether any stretch has a rate.
func (l Load) Rated() bool {
	return slices.ContainsFunc(l.Stretches(), func(s Step) bool { return s.Rate > 0 })
}

// ReadsCreated reports whether operations take keys that the load itself creates.
func (l Load) ReadsCreated() bool {
	return l.KeyLaw == KeysLatest && !l.SameKey && l.Any(Op.Creates) && l.Any(Op.NeedsKey)
}

// CheckParts returns an error if a load cannot be issued in parts. Part g has the requests whose
// number modulo the number of parts is g, and knows only its own outcomes.
func (l Load) CheckParts(parts int) error {
	if parts <= 1 {
		return nil
	}
	versioned := l.Any(func(o Op) bool { return o.Guarded() && o.NeedsKey() })
	odd := slices.IndexFunc(l.Stretches(), func(s Step) bool { return s.Rate > 0 && s.Clients%parts != 0 })
	switch {
	case l.Bind == BindClient && odd >= 0:
		return fmt.Errorf("requests that are bound to clients need clients that %d parts divide, got %d: the requests of a client would be in several parts",
			parts, l.Stretches()[odd].Clients)
	case l.ReadsCreated():
		return fmt.Errorf("a load that reads the keys it creates must have 1 part, got %d: no part knows which writes of the others ended", parts)
	case versioned && !l.OwnKeys(parts):
		return fmt.Errorf("transactions in %d parts must each write 1 key, taken by the law %s from a number of keys that the parts divide, got %d keys by transaction from %d by the law %q: no part knows the versions that others write",
			parts, KeysSequential, max(l.TxnKeys, 1), l.Keys, l.KeyLaw)
	}
	return nil
}

// OwnKeys reports whether each part of a load has its own keys, so that no part sends a request for
// another's key. If keys are taken in turn, part g takes the keys whose number modulo the number of
// parts is g. A created key belongs to the part whose request creates it.
func (l Load) OwnKeys(parts int) bool {
	if parts <= 1 {
		return true
	}
	inTurn := l.TxnKeys <= 1 && l.Keys%int64(parts) == 0 && (l.KeyLaw == KeysSequential || l.KeyLaw == "")
	return !l.SameKey && !l.Any(Op.Ranges) && (inTurn || !l.Any(Op.NeedsKey))
}

// LongestHold bounds the time for which requests hold a lock.
const LongestHold = time.Hour

// MostSessions bounds the sessions that are granted before a load.
const MostSessions = 10_000_000

// SessionsUsed returns the number of sessions granted before the load that its requests use up:
// they end that many more than they begin. Without a bound on the requests, known is false if they
// use up sessions at all.
func (l Load) SessionsUsed() (n int64, known bool) {
	mix := l.Shares()
	perBlock := int64(0)
	for i, n := range PerBlock(mix) {
		perBlock -= n * int64(mix[i].Operation.Sessions())
	}
	if perBlock <= 0 {
		return 0, true
	}
	requests := int64(0)
	for _, s := range l.Stretches() {
		most := s.Requests
		if s.Rate > 0 && s.Duration > 0 {
			if due := int64(math.Ceil(max(s.Rate, s.RateEnd) * s.Duration.Seconds())); most == 0 || due < most {
				most = due
			}
		}
		if most == 0 {
			return 0, false
		}
		requests += most
	}
	return min((requests+Block-1)/Block*perBlock, requests), true
}

// LargestValue returns the size in bytes of the largest value that the load writes.
func (l Load) LargestValue() int { return max(l.ValueSize, l.ValueSizeMax) }

// Existing counts the keys written before the load.
func (l Load) Existing() int64 {
	switch {
	case !l.Any(Op.NeedsKey):
		return l.Preload
	case l.SameKey:
		return 1
	}
	return max(l.Keys, l.Preload)
}

// KeyNumbers returns the number of key numbers for so many requests. Requests are mixed in blocks,
// so the last block may number keys for which no request is left.
func (l Load) KeyNumbers(requests int64) int64 {
	if l.SameKey {
		return 1
	}
	const enough = 1 << 62 // has as many digits as any number here, and twice it fits
	keys, created := min(max(l.Keys, l.Preload), enough), min(requests, enough-Block)
	mix := l.Shares()
	creates := slices.IndexFunc(mix, func(s Share) bool { return s.Operation.Creates() })
	switch {
	case creates < 0:
		return keys
	case len(mix) == 1:
		return keys + created
	}
	return keys + (created+Block-1)/Block*PerBlock(mix)[creates]
}

// Recorded returns the load as manifests record it, without values that have no effect: steps are
// recorded when they run, and a closed loop has no backlog.
func (l Load) Recorded() Load {
	if !l.Rated() {
		l.Arrival, l.Backlog, l.Bind, l.Drain = "", "", "", 0
		l.Period, l.Peak, l.Burst = 0, 0, 0
	}
	for _, s := range l.Steps {
		l.Clients, l.Connections = max(l.Clients, s.Clients), max(l.Connections, s.Connections)
	}
	l.Steps = nil
	return l
}

// DescribeArrival describes when requests at a rate arrive and which clients send them, as text
// that follows the rate: "", ", poisson" or ", bursts of 1s each 10s at 5 times the rate, bound to
// clients".
func (l Load) DescribeArrival() string {
	if l.Bind == BindClient {
		return l.describeSpacing() + ", bound to clients"
	}
	return l.describeSpacing()
}

func (l Load) describeSpacing() string {
	switch l.Arrival {
	case ArrivalPoisson:
		return ", poisson"
	case ArrivalSine:
		return fmt.Sprintf(", sine of %v up to %v times the rate", l.Period, l.Peak)
	case ArrivalBursts:
		return fmt.Sprintf(", bursts of %v each %v at %v times the rate", l.Burst, l.Period, l.Peak)
	}
	return ""
}
