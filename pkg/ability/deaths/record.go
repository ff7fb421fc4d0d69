package deaths

import (
	"time"

	"github.com/coreos/dbtester/pkg/ability"
	"github.com/coreos/dbtester/pkg/observation"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/results/effect"
)

// Record declares the record of held sessions. Without held sessions, 0 were granted.
func Record() ability.Record[Outcome] { return ability.Record[Outcome]{Key: "sessions_held"} }

// Outcome records the sessions that a run held. In JSON, all fields are on one level.
type Outcome struct {
	Plan Plan `json:"plan"`
	Facts
	// Earliest and Latest are when the rule ends a session.
	Earliest time.Duration `json:"earliest_ns"`
	Latest   time.Duration `json:"latest_ns"`
	Tally
	// NotGranted counts the planned sessions that were not granted with all their keys.
	NotGranted int `json:"not_granted,omitempty"`
	// GrantsPerSecond is the rate at which sessions were granted, with their keys.
	GrantsPerSecond float64 `json:"grants_per_second"`
	// Keeps are the response times for answered renewals, in nanoseconds.
	Keeps *results.Spread `json:"keeps,omitempty"`
	Ends
	// Before and During are the request p99 in the seconds before the one with the first death, and
	// in those from the first end to the last.
	Before *Latency `json:"before,omitempty"`
	During *Latency `json:"during,omitempty"`
	// Machines counts the generators that held the sessions, 0 if the client did. Each judged its
	// own sessions by its own clock. The times from Death on cover all sessions, by clocks that are
	// known to ClockError.
	Machines   int           `json:"machines,omitempty"`
	ClockError time.Duration `json:"clock_error_ns,omitempty"`
}

// Facts describe the database sessions.
type Facts struct {
	What    string `json:"what"`
	Rule    string `json:"rule"`
	Renewal string `json:"renewal"`
	Watch   string `json:"watch"`
}

// Tally counts the sessions that one machine holds, or that several machines hold together.
type Tally struct {
	// TTL is the TTL that members granted.
	TTL time.Duration `json:"ttl_ns"`
	// Granted sessions got all their keys. Why is the first reason that another did not.
	Granted int    `json:"granted"`
	Why     string `json:"why,omitempty"`
	// KeepsLost counts the unanswered renewals, KeepsLate those sent later than planned by a
	// tenth of the TTL or more.
	KeepsLost int64 `json:"keeps_lost,omitempty"`
	KeepsLate int64 `json:"keeps_late,omitempty"`
	// Abandoned holders died from Death on.
	Abandoned int       `json:"abandoned"`
	Death     time.Time `json:"death,omitzero"`
	// Early sessions ended before the rule allows. Unrenewed sessions ended while held because
	// members did not answer their renewals, and Missed ones because the client sent no renewal in
	// time.
	Early     int `json:"early,omitempty"`
	Unrenewed int `json:"unrenewed,omitempty"`
	Missed    int `json:"missed,omitempty"`
	// Resolution is the longest time between the last read that found a key and its observed end, 0
	// where members report the end.
	Resolution time.Duration `json:"resolution_ns,omitempty"`
	// Delayed ends were read right after this client had stopped for a while. The longest stop took
	// LongestStop.
	Delayed     int           `json:"delayed,omitempty"`
	LongestStop time.Duration `json:"longest_stop_ns,omitempty"`
	// Left sessions could not be ended at the end of the run, because of WhyLeft.
	Left    int    `json:"left,omitempty"`
	WhyLeft string `json:"why_left,omitempty"`
}

// Ends describe when abandoned sessions ended.
type Ends struct {
	// Expired counts the abandoned sessions whose keys were all gone, NotExpired the other
	// abandoned ones. FirstGone is the time from [Tally.Death] to the first end, AllGone the time
	// to the last.
	Expired    int           `json:"expired"`
	NotExpired int           `json:"not_expired,omitempty"`
	FirstGone  time.Duration `json:"first_gone_ns,omitempty"`
	AllGone    time.Duration `json:"all_gone_ns,omitempty"`
	// RenewedNS is the time from the first to the last among their last renewals.
	RenewedNS int64 `json:"renewed_ns,omitempty"`
	// Late is the time from the TTL to the ends, in nanoseconds, timed from sending the last
	// renewal. LateLeast is timed from its answer, up to the last time the keys were seen.
	Late      *results.Spread `json:"late,omitempty"`
	LateLeast *results.Spread `json:"late_least,omitempty"`
	// PerSecond counts the sessions that ended per second, without the first and the last
	// twentieth; 0 if there are few.
	PerSecond float64 `json:"per_second,omitempty"`
	// Survivors are the remaining sessions by time after their TTL.
	Survivors []Survivors `json:"survivors,omitempty"`
}

// Survivors counts the sessions that remained at a time after their TTL.
type Survivors struct {
	After time.Duration `json:"after_ns"`
	Left  int           `json:"left"`
}

// Latency is the p99 over ok requests in some seconds.
type Latency = effect.Latency

// The values by second.
const (
	ValueGrant     = "grant"
	ValueKeep      = "keep"
	ValueKeepLost  = "keeps_lost"
	ValueLate      = "late"
	ValueLateLeast = "late_least"
	ValueEarly     = "early"
)

// Observed declares the values that are counted and timed by second.
func Observed() observation.Group {
	return observation.Group{Name: "sessions", Values: []observation.Value{
		observation.Timed(ValueGrant, "times until a session was granted"),
		observation.Timed(ValueKeep, "times that session renewals took until they were answered"),
		observation.Summed(ValueKeepLost, "renewals", "session renewals that were not answered, or that ended without success"),
		observation.Timed(ValueLate, "times from the end of a session's TTL, which counts from when its last renewal was sent, until its last key was gone"),
		observation.Timed(ValueLateLeast, "the same times, but counted from the answer to the last renewal, and until the key was last seen"),
		observation.Summed(ValueEarly, "sessions", "sessions that ended before the database's rule allows"),
	}}
}
