package locks

import (
	"time"

	"github.com/coreos/dbtester/pkg/ability"
	"github.com/coreos/dbtester/pkg/observation"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/results/effect"
)

// Record declares the entry for locks. Without locks it has no stages.
func Record() ability.Record[Outcome] { return ability.Record[Outcome]{Key: "locks_held"} }

// Outcome records locks and their turns.
type Outcome struct {
	Plan Plan `json:"plan"`
	// What, By, Waits and Fence are facts about the database and the recipe. Queue reports whether,
	// by these, contenders get the lock in the order of their places.
	What  string `json:"what"`
	By    string `json:"by"`
	Waits string `json:"waits"`
	Fence string `json:"fence"`
	Queue bool   `json:"queue,omitempty"`
	// Delayed is the database's name for [Plan.LockDelay].
	Delayed string `json:"delayed,omitempty"`
	// TTL is the TTL that members grant, and Rule says when they end a session. Earliest and Latest
	// are when, by that rule, a lock passes on after its holder's death.
	TTL      time.Duration `json:"ttl_ns"`
	Rule     string        `json:"rule"`
	Earliest time.Duration `json:"earliest_ns"`
	Latest   time.Duration `json:"latest_ns"`
	// Began is time zero for turns.
	Began  time.Time `json:"began"`
	Stages []Stage   `json:"stages"`
	// Before covers the requests before the first stage.
	Before *Latency `json:"before,omitempty"`
	// Stops counts the times that this process stopped for a while. The longest stop took
	// LongestStop.
	Stops       int64         `json:"stops,omitempty"`
	LongestStop time.Duration `json:"longest_stop_ns,omitempty"`
	// Left counts the contenders that could not be closed after the load, because of WhyLeft.
	Left    int    `json:"left,omitempty"`
	WhyLeft string `json:"why_left,omitempty"`
}

// Stage is the outcome with a fixed number of contenders.
type Stage struct {
	// Contenders is the number that contend for each lock. Missing ones could not be opened,
	// because of Why.
	Contenders int    `json:"contenders"`
	Missing    int    `json:"missing,omitempty"`
	Why        string `json:"why,omitempty"`
	// From and To are when they competed, since [Outcome.Began]. Full means that there was no
	// room to record more turns.
	From int64 `json:"from_ns"`
	To   int64 `json:"to_ns"`
	Full bool  `json:"full,omitempty"`
	// Acquired counts the times that a lock was acquired.
	Acquired  int64   `json:"acquired"`
	PerSecond float64 `json:"per_second"`
	// Wait is the time from the request to the lock, and Held from the lock to its release, in
	// nanoseconds.
	Wait *results.Spread `json:"wait,omitempty"`
	Held *results.Spread `json:"held,omitempty"`
	// HandOff is the time from sending a release to the next holder, while a contender waited,
	// without this client's stops. Such stops delayed Delayed hand-offs.
	HandOff  *results.Spread `json:"hand_off,omitempty"`
	Delayed  int64           `json:"delayed,omitempty"`
	Safety   Safety          `json:"safety"`
	Fairness Fairness        `json:"fairness"`
	FailOver FailOver        `json:"fail_over,omitzero"`
	// Refused requests for a lock and Unclear releases ended with an error. WhyRefused is the
	// first.
	Refused    int64  `json:"refused,omitempty"`
	Unclear    int64  `json:"unclear,omitempty"`
	WhyRefused string `json:"why_refused,omitempty"`
	// Meanwhile covers load requests in the stage.
	Meanwhile *Latency `json:"meanwhile,omitempty"`
}

// Safety describes whether locks excluded other holders.
type Safety struct {
	// Overlaps counts turns that began while another holder believed that it held the same lock.
	Overlaps int64 `json:"overlaps"`
	// Disorder counts fences that were not greater than the one before.
	Disorder int64 `json:"fences_out_of_order"`
	// Believed counts holders that believed they held a lock after its session had ended, because
	// this client was stopped. The end is known by the rule, because another got the lock, or
	// because members reported it. LongestBelieved is the longest time by the rule.
	Believed        int64         `json:"believed"`
	LongestBelieved time.Duration `json:"longest_believed_ns,omitempty"`
	// Lost locks were no longer held when they were released.
	Lost int64 `json:"lost,omitempty"`
}

