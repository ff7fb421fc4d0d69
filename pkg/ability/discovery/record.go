package discovery

import (
	"math"
	"slices"
	"time"

	"github.com/coreos/dbtester/pkg/ability"
	"github.com/coreos/dbtester/pkg/observation"
	"github.com/coreos/dbtester/pkg/results"
)

// Record declares the record of a run's instances and consumers. Without any, 0 were registered.
func Record() ability.Record[Outcome] { return ability.Record[Outcome]{Key: "discovered"} }

// Outcome records the instances and consumers of a run. All of its fields are on one level in
// JSON.
type Outcome struct {
	Plan Plan `json:"plan"`
	Facts
	// TTL is the TTL that members granted. Earliest and Latest are when the rule ends a session after
	// its last renewal.
	TTL      time.Duration `json:"ttl_ns"`
	Earliest time.Duration `json:"earliest_ns"`
	Latest   time.Duration `json:"latest_ns"`
	Registered
	// Watching consumers watched from before the load on. Broken ones stopped before its end, the
	// first because of BrokenWhy.
	Watching  int    `json:"watching"`
	Broken    int    `json:"broken,omitempty"`
	BrokenWhy string `json:"broken_why,omitempty"`
	// Began is when the load began for the instances, and Quiet how long nothing happened to them.
	Began time.Time     `json:"began"`
	Quiet time.Duration `json:"quiet_ns"`
	// Changes are the deaths and the deploys, in the order of their times.
	Changes []Change `json:"changes"`
	Counts
	// Witnesses are the first wrong changes.
	Witnesses []Witness `json:"witnesses,omitempty"`
	// BehindWhy is why consumers may not have received everything at the end, "" if they had.
	BehindWhy string `json:"behind_why,omitempty"`
	// Resolution bounds the error of the times of changes: the longest time from the sending of a last
	// renewal to its answer, and of an instance's key between the last look with it and the first
	// without it.
	Resolution time.Duration `json:"resolution_ns"`
	// Delayed reports were read right after a stop of this process. The longest stop took LongestStop.
	Delayed     int           `json:"delayed,omitempty"`
	LongestStop time.Duration `json:"longest_stop_ns,omitempty"`
}

// Facts describe the database's sessions.
type Facts struct {
	What    string `json:"what"`
	Rule    string `json:"rule"`
	Renewal string `json:"renewal"`
	Watch   string `json:"watch"`
	// Beside is another way by which users of the database find dead instances, or "".
	Beside string `json:"beside,omitempty"`
}

// Registered describes the registrations.
type Registered struct {
	// Registered instances had their keys before the load, PerSecond of them a second. NotRegistered
	// others had none, the first because of Why.
	Registered    int     `json:"registered"`
	PerSecond     float64 `json:"registered_per_second"`
	NotRegistered int     `json:"not_registered,omitempty"`
	Why           string  `json:"why,omitempty"`
	// Keeps are the response times of answered renewals, in nanoseconds. KeepsLost counts the others,
	// KeepsLate those that were sent later than planned by a tenth of the TTL or more.
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
	// Early sessions ended before the rule allows. Alive of these were of instances that lived.
	Early int `json:"early,omitempty"`
	Alive int `json:"alive,omitempty"`
	// Unrenewed sessions ended while their instances lived because members did not answer their
	// renewals, and Missed ones because the client sent none in time.
	Unrenewed int `json:"unrenewed,omitempty"`
	Missed    int `json:"missed,omitempty"`
	// Lost changes never came to a consumer that received all later ones. Behind ones had not come
	// by the end, but may still come.
	Lost   int `json:"lost,omitempty"`
	Behind int `json:"behind,omitempty"`
}

// Change is a death, a deploy or an election. Its parts add up to Whole exactly.
type Change struct {
	Kind     Kind `json:"kind"`
	Instance int  `json:"instance"`
	// At is its time from [Outcome.Began]: when the instance died, or when the release was sent. Instance
	// is the leader that died, -1 if there was none.
	At time.Duration `json:"at_ns"`
	// Heard consumers knew by the end. All means that all did that watched until then.
	Heard int  `json:"heard"`
	All   bool `json:"all,omitempty"`
	// Whole is the time from At until the last consumer knew, if All is set.
	Whole time.Duration `json:"whole_ns,omitempty"`
	// Left is the remaining TTL when the instance died, counted from the sending of the last
	// renewal. Late is the time from the end of the TTL until the first consumer knew, or of a
	// leader until the first consumer or instance did. Deploys have neither.
	Left time.Duration `json:"left_ns,omitempty"`
	Late time.Duration `json:"late_ns,omitempty"`
	// Again is the time from the sending of the release until the new key was requested, of deploys.
	Again time.Duration `json:"again_ns,omitempty"`
	// HandOff is the time from the end of Late until another instance was the leader, of elections.
	HandOff time.Duration `json:"hand_off_ns,omitempty"`
	// FanOut is the time from the first consumer of a death, from the request of the new key of a
	// deploy, or from when the next leader was elected, to the last consumer.
	FanOut time.Duration `json:"fan_out_ns,omitempty"`
	// Why is why an instance could not be deployed, "" if it was.
	Why string `json:"why,omitempty"`
}

// Fault is an error in the changes that a consumer received.
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
	// Consumer is the one that did not receive it, -1 for all.
	Consumer int `json:"consumer"`
	// After is the time from the last renewal to the end of the session, of early ones.
	After time.Duration `json:"after_ns,omitempty"`
}

// Of returns the changes of a kind that all consumers knew.
func (o *Outcome) Of(k Kind) (list []Change) {
	for _, c := range o.Changes {
		if c.Kind == k && c.All {
			list = append(list, c)
		}
	}
	return list
}

// Count returns how many changes of a kind there were.
func (o *Outcome) Count(k Kind) (n int) {
	for _, c := range o.Changes {
		if c.Kind == k {
			n++
		}
	}
	return n
}

// fewest is the least number of times for which a p99 adds something to the largest.
const fewest = 300

// Times is a distribution of a few times. P99 is 0 for fewer than 300.
type Times struct {
	N                  int
	P50, P95, P99, Max time.Duration
}

// TimesOf returns the distribution of a part of some changes.
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

// Rule returns the time from a death until the instance's key was gone: until the first consumer
// knew.
func (c *Change) Rule() time.Duration { return c.Left + c.Late }

// Kept returns how many deaths all consumers knew within the plan's notice.
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
		observation.Timed(ValueDeploy, "times from the release of an instance until all consumers knew its new key"),
		observation.Timed(ValueLeader, "times from the death of a leader until all consumers knew the next one"),
		observation.Timed(ValueFanOut, "the part of these times in which some consumers knew or could know"),
		observation.Timed(ValueKeep, "times of renewals of registrations that were answered"),
		observation.Summed(ValueKeepLost, "renewals", "renewals of registrations that were not answered, or that ended without success"),
		observation.Summed(ValueTold, "changes", "changes of which consumers were told"),
		observation.Summed(ValueEarly, "instances", "registrations that ended before the database's rule allows"),
		observation.Summed(ValueLost, "changes", "changes that a consumer was never told of"),
	}}
}
