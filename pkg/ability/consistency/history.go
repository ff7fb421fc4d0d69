package consistency

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/coreos/dbtester/pkg/consistency"
	"github.com/coreos/dbtester/pkg/files/linefile"
)

// FileHistory holds the requests on sampled keys in a tag folder: for each key a line about it,
// then a line per request in the order in which they were sent.
const FileHistory = "history.jsonl"

// MostSampled bounds the keys whose requests are recorded.
const MostSampled = 64

// mostRecorded bounds the requests on one key when a file is read. It is more than are ever
// recorded.
const mostRecorded = 1 << 20

// line begins a history, or is a request in the history that the last such line began.
type line struct {
	// Key begins a key history.
	Key *int64 `json:"key,omitempty"`
	// Initial is the number of its first value, or nil. Until is nil for a whole history.
	Initial    *int64 `json:"initial,omitempty"`
	Requests   int    `json:"requests,omitempty"`
	Until      *int64 `json:"until_ns,omitempty"`
	Violations int64  `json:"violations,omitempty"`
	Missing    int64  `json:"missing,omitempty"`

	Request *int64 `json:"request,omitempty"`
	Client  int32  `json:"client,omitempty"`
	Kind    string `json:"kind,omitempty"`
	Outcome string `json:"outcome,omitempty"`
	// Read is the number of the value that was read, or the version that was replaced. It is
	// missing if unknown. Foreign values were written by no request to this key.
	Read    *int64 `json:"read,omitempty"`
	Foreign bool   `json:"foreign,omitempty"`
	Sent    int64  `json:"sent_ns,omitempty"`
	End     int64  `json:"end_ns,omitempty"`
}

// kinds and outcomes are the words in the file, by number.
func kinds() []string    { return []string{"other", "read", "write", "swap", "txn", "delete"} }
func outcomes() []string { return []string{"ok", "failed", "unknown", "not found"} }

// WriteHistories writes a history file. Without histories it writes no file.
func WriteHistories(path string, list []consistency.History) (err error) {
	if len(list) == 0 {
		return nil
	}
	file, err := linefile.Open(path, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	for n := range list {
		lines, err := encodeHistory(&list[n])
		if err != nil {
			return fmt.Errorf("encode the requests on key %d: %w", list[n].Key, err)
		}
		if err := file.Append(lines); err != nil {
			return err
		}
	}
	return nil
}

// encodeHistory returns the lines for one key.
func encodeHistory(h *consistency.History) (lines []byte, err error) {
	add := func(l line) {
		text, encoding := json.Marshal(l)
		err = errors.Join(err, encoding)
		lines = append(append(lines, text...), '\n')
	}
	head := line{Key: &h.Key, Requests: len(h.Ops), Violations: h.Violations, Missing: h.Missing}
	if h.Initial != consistency.Absent {
		head.Initial = &h.Initial
	}
	if h.Until != consistency.Whole {
		head.Until = &h.Until
	}
	add(head)
	for n := range h.Ops {
		o := &h.Ops[n]
		l := line{Request: &o.Request, Client: o.Client, Kind: kinds()[o.Kind], Outcome: outcomes()[o.Outcome], Sent: o.Sent, End: o.End}
		switch {
		case o.Known && o.Read <= consistency.NoRequest && o.Kind != consistency.Guarded:
			l.Foreign = true
		case o.Known:
			l.Read = &o.Read
		}
		add(l)
	}
	return lines, err
}

// Histories reads the histories in a file, one after the other, until an error.
func Histories(path string) iter.Seq2[*consistency.History, error] {
	return func(yield func(*consistency.History, error) bool) {
		var h *consistency.History
		requests := 0 // that h had when it was written
		whole := func() *consistency.History {
			h.Missing += max(int64(requests)-int64(len(h.Ops)), 0)
			return h
		}
		for text, err := range linefile.Lines(path) {
			if err != nil {
				yield(nil, err)
				return
			}
			var l line
			if err := json.Unmarshal([]byte(text.Text), &l); err != nil {
				yield(nil, fmt.Errorf("%s: line %d: %w", path, text.Number, err))
				return
			}
			if l.Key != nil {
				if h != nil && !yield(whole(), nil) {
					return
				}
				h, requests = l.history(), l.Requests
				continue
			}
			o, err := l.op()
			switch {
			case err == nil && h == nil:
				err = errors.New("a request comes before the first key")
			case err == nil && len(h.Ops) >= mostRecorded:
				err = fmt.Errorf("a key must have at most %d requests", mostRecorded)
			}
			if err != nil {
				yield(nil, fmt.Errorf("%s: line %d: %w", path, text.Number, err))
				return
			}
			o.Key = h.Key
			h.Ops = append(h.Ops, o)
		}
		if h != nil {
			yield(whole(), nil)
		}
	}
}

// history returns the history that a line begins.
func (l *line) history() *consistency.History {
	h := &consistency.History{Key: *l.Key, Initial: consistency.Absent, Until: consistency.Whole, Violations: l.Violations, Missing: l.Missing}
	if l.Initial != nil {
		h.Initial = *l.Initial
	}
	if l.Until != nil {
		h.Until = *l.Until
	}
	return h
}

// op returns the request on this line.
func (l *line) op() (o consistency.Op, err error) {
	kind, outcome := slices.Index(kinds(), l.Kind), slices.Index(outcomes(), l.Outcome)
	switch {
	case l.Request == nil:
		return o, errors.New("a line must be about a key or a request")
	case kind < 0 || outcome < 0:
		return o, fmt.Errorf("a request must have a known kind and outcome, got %q and %q", l.Kind, l.Outcome)
	case l.End < l.Sent:
		return o, fmt.Errorf("request %d ended at %d, before it was sent at %d", *l.Request, l.End, l.Sent)
	}
	o = consistency.Op{Request: *l.Request, Client: l.Client, Kind: consistency.Kind(kind), Outcome: consistency.Outcome(outcome), Sent: l.Sent, End: l.End}
	switch {
	case l.Foreign:
		o.Read, o.Known = consistency.NoRequest, true
	case l.Read != nil:
		o.Read, o.Known = *l.Read, true
	}
	return o, nil
}
