package discovery

import (
	"math"
	"slices"
	"time"

	"github.com/coreos/dbtester/pkg/ability"
	"github.com/coreos/dbtester/pkg/observation"
	"github.com/coreos/dbtester/pkg/results"
)

// Record declares the entry for instances and consumers. Without instances, 0 were registered.
func Record() ability.Record[Outcome] { return ability.Record[Outcome]{Key: "discovered"} }

// Outcome records instances and consumers. In JSON, all fields are on one level.
type Outcome struct {
	Plan Plan `json:"plan"`
	Facts
	// TTL is the TTL that members granted. Earliest and Latest are when the rule ends a session after
	// its last renewal.
	TTL      time.Duration `json:"ttl_ns"`
	Earliest time.Duration `json:"earliest_ns"`
	Latest   time.Duration `json:"latest_ns"`
	Registered
	// Watching consumers watched from before the load on. Broken consumers stopped before its end,
	// the first because of BrokenWhy.
	Watching  int    `json:"watching"`
	Broken    int    `json:"broken,omitempty"`
	BrokenWhy string `json:"broken_why,omitempty"`
	// Began is when the load began for the instances, and Quiet the time in which nothing happened
	// to them.
	Began time.Time     `json:"began"`
	Quiet time.Duration `json:"quiet_ns"`
	// Changes are the deaths, deploys and elections, by time.
	Changes []Change `json:"changes"`
	Counts
	// Witnesses are the first wrong changes.
	Witnesses []Witness `json:"witnesses,omitempty"`
	// BehindWhy is why consumers may not have received everything at the end, "" if they had.
	BehindWhy string `json:"behind_why,omitempty"`
	// Resolution bounds the error in change times. It is the longest time from sending a last
	// renewal to its answer, or from the last look that found an instance's key to the first that
	// did not.
	Resolution time.Duration `json:"resolution_ns"`
	// Delayed reports were read right after this process had stopped for a while. The longest stop
	// took LongestStop.
	Delayed     int           `json:"delayed,omitempty"`
	LongestStop time.Duration `json:"longest_stop_ns,omitempty"`
}

// Facts describe the database sessions.
type Facts struct {
	What    string `json:"what"`
	Rule    string `json:"rule"`
	Renewal string `json:"renewal"`
	Watch   string `json:"watch"`
	// Beside is another way in which the database's users find dead instances, or "".
	Beside string `json:"beside,omitempty"`
}

// Registered describes the registrations.
type Registered struct {
	// Registered instances had their keys before the load, at PerSecond keys a second.
	// NotRegistered others had no key, the first because of Why.
	Registered    int     `json:"registered"`
	PerSecond     float64 `json:"registered_per_second"`
	NotRegistered int     `json:"not_registered,omitempty"`
	Why           string  `json:"why,omitempty"`
	// Keeps are the response times for answered renewals, in nanoseconds. KeepsLost counts the
	// others, KeepsLate those sent later than planned by a tenth of the TTL or more.
	Keeps     *results.Spread `json:"keeps,omitempty"`
	KeepsLost int64           `json:"keeps_lost,omitempty"`
	KeepsLate int64           `json:"keeps_late,omitempty"`
	// Left sessions could not be ended at the end of the run, the first because of WhyLeft.
	Left    int    `json:"left,omitempty"`
	WhyLeft string `json:"why_left,omitempty"`
}

// Counts count the changes that consumers received, and their errors.
type Counts struct {
	// Told counts the changes that consumers received.
	Told int64 `json:"told"`
	// Early sessions ended before the rule allows. For Alive of these the instance lived.
	Early int `json:"early,omitempty"`
	Alive int `json:"alive,omitempty"`
	// Unrenewed sessions ended while their instances lived because members did not answer their
	// renewals, and Missed ones because the client sent no renewal in time.
	Unrenewed int `json:"unrenewed,omitempty"`
	Missed    int `json:"missed,omitempty"`
	// Lost changes never came to a consumer that received all later ones. Behind changes had not
	// come by the end, but may still come.
	Lost   int `json:"lost,omitempty"`
	Behind int `json:"behind,omitempty"`
}

