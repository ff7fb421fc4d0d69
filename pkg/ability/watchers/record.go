package watchers

import (
	"slices"
	"time"

	"github.com/coreos/dbtester/pkg/ability"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/observation"
	"github.com/coreos/dbtester/pkg/results"
)

// Record declares the entry for watchers. Without watchers it has no stages.
func Record() ability.Record[Outcome] { return ability.Record[Outcome]{Key: "watched"} }

// Outcome records watchers and their stages.
type Outcome struct {
	Plan Plan `json:"plan"`
	// Kind, How, Ordered and Coalesces are facts about the database.
	Kind      database.WatchKind `json:"kind"`
	How       string             `json:"how"`
	Ordered   bool               `json:"ordered"`
	Coalesces bool               `json:"coalesces"`
	// Values means that events are matched to writes by the numbers in their values instead of by
	// their versions.
	Values bool `json:"values"`
	// Stages are in the order in which they ran.
	Stages []Stage `json:"stages"`
	Counts Counts  `json:"counts"`
	// Witnesses are the first wrong events.
	Witnesses []Witness `json:"witnesses,omitempty"`
	// Broken is why the first connection ended early. BehindWhy is why watchers may have been
	// behind at the end. Both are "" if that did not happen.
	Broken string `json:"broken,omitempty"`
	// SlowEnded slow connections ended early. SlowWhy is why the first one did.
	SlowEnded int    `json:"slow_ended,omitempty"`
	SlowWhy   string `json:"slow_why,omitempty"`
	BehindWhy string `json:"behind_why,omitempty"`
	// ClockError is 0 if the process that watched also wrote. Otherwise generators wrote, and times
	// that begin with a write may be off by as much, as clocks differ.
	ClockError time.Duration `json:"clock_error_ns,omitempty"`
	// GapWhy describes the versions that the database had discarded at the first gap, "" without
	// gaps.
	GapWhy string `json:"gap_why,omitempty"`
}

// Counts cover a whole load. A delivery is one write as received by one watcher.
type Counts struct {
	// Writes counts the writes to watched keys that were answered ok, Unknown the others that may
	// have taken effect.
	Writes  int64 `json:"writes"`
	Unknown int64 `json:"unknown,omitempty"`
	// Delivered counts all deliveries, Coalesced those that a newer write to the key replaced, and
	// Woken the events without a write.
	Delivered int64 `json:"delivered"`
	Coalesced int64 `json:"coalesced,omitempty"`
	Woken     int64 `json:"woken,omitempty"`
	// Lost deliveries never came, Duplicate deliveries came again, and Reordered ones came after a
	// newer version.
	Lost      int64 `json:"lost,omitempty"`
	Duplicate int64 `json:"duplicate,omitempty"`
	Reordered int64 `json:"reordered,omitempty"`
	// Behind deliveries had not come when the run ended, but may still come.
	Behind int64 `json:"behind,omitempty"`
	// Unjudged deliveries could not be judged, because there was no room to record other
	// deliveries.
	Unjudged int64 `json:"unjudged,omitempty"`
	// Foreign events are from writes that this load is not known to have made.
	Foreign int64 `json:"foreign,omitempty"`
	// Gaps counts the times that the database had discarded changes that a watcher was to receive.
	// Discarded changes from this load are Lost.
	Gaps int64 `json:"gaps,omitempty"`
}

