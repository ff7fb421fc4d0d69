package results

import "time"

// Event is one line of events.jsonl: something that happened besides requests.
type Event struct {
	Time time.Time `json:"time"`
	// Kind is a short stable word: "start", "ready", "load start", "leader",
	// "client step", "child died".
	Kind   string `json:"kind"`
	Member int    `json:"member"` // from 0; -1: the whole cluster or the client
	Text   string `json:"text,omitempty"`
}

// EventWriter appends to events.jsonl. It is safe for concurrent use.
type EventWriter struct{ rows *rowFile }

// NewEventWriter opens or creates the file.
func NewEventWriter(path string) (*EventWriter, error) { panic("todo") }

// Write appends one line and returns when the kernel has it. After an error
// every Write returns that error.
func (w *EventWriter) Write(e Event) error { panic("todo") }

// Close closes the file.
func (w *EventWriter) Close() error { panic("todo") }

// ReadEvents reads events.jsonl in the order written; its errors are those of
// [ReadIntervals].
func ReadEvents(path string) ([]Event, error) { panic("todo") }