// Change is a death, a deploy or an election. Its parts add up exactly to Whole.
type Change struct {
	Kind     Kind `json:"kind"`
	Instance int  `json:"instance"`
	// At counts from [Outcome.Began] to when the instance died or the release was sent. In an
	// election, Instance is the leader that died, -1 if there was no leader.
	At time.Duration `json:"at_ns"`
	// Heard consumers knew by the end. All means that every consumer did that watched until then.
	Heard int  `json:"heard"`
	All   bool `json:"all,omitempty"`
	// Whole is the time from At until the last consumer knew, if All is set.
	Whole time.Duration `json:"whole_ns,omitempty"`
	// Left is the remaining TTL when the instance died, counted from when the last renewal was
	// sent. Late is the time from when the TTL ended until the first consumer knew, or, for a
	// leader, the first consumer or instance. Deploys have neither.
	Left time.Duration `json:"left_ns,omitempty"`
	Late time.Duration `json:"late_ns,omitempty"`
	// Again is, for deploys, the time from when the release was sent until the new key was
	// requested.
	Again time.Duration `json:"again_ns,omitempty"`
	// HandOff is, for elections, the time from the end of Late until another instance was the
	// leader.
	HandOff time.Duration `json:"hand_off_ns,omitempty"`
	// FanOut is the time until the last consumer knew: from when the first one knew about a death,
	// from when a deploy requested the new key, or from when the next leader was elected.
	FanOut time.Duration `json:"fan_out_ns,omitempty"`
	// Why is why an instance could not be deployed, "" if it was.
	Why string `json:"why,omitempty"`
}

// Fault says what is wrong with a change that a consumer should have received.
type Fault string

// The kinds of Fault.
const (
	Early Fault = "early"
	Lost  Fault = "lost"
)

// Witness is a wrong change.
type Witness struct {
	Fault    Fault `json:"fault"`
	Instance int   `json:"instance"`
	// Consumer is the one that did not receive it, or -1 for all consumers.
	Consumer int `json:"consumer"`
	// After is the time from the last renewal until an early session ended.
	After time.Duration `json:"after_ns,omitempty"`
}

// Of returns the changes of one kind that all consumers knew.
func (o *Outcome) Of(k Kind) (list []Change) {
	for _, c := range o.Changes {
		if c.Kind == k && c.All {
			list = append(list, c)
		}
	}
	return list
}

// Count returns the number of such changes.
func (o *Outcome) Count(k Kind) (n int) {
	for _, c := range o.Changes {
		if c.Kind == k {
			n++
		}
	}
	return n
}

// fewest is the number of times below which a p99 adds nothing to the largest.
const fewest = 300

// Times summarizes a few times. P99 is 0 for fewer than 300.
type Times struct {
	N                  int
	P50, P95, P99, Max time.Duration
}

// TimesOf summarizes one part of each change.
func TimesOf(list []Change, part func(*Change) time.Duration) (t Times) {
	var times []time.Duration
	for i := range list {
		times = append(times, part(&list[i]))
	}
	if len(times) == 0 {
		return t
	}
	slices.Sort(times)
	at := func(q float64) time.Duration { return times[int(math.Ceil(q*float64(len(times))))-1] }
	t = Times{N: len(times), P50: at(.5), P95: at(.95), Max: times[len(times)-1]}
	if t.N >= fewest {
		t.P99 = at(.99)
	}
	return t
}

// Rule returns the time from a death until the instance's key was gone, which is when the first
// consumer knew.
func (c *Change) Rule() time.Duration { return c.Left + c.Late }

// Kept counts the deaths that all consumers knew within the planned notice.
func (o *Outcome) Kept() (n int) {
	for _, c := range o.Of(Death) {
		if c.Whole <= o.Plan.Notice {
			n++
		}
	}
	return n
}

// The values by second.
const (
	ValueDeath    = "death_known"
	ValueDeploy   = "deploy_known"
	ValueLeader   = "leader_known"
	ValueFanOut   = "fan_out"
	ValueKeep     = "keep"
	ValueKeepLost = "keeps_lost"
	ValueTold     = "told"
	ValueEarly    = "early"
	ValueLost     = "lost"
)

// Observed declares the values that are counted and timed by second.
func Observed() observation.Group {
	return observation.Group{Name: "discovery", Values: []observation.Value{
		observation.Timed(ValueDeath, "times from a death until all consumers knew, in the second in which the last one did"),
		observation.Timed(ValueDeploy, "times from an instance's release until all consumers knew its new key"),
		observation.Timed(ValueLeader, "times from a leader's death until all consumers knew the next leader"),
		observation.Timed(ValueFanOut, "the part of these times in which some consumers knew or could know"),
		observation.Timed(ValueKeep, "times that registration renewals took until they were answered"),
		observation.Summed(ValueKeepLost, "renewals", "registration renewals that were not answered, or that ended without success"),
		observation.Summed(ValueTold, "changes", "changes that consumers were told about"),
		observation.Summed(ValueEarly, "instances", "registrations that ended before the database's rule allows"),
		observation.Summed(ValueLost, "changes", "changes that a consumer was never told about"),
	}}
}
