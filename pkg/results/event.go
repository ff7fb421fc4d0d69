package results

import (
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/coreos/dbtester/pkg/files/linefile"
	"github.com/coreos/dbtester/pkg/results/declared"
)

// Event records something that happened, other than a request: one line of events.jsonl.
type Event struct {
	Time time.Time `json:"time"`
	// Kind is a short stable word: "start", "ready", "load start",
	// [EventLeader], "client step", "child died".
	Kind   string `json:"kind"`
	Member int    `json:"member"` // from 0; -1: the whole cluster or the client
	Text   string `json:"text,omitempty"`
	// Took is the duration, and Amount an amount in Unit, where a log line gives them.
	Took   time.Duration `json:"took_ns,omitempty"`
	Amount float64       `json:"amount,omitempty"`
	Unit   string        `json:"unit,omitempty"`
	// Log is the log, below the tag folder, in which the driver's rules found the event, and Line
	// its line number. The event then has the line's time, converted into the client clock.
	Log  string `json:"log,omitempty"`
	Line int64  `json:"line,omitempty"`
}

// EventLogCut is the event kind for a part missing from a log.
const EventLogCut = "log cut"

// EventLeader is the event kind for a new leader: the first one, or another member than before.
const EventLeader = "leader"

// The event kinds for the first connection to a member that the clients of a step lost, and for the
// first one that they opened to replace a lost one.
const (
	EventConnectionLost = "connection lost"
	EventReconnected    = "reconnected"
)

// EventStopped is the event kind for the start of at least 100 ms in which the client did not
// run. It is written when the load has ended.
const EventStopped = "client stopped"

// EventGeneratorLost is the event kind for a generator that sends nothing more.
const EventGeneratorLost = "generator lost"

// EventMemoryLimit is the event kind for member processes killed by the kernel at the experiment's
// memory limit.
const EventMemoryLimit = "memory limit"

// EventWriter appends to events.jsonl. It is safe for concurrent use.
type EventWriter struct {
	mu   sync.Mutex
	rows *linefile.File
}

// NewEventWriter opens or creates the file.
func NewEventWriter(path string) (*EventWriter, error) {
	rows, err := linefile.Open(path, nil)
	if err != nil {
		return nil, err
	}
	return &EventWriter{rows: rows}, nil
}

// Write appends one line and returns when the kernel has it. After an error
// every Write returns that error.
func (w *EventWriter) Write(e Event) error {
	line, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("encode event: %w", err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.rows.Append(append(line, '\n'))
}

// Close closes the file.
func (w *EventWriter) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.rows.Close()
}

// ReadEvents reads the events.jsonl of a run, in the order written. An event for a member beyond
// members is an error; other errors are as in [ReadIntervals].
func ReadEvents(path string, members int) ([]Event, error) {
	var events []Event
	for line, err := range linefile.Lines(path) {
		if err != nil {
			return events, err
		}
		var e Event
		if err := json.Unmarshal([]byte(line.Text), &e); err != nil {
			return events, &SyntaxError{File: path, Line: line.Number, Reason: err.Error()}
		}
		if err := checkMember(e.Member, members); err != nil {
			return events, &SyntaxError{File: path, Line: line.Number, Reason: err.Error()}
		}
		events = append(events, e)
	}
	return events, nil
}

// checkMember returns why an index names no member; -1 is an unknown member.
func checkMember(index, members int) error {
	if index == -1 {
		return nil
	}
	return declared.CheckMember(index, 0, members)
}
