package results

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"github.com/coreos/dbtester/pkg/workload"
)

// Load records the load on one database as it ran. Parameters added to [workload.Load] are recorded
// here without further code.
type Load struct {
	workload.Load
	// FirstKey is above every key number that a running cluster had before the load, which created
	// keys from FirstKey on. It is 0 if the cluster was started for this load, which then creates
	// keys from Keys on. Ranges on a running cluster may include keys of others, so only the number
	// returned was checked.
	FirstKey int64
}

// Step records the times and the clients in a step as it ran.
type Step struct {
	Index int `json:"index"`
	workload.Step
	// Start is before the first request, End after the last answer.
	Start time.Time `json:"start,omitzero"`
	End   time.Time `json:"end,omitzero"`
	// IssueEnd is when issuing ended: it ends the population.
	IssueEnd time.Time `json:"issue_end,omitzero"`
	// InsideNS is client time inside calls, all outcomes, clipped to the step's window, without the
	// time in which the client was stopped. InsideNS / (Clients x window) shows whether the client
	// or the database set the pace in a closed loop.
	InsideNS int64 `json:"inside_ns"`
	// ClientDelayNS is the part caused by the client itself in the response times of ok requests,
	// or in a closed loop their service times, in the measured population. It is lateness as in
	// [DatabaseRun], and the time inside calls in which the client was stopped, without the time
	// that the client takes to read an answer.
	ClientDelayNS int64 `json:"client_delay_ns,omitempty"`
	// WaitingNS is the time of clients without a server in the measured window: from warm-up to
	// cool-down, to IssueEnd if that is earlier, or to End without a duration. ConnectionsLost
	// counts connections that broke or were refused service by a member, Reconnects connections
	// opened in their place.
	WaitingNS       int64 `json:"waiting_ns,omitempty"`
	ConnectionsLost int64 `json:"connections_lost,omitempty"`
	Reconnects      int64 `json:"reconnects,omitempty"`
	// Resent counts requests resent by the client library itself, in the whole step, except over
	// connections for a single read.
	Resent int64 `json:"resent,omitempty"`
	// VersionReads counts the version reads that transactions needed after a conflict or a lost
	// answer. They are not part of the load's requests.
	VersionReads int64 `json:"version_reads,omitempty"`
	// LargestGap is the longest time without an ok answer in the measured window; nil
	// if not recorded.
	LargestGap *Gap `json:"largest_gap,omitempty"`
}

// Backoff describes the pauses of a client without a server before it reconnects. The first pause
// doubles after each attempt, up to the longest; each is drawn within Jitter (0.2 is 20 %) around
// that. An attempt holds up the next one, at another member, for Overtake at most; 0 means until it
// has ended, as in older manifests.
type Backoff struct {
	FirstNS   int64   `json:"first_ns"`
	LongestNS int64   `json:"longest_ns"`
	Jitter    float64 `json:"jitter"`

	OvertakeNS int64 `json:"overtake_ns,omitempty"`
}

// manifestName maps a JSON name in [workload.Load] to its name in a manifest, where the two
// differ.
func manifestName(name string) string {
	switch name {
	case "key_size", "value_size", "value_size_max":
		return name + "_bytes"
	case "read":
		return "read_mode"
	}
	return name
}

// loadName inverts manifestName.
func loadName(name string) string {
	switch name {
	case "key_size_bytes", "value_size_bytes", "value_size_max_bytes":
		return name[:len(name)-len("_bytes")]
	case "read_mode":
		return "read"
	}
	return name
}

// MarshalJSON writes the names used in manifests. Parameters without effect are left out.
func (l Load) MarshalJSON() ([]byte, error) {
	members, err := membersOf(l.Load)
	if err != nil {
		return nil, fmt.Errorf("encode load: %w", err)
	}
	var b bytes.Buffer
	write := func(name string, value []byte) {
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%q:%s", name, value)
	}
	b.WriteByte('{')
	if len(members) > 0 && members[0].name != "operation" {
		write("operation", []byte(`""`)) // a mix
	}
	for _, m := range members {
		switch m.name {
		case "requests":
			// The first key and the read mode have their place before this one.
			if l.FirstKey != 0 {
				write("first_key", fmt.Append(nil, l.FirstKey))
			}
			if l.Read != "" {
				write("read_mode", fmt.Appendf(nil, "%q", l.Read))
			}
			if l.Requests == 0 {
				continue
			}
		case "read":
			continue
		case "arrival", "backlog", "drain_ns", "target":
			if s := string(m.value); s == `""` || s == "0" {
				continue
			}
		}
		write(manifestName(m.name), m.value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// UnmarshalJSON reads the names used in manifests.
func (l *Load) UnmarshalJSON(data []byte) error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(data, &members); err != nil {
		return fmt.Errorf("decode load: %w", err)
	}
	named := make(map[string]json.RawMessage, len(members))
	for name, value := range members {
		named[loadName(name)] = value
	}
	again, err := json.Marshal(named)
	if err != nil {
		return fmt.Errorf("decode load: %w", err)
	}
	*l = Load{}
	if err := json.Unmarshal(again, &l.Load); err != nil {
		return fmt.Errorf("decode load: %w", err)
	}
	if first, ok := named["first_key"]; ok {
		return json.Unmarshal(first, &l.FirstKey)
	}
	return nil
}

// member is one name and value in a JSON object.
type member struct {
	name  string
	value json.RawMessage
}

// membersOf returns the members in the JSON object for v, in order.
func membersOf(v any) ([]member, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	if _, err := dec.Token(); err != nil { // the opening brace
		return nil, err
	}
	var members []member
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil, err
		}
		m := member{name: name.(string)}
		if err := dec.Decode(&m.value); err != nil {
			return nil, err
		}
		members = append(members, m)
	}
	return members, nil
}

