package results

import (
	"encoding/json"
	"fmt"
	"sync"
	"time"
)

// Event is one line of events.jsonl: something that happened besides requests.
type Event struct {
	Time time.Time `json:"time"`
	// Kind is a short stable word: "start", "ready", "load start",
	// [EventLeader], "client step", "child died".
	Kind   string `json:"kind"`
	Member int    `json:"member"` // from 0; -1: the whole cluster or the client
	Text   string `json:"text,omitempty"`
}

// EventLeader is the kind of event that a member was found to lead: the first one,
// or another than before.
const EventLeader = "leader"

// EventWriter appends to events.jsonl. It is safe for concurrent use.
type EventWriter struct {
	mu   sync.Mutex
	rows *rowFile
}

// NewEventWriter opens or creates the file.
func NewEventWriter(path string) (*EventWriter, error) {
	rows, err := openRows(path, nil)
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
	return w.rows.append(append(line, '\n'))
}

// Close closes the file.
func (w *EventWriter) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.rows.close()
}

// ReadEvents reads events.jsonl in the order written; its errors are those of
// [ReadIntervals].
func ReadEvents(path string) ([]Event, error) {
	var events []Event
	for line, err := range readLines(path) {
		if err != nil {
			return events, err
		}
		var e Event
		if err := json.Unmarshal([]byte(line.text), &e); err != nil {
			return events, &SyntaxError{File: path, Line: line.number, Reason: err.Error()}
		}
		events = append(events, e)
	}
	return events, nil
}