// Stage is a part of a load with a fixed number of watchers. Its numbers cover the writes sent from
// when all these watched until the next were added.
type Stage struct {
	Watchers    int `json:"watchers"`
	Connections int `json:"connections"`
	// Added watchers started within Establish.
	Added     int           `json:"added"`
	Establish time.Duration `json:"establish_ns"`
	Start     time.Time     `json:"start"`
	Length    time.Duration `json:"length_ns"`
	// Writes were or should have been delivered. Of the Deliveries, BeforeAck came before the
	// answer to the writer.
	Writes     int64 `json:"writes"`
	Deliveries int64 `json:"deliveries"`
	BeforeAck  int64 `json:"before_ack"`
	// Sent and Due are the times to a delivery from when its write was sent and was due, in
	// nanoseconds. All is the time from when a write was sent until the last watcher had received
	// it or a newer write to the key.
	Sent *results.Spread `json:"from_sent,omitempty"`
	Due  *results.Spread `json:"from_due,omitempty"`
	All  *results.Spread `json:"all_heard,omitempty"`
	// Old is the same time as All, from when the write was due: for so long some watcher used the old
	// value. It is nil for events without values.
	Old *results.Spread `json:"old_value,omitempty"`
	// Requests counts load requests that ended ok in the stage's whole seconds. P99 is theirs.
	Seconds  int           `json:"seconds"`
	Requests int64         `json:"requests"`
	P99      time.Duration `json:"p99_ns"`
	// Slow covers slow watchers, nil if there are no such watchers. The other numbers leave them
	// out.
	Slow *SlowStage `json:"slow,omitempty"`
	// Reconnects covers connections that were opened again, nil if there were no such connections.
	// The other numbers include their deliveries.
	Reconnects *Reconnects `json:"reconnects,omitempty"`
}

// Unheard counts the writes without a time until all had received them: it is not known when all
// had received a newer one instead, or some watcher never did. Older records also lack the time for
// writes that newer ones to the key replaced before anybody received them.
func (s *Stage) Unheard() int64 {
	if s.All == nil {
		return s.Writes
	}
	return max(s.Writes-s.All.N, 0)
}

// Reconnects describes connections that were closed and opened again in a stage.
type Reconnects struct {
	// Connections were opened again, each time counted, with Watchers in all. Failed ones
	// could not be.
	Connections int `json:"connections"`
	Watchers    int `json:"watchers"`
	Failed      int `json:"failed,omitempty"`
	// First is the time from when a connection was closed until the first event came over the new
	// one. CaughtUp is the time until everything that was written before its watchers watched
	// again had come.
	First    *results.Spread `json:"first_event,omitempty"`
	CaughtUp *results.Spread `json:"caught_up,omitempty"`
}

// SlowStage describes the slow watchers in a stage.
type SlowStage struct {
	Watchers    int `json:"watchers"`
	Connections int `json:"connections"`
	// Start and Length are when the connections did not read.
	Start  time.Time     `json:"start"`
	Length time.Duration `json:"length_ns"`
	// Sent is the time from sending writes to their deliveries to slow watchers.
	Sent *results.Spread `json:"from_sent,omitempty"`
	// CaughtUp connections had received everything written by the end of the pause: together
	// after CatchUp, the last after Longest. Changes came to a watcher meanwhile, summed over the
	// connections.
	CaughtUp int           `json:"caught_up"`
	CatchUp  time.Duration `json:"catch_up_ns"`
	Longest  time.Duration `json:"longest_ns"`
	Changes  float64       `json:"changes"`
	// Each has the connections after the pause, in their order. Older records lack it.
	Each []CatchUp `json:"each,omitempty"`
	// Waited is the time from when the pause ended until the last in Each was over. Written counts
	// the writes for a slow watcher that were answered ok meanwhile, as the mean over the watchers.
	Waited  time.Duration `json:"waited_ns,omitempty"`
	Written float64       `json:"written,omitempty"`
	// Before, During and After describe load requests in the stage's whole seconds before the
	// pause, in it, and in Waited.
	Before Latency `json:"before"`
	During Latency `json:"during"`
	After  Latency `json:"after,omitzero"`
}

// CatchUp describes a slow connection from when it read again until it had caught up, or else until
// its next pause or when the load ends.
type CatchUp struct {
	Connection int `json:"connection"`
	Watchers   int `json:"watchers"`
	// BehindSince is when the last report arrived before the pause ended.
	BehindSince time.Time `json:"behind_since"`
	// Took is the time that it took. Changes came to a watcher in this time, as the mean over those
	// on the connection.
	Took    time.Duration `json:"took_ns"`
	Changes float64       `json:"changes"`
	// CaughtUp means that, as the database reported, everything written before the pause ended had
	// come. Ended means that the connection ended before that.
	CaughtUp bool `json:"caught_up"`
	Ended    bool `json:"ended,omitempty"`
}