// Totals are the counts of a whole load, over all phases. They reconcile as Offered = OK + Failed +
// Unknown + Shed + Unsent.
type Totals struct {
	Offered int64 `json:"offered"`
	Sent    int64 `json:"sent"`
	OK      int64 `json:"ok"`
	Failed  int64 `json:"failed"`
	Unknown int64 `json:"unknown"`
	Shed    int64 `json:"shed"`
	Unsent  int64 `json:"unsent"`
	Queued  int64 `json:"queued"`
	Late    int64 `json:"late"`
	// BytesRead counts the bytes in all values returned by ok reads, swaps and ranges.
	BytesRead int64 `json:"bytes_read,omitempty"`
	// BytesWritten counts the key and value bytes that ok requests wrote; 0 in older manifests.
	BytesWritten int64 `json:"bytes_written,omitempty"`
	// Clamped counts latencies above the histogram maximum, recorded as that maximum.
	Clamped int64 `json:"clamped"`
}

// Add adds the counts in one row of intervals.csv. Rows do not hold the bytes read and the clamped
// latencies.
func (t *Totals) Add(row *Interval) {
	t.Offered += row.Due
	t.Sent += row.Sent
	t.Shed += row.Shed
	t.Unsent += row.Unsent
	t.OK += row.OK
	t.Failed += row.Failed
	t.Unknown += row.Unknown
	t.Queued += row.Queued
	t.Late += row.Late
	t.BytesWritten += row.WrittenBytes
}

// Minus returns the counts since an earlier count.
func (t Totals) Minus(o Totals) Totals {
	return Totals{
		Offered: t.Offered - o.Offered, Sent: t.Sent - o.Sent, OK: t.OK - o.OK, Failed: t.Failed - o.Failed, Unknown: t.Unknown - o.Unknown,
		Shed: t.Shed - o.Shed, Unsent: t.Unsent - o.Unsent, Queued: t.Queued - o.Queued, Late: t.Late - o.Late,
		BytesRead: t.BytesRead - o.BytesRead, BytesWritten: t.BytesWritten - o.BytesWritten, Clamped: t.Clamped - o.Clamped,
	}
}

// Pending returns how many offered requests have no outcome.
func (t Totals) Pending() int64 { return t.Offered - t.OK - t.Failed - t.Unknown - t.Shed - t.Unsent }

// Reconcile reports whether every offered request ended as exactly one outcome.
func (t Totals) Reconcile() bool {
	return t.Pending() == 0 && t.Sent == t.OK+t.Failed+t.Unknown
}

// Generator records one of the machines that issued a load together: it issued the requests whose
// number modulo the generator count is its index. Its counts cover these requests.
type Generator struct {
	// Addr is its agent address.
	Addr string `json:"addr"`
	// Host is its machine; nil if it did not answer.
	Host *Host `json:"host,omitempty"`
	// Clock compares the generator clock with that of control, as Clock does for a member: from the
	// shortest exchange in the run. Each step has its own, in [GeneratorStep].
	Clock *Clock `json:"clock,omitempty"`
	// ClockSet is the most by which its wall clock was seen to be set while it was reserved. Sample
	// times move with its wall clock, request times do not.
	ClockSet time.Duration `json:"clock_set_ns,omitempty"`
	// SelfCheck is as in [DatabaseRun], for this machine.
	SelfCheck *LoadCheck `json:"self_check,omitempty"`
	// Lost is the reason why the generator sent nothing more; "" if its records are complete.
	Lost  string          `json:"lost,omitempty"`
	Steps []GeneratorStep `json:"steps,omitempty"`
	// Totals cover the seconds that it sent; nil if it sent nothing.
	Totals *Totals `json:"totals,omitempty"`
	// Lateness, SchedulingLag and Stops are as in [DatabaseRun], for its process; nil if the
	// generator was lost before its first step ended.
	Lateness      *Spread `json:"lateness,omitempty"`
	SchedulingLag *Spread `json:"scheduling_lag,omitempty"`
	Stops         *Stops  `json:"stops,omitempty"`
}

// GeneratorStep records a generator's part in a step.
type GeneratorStep struct {
	Index   int `json:"index"`
	Clients int `json:"clients"`
	// FirstSentNS is when the generator sent its first request, counted from the agreed start of
	// the step; -1 if it sent nothing.
	FirstSentNS int64 `json:"first_sent_ns"`
	// CPUNS is its agent process's CPU time during the step, user and system; -1 if not known.
	CPUNS int64 `json:"cpu_ns"`
	// Due, OK and Late are counts in the measured phase, as in intervals.csv. AnswerNS sums the ok
	// requests' response times, or their service times in a closed loop. ClientDelayNS is the part
	// of AnswerNS caused by the client, as in [Step].
	Due           int64 `json:"due"`
	OK            int64 `json:"ok"`
	Late          int64 `json:"late"`
	AnswerNS      int64 `json:"answer_ns"`
	ClientDelayNS int64 `json:"client_delay_ns"`
	// ClockOffsetNS is the lead of its clock over control's just before the step, give or take
	// ClockErrorNS, by which its start may differ from the agreed one. ClockMovedNS is the distance
	// that the clock surely moved until the end of the step, beyond exchange errors. All three are
	// 0 in older manifests.
	ClockOffsetNS int64 `json:"clock_offset_ns,omitempty"`
	ClockErrorNS  int64 `json:"clock_error_ns,omitempty"`
	ClockMovedNS  int64 `json:"clock_moved_ns,omitempty"`
}