// Safety returns the sum over all stages, and the number of times that a lock was acquired in them.
func (o *Outcome) Safety() (sum Safety, acquired int64) {
	for i := range o.Stages {
		acquired += o.Stages[i].Acquired
		sum.Add(o.Stages[i].Safety)
	}
	return sum, acquired
}

// Add adds counts from other turns.
func (s *Safety) Add(o Safety) {
	s.Overlaps, s.Disorder = s.Overlaps+o.Overlaps, s.Disorder+o.Disorder
	s.Believed, s.Lost = s.Believed+o.Believed, s.Lost+o.Lost
	s.LongestBelieved = max(s.LongestBelieved, o.LongestBelieved)
}

// Order is [Queue] if contenders seldom overtook earlier ones, and [Race] if they often did.
type Order string

// The orders.
const (
	Queue     Order = "queue"
	Race      Order = "race"
	Undecided Order = "undecided"
)

// Fairness describes whether turns were shared fairly.
type Fairness struct {
	// Most and Fewest are the turns of the luckiest and the unluckiest contender as shares of those
	// of their lock, and Jain is Jain's index over all.
	Most   float64 `json:"most_share"`
	Fewest float64 `json:"fewest_share"`
	Jain   float64 `json:"jain"`
	// LongestWithout is the longest time that a contender waited, to the end of the stage if it got
	// no lock. LongestTurns is the most turns that others had in such a time.
	LongestWithout time.Duration `json:"longest_without_ns"`
	LongestTurns   int64         `json:"longest_turns"`
	// Order follows from Overtook out of Decided turns. A turn is decided if another contender
	// waited when it got the lock: one whose place was certainly confirmed before this one asked,
	// or one that asked after this one's place was confirmed. Overtakes counts all contenders that
	// these turns overtook. Assumed means that the recipe reports no place: a place counts as
	// confirmed once as much time has passed as 99 % of the releases took at most.
	Order     Order `json:"order"`
	Decided   int64 `json:"decided"`
	Overtook  int64 `json:"overtook"`
	Overtakes int64 `json:"overtakes"`
	Assumed   bool  `json:"assumed,omitempty"`
	// Again is the number of times that the releaser got the lock again, out of Chances in which
	// others waited. ByChance is the number to expect if lots were drawn among the waiting
	// contenders and itself.
	Again    int64   `json:"again"`
	Chances  int64   `json:"chances"`
	ByChance float64 `json:"by_chance"`
	// Shares are the luckiest contenders' parts of all turns: the first of n shares belongs to an
	// n-th of the contenders, and the last is 1.
	Shares []float64 `json:"shares,omitempty"`
}

// FailOver describes the time after holders died.
type FailOver struct {
	// Dead counts holders that died, and NotTaken those whose lock was not acquired in the stage.
	Dead     int64 `json:"dead,omitempty"`
	NotTaken int64 `json:"not_taken,omitempty"`
	// Passed is the time from a death to the next holder, in nanoseconds. Early holders came before
	// the rule allows.
	Passed *results.Spread `json:"passed,omitempty"`
	Early  int64           `json:"early,omitempty"`
}

// Latency is the p99 over ok requests in some seconds.
type Latency = effect.Latency

// The values by second.
const (
	ValueWait     = "wait"
	ValueHandOff  = "hand_off"
	ValueFailOver = "fail_over"
	ValueOverlap  = "overlaps"
	ValueDisorder = "fences_out_of_order"
	ValueRefused  = "refused"
)

// Observed declares the values that are counted and timed by second.
func Observed() observation.Group {
	return observation.Group{Name: "locks", Values: []observation.Value{
		observation.Timed(ValueWait, "times from asking for a lock to holding it, in the second in which it was acquired"),
		observation.Timed(ValueHandOff, "times from when a release was sent until the next holder had the lock, while somebody waited, without the time that this client was stopped"),
		observation.Timed(ValueFailOver, "times from a holder's death until the next holder had the lock"),
		observation.Summed(ValueOverlap, "turns", "locks that were acquired while another holder believed that it held them"),
		observation.Summed(ValueDisorder, "turns", "locks whose fence was not greater than the previous holder's"),
		observation.Summed(ValueRefused, "requests", "requests for a lock that ended with an error"),
	}}
}