// Rates returns, for each connection that did not end, the changes per second that came to a
// watcher, in rising order.
func (s *SlowStage) Rates() (rates []float64) {
	for i := range s.Each {
		if c := &s.Each[i]; !c.Ended && c.Took > 0 {
			rates = append(rates, c.Changes/c.Took.Seconds())
		}
	}
	slices.Sort(rates)
	return rates
}

// WriteRate returns the writes per second that each watcher was to receive while connections caught
// up, 0 if they needed no time.
func (s *SlowStage) WriteRate() float64 {
	if s.Waited <= 0 {
		return 0
	}
	return s.Written / s.Waited.Seconds()
}

// Latency describes ok requests in whole seconds.
type Latency struct {
	Seconds  int           `json:"seconds"`
	Requests int64         `json:"requests"`
	P99      time.Duration `json:"p99_ns"`
}

// Fault says what is wrong with a delivery.
type Fault string

// The kinds of Fault.
const (
	Lost      Fault = "lost"
	Duplicate Fault = "duplicate"
	Reordered Fault = "reordered"
)

// Witness is a wrong delivery.
type Witness struct {
	Fault   Fault `json:"fault"`
	Watcher int32 `json:"watcher"`
	// Version is the write's version, 0 if no watcher received it. Request and Key are its request
	// and key numbers, both -1 if not known.
	Version int64 `json:"version,omitempty"`
	Request int64 `json:"request"`
	Key     int64 `json:"key"`
}

// The values by second.
const (
	ValueSent      = "from_sent"
	ValueDue       = "from_due"
	ValueAll       = "all_heard"
	ValueOld       = "old_value"
	ValueWrites    = "writes"
	ValueBefore    = "before_ack"
	ValueCoalesced = "coalesced"
	ValueLost      = "lost"
	ValueDuplicate = "duplicate"
	ValueReordered = "reordered"
	ValueWoken     = "woken"
	ValueSlow      = "from_sent_slow"
	ValueFirst     = "reconnect_first_event"
	ValueCaughtUp  = "reconnect_caught_up"
)

// Observed declares the values by second: the second in which the write was sent, or in which an
// event arrived that belongs to no new write. The step is the stage.
func Observed() observation.Group {
	return observation.Group{Name: "watch", Values: []observation.Value{
		observation.Timed(ValueSent, "times from when a write was sent until a watcher had the event"),
		observation.Timed(ValueDue, "the same times from when the write was due"),
		observation.Timed(ValueAll, "times from when a write was sent until the last watcher had heard of it, or of a newer write to the key"),
		observation.Timed(ValueOld, "the same times from when the write was due, if events have values: some watcher used the old value for this long"),
		observation.Timed(ValueSlow, "times from when a write was sent until a slow watcher had the event; these are in no other value"),
		observation.Timed(ValueFirst, "times from when a watcher connection was closed until the first event over the new one"),
		observation.Timed(ValueCaughtUp, "times from when a watcher connection was closed until everything written before its watchers watched again had come"),
		observation.Summed(ValueWrites, "writes", "writes to watched keys that were answered ok, or that watchers heard of"),
		observation.Summed(ValueBefore, "deliveries", "deliveries before the writer had its answer"),
		observation.Summed(ValueCoalesced, "deliveries", "deliveries that were replaced by a newer write to the key"),
		observation.Summed(ValueLost, "deliveries", "deliveries that never came"),
		observation.Summed(ValueDuplicate, "deliveries", "deliveries that came again"),
		observation.Summed(ValueReordered, "deliveries", "deliveries that came after a newer version"),
		observation.Summed(ValueWoken, "events", "events without a new write"),
	}}
}
