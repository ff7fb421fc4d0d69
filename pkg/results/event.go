package results

import (
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/coreos/dbtester/pkg/files/linefile"
)

// Event is one line of events.jsonl: something that happened besides requests.
type Event struct {
	Time time.Time `json:"time"`
	// Kind is a short stable word: "start", "ready", "load start",
	// [EventLeader], "client step", "child died".
	Kind   string `json:"kind"`
	Member int    `json:"member"` // from 0; -1: the whole cluster or the client
	Text   string `json:"text,omitempty"`
	// Took is how long it took, and Amount how much it was, in Unit, where a log's line
	// gives that.
	Took   time.Duration `json:"took_ns,omitempty"`
	Amount float64       `json:"amount,omitempty"`
	Unit   string        `json:"unit,omitempty"`
	// Log is the log, below the tag's folder, that an event was found in by the driver's
	// rules, and Line the number of its line. Its time is then the line's, converted into
	// the client's clock.
	Log  string `json:"log,omitempty"`
	Line int64  `json:"line,omitempty"`
}

// EventLogCut is the kind of event that a part of a log is missing.
const EventLogCut = "log cut"

// EventLeader is the kind of event that a member was found to lead: the first one,
// or another than before.
const EventLeader = "leader"

// The kinds of event that a step's clients lost a connection to a member for the
// first time, and that one of them opened a connection in its place for the first
// time.
const (
	EventConnectionLost = "connection lost"
	EventReconnected    = "reconnected"
)

// EventStopped is the kind of event that the client began not to run for at least
// 100 ms. It is written when the load has ended.
const EventStopped = "client stopped"

// EventGeneratorLost is the kind of event that nothing more comes from a generator.
const EventGeneratorLost = "generator lost"

// EventMemoryLimit is the kind of event that the kernel killed processes of a member
// because of the memory limit that the experiment gave it.
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

// ReadEvents reads events.jsonl of a run with so many members in the order written; its
// errors are those of [ReadIntervals], and of an event of another member.
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
