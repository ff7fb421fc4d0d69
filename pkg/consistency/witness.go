package consistency

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Witness is a violation: requests whose answers no register gives.
type Witness struct {
	Class Class `json:"class"`
	Key   int64 `json:"key"`
	// Older and Newer exclude each other: each had a request that ended before one for the other
	// was sent. Newer is nil if the value alone is a violation, or if its replacement is not
	// remembered.
	Older Value  `json:"older"`
	Newer *Value `json:"newer,omitempty"`
	// Swaps are the requests that replaced Older, though only one can.
	Swaps []int64 `json:"swaps,omitempty"`
	// Replaced are versions of the key that two writes replaced, though only one can. Then there is
	// no Older value.
	Replaced []Replaced `json:"replaced,omitempty"`
	// Reads is the number of requests that gave this evidence in one batch.
	Reads int64 `json:"reads"`
}

// Value describes a value of the key, with the requests that show when it was there.
type Value struct {
	// Number is the number of the request that wrote it. It is negative for a value that was there
	// before the first request, and 0 if no request wrote it.
	Number int64 `json:"number"`
	Absent bool  `json:"absent,omitempty"` // the key was not found
	// Foreign values were written by no request to this key. They have no number.
	Foreign bool `json:"foreign,omitempty"`
	Before  bool `json:"before,omitempty"`  // it was there before the first request
	Delete  bool `json:"deleted,omitempty"` // the request deleted the key
	// Write is when its write was sent, nil if the write was not seen. Failed is set if the write
	// failed.
	Write  *Event `json:"write,omitempty"`
	Failed bool   `json:"failed,omitempty"`
	// FirstEnd is when the first of its requests ended, and LastSent when the last was sent.
	FirstEnd *Event `json:"first_end,omitempty"`
	LastSent *Event `json:"last_sent,omitempty"`
}

// Event is the moment at which a request was sent or ended.
type Event struct {
	Request int64 `json:"request"`
	Client  int32 `json:"client"`
	At      int64 `json:"at_ns"`
}

// value describes a zone.
func (z *zone) value() Value {
	v := Value{Number: z.number, Before: z.is(start), Delete: z.is(deletes), Failed: z.is(doomed)}
	if z.number == Absent {
		v.Number, v.Absent = 0, true
	} else if z.number <= NoRequest {
		v.Number, v.Foreign = 0, true
	}
	if z.is(written|doomed) && !z.is(start) {
		v.Write = &Event{Request: z.number, Client: z.writer, At: z.sent}
	}
	if z.first != 0 {
		v.FirstEnd = &Event{Request: z.first - 1, Client: z.firstClient, At: z.f}
	}
	if z.last != 0 {
		v.LastSent = &Event{Request: z.last - 1, Client: z.lastClient, At: z.s}
	}
	return v
}

// Check returns an error if the witness's times do not show its violation. It does not depend on
// how violations are found.
func (w *Witness) Check() error {
	switch {
	case w.Reads < 1:
		return errors.New("no request gave evidence")
	case w.Class == DoubleSwap && len(w.Replaced) > 0:
		return versionsTwice(w.Replaced)
	case w.Class == DoubleSwap:
		if len(w.Swaps) != 2 || w.Swaps[0] == w.Swaps[1] {
			return fmt.Errorf("two swaps must have replaced the value, got %v", w.Swaps)
		}
		return nil
	case w.Newer != nil:
		return exclude(&w.Older, w.Newer)
	}
	return w.Older.unwritten(w.Class)
}

// versionsTwice returns an error unless two writes replaced one version, or the later write a lesser one.
func versionsTwice(r []Replaced) error {
	switch {
	case len(r) != 2 || r[0].Request == r[1].Request:
		return fmt.Errorf("two writes must have replaced versions, got %+v", r)
	case r[0].Version == r[1].Version:
		return nil
	case r[0].End >= r[1].Sent || r[0].Version < r[1].Version:
		return fmt.Errorf("request %d may have replaced version %d, and request %d version %d", r[0].Request, r[0].Version, r[1].Request, r[1].Version)
	}
	return nil
}

// exclude returns an error unless each value had a request that ended before one for the other was
// sent.
func exclude(older, newer *Value) error {
	for _, pair := range [][2]*Value{{older, newer}, {newer, older}} {
		first, second := pair[0], pair[1]
		switch {
		case first.Before: // it was there before all requests
		case first.Absent && first.Write == nil && first == older: // no request wrote that
		case first.FirstEnd == nil:
			return fmt.Errorf("no request of value %d is known to have ended", first.Number)
		case second.LastSent == nil:
			return fmt.Errorf("no request of value %d is known to have been sent", second.Number)
		case first.FirstEnd.At >= second.LastSent.At:
			return fmt.Errorf("value %d need not come before value %d: its first request ended at %d, the other's last was sent at %d",
				first.Number, second.Number, first.FirstEnd.At, second.LastSent.At)
		}
	}
	return nil
}

// unwritten returns an error if the value may have been written before it was read.
func (v *Value) unwritten(c Class) error {
	switch {
	case v.FirstEnd == nil:
		return errors.New("no request is known to have read the value")
	case v.Failed, v.Delete, v.Write == nil:
		return nil
	case v.FirstEnd.At >= v.Write.At:
		return fmt.Errorf("the value was read at %d, after its write was sent at %d, which is no %s", v.FirstEnd.At, v.Write.At, c)
	}
	return nil
}

// Words describes the violation in sentences, with times since a moment.
func (w *Witness) Words(since int64) string {
	var b strings.Builder
	fmt.Fprintf(&b, "key %d: %s", w.Key, w.Class)
	if w.Reads > 1 {
		fmt.Fprintf(&b, ", %d times", w.Reads)
	}
	b.WriteString(". ")
	if len(w.Replaced) == 2 {
		b.WriteString(replacedWords(w.Replaced[0], w.Replaced[1], since))
		return b.String()
	}
	b.WriteString(w.Older.words(since))
	switch {
	case w.Class == DoubleSwap:
		fmt.Fprintf(&b, " Requests %d and %d both replaced it.", w.Swaps[0], w.Swaps[1])
	case w.Newer != nil:
		b.WriteString(" " + w.Newer.words(since))
		if b.WriteString(" Each must have come before the other."); w.Older.Absent {
			b.WriteString(" Nothing deleted it.")
		}
	case w.Older.Failed:
		b.WriteString(" Its write failed.")
	case w.Older.Delete:
		b.WriteString(" That request wrote no value.")
	case w.Older.Write != nil:
		b.WriteString(" It was read before its write was sent.")
	case w.Class == StaleValue:
		b.WriteString(" No write of it was running: it was replaced longer ago than is remembered.")
	default:
		b.WriteString(" No request that was sent before had written it.")
	}
	return b.String()
}

// replacedWords describes two writes, only one of which can have replaced its version.
func replacedWords(a, b Replaced, since int64) string {
	one := func(r Replaced) string {
		return fmt.Sprintf("equest %d of client %d, sent at %v and answered at %v,", r.Request, r.Client, time.Duration(r.Sent-since), time.Duration(r.End-since))
	}
	if a.Version == b.Version {
		return fmt.Sprintf("R%s and r%s both replaced version %d of the key.", one(a), one(b), a.Version)
	}
	return fmt.Sprintf("R%s replaced version %d of the key, and r%s one that had been replaced before: version %d.", one(a), a.Version, one(b), b.Version)
}

func (v *Value) words(since int64) string {
	at := func(e *Event) string {
		return fmt.Sprintf("request %d of client %d", e.Request, e.Client)
	}
	time := func(e *Event) string { return time.Duration(e.At - since).String() }
	name, there, found := fmt.Sprintf("Value %d", v.Number), "there", "written or read"
	switch {
	case v.Absent:
		name, there, found = "The key", "missing", "not found"
	case v.Foreign:
		name = "A value that no request wrote to this key"
	case v.Delete:
		name = fmt.Sprintf("Delete %d", v.Number)
	}
	var parts []string
	if v.Before {
		parts = append(parts, "was there before the load")
	}
	if v.FirstEnd != nil {
		parts = append(parts, fmt.Sprintf("was %s when %s ended at %s", there, at(v.FirstEnd), time(v.FirstEnd)))
	}
	if v.LastSent != nil {
		parts = append(parts, fmt.Sprintf("was %s by %s, sent at %s", found, at(v.LastSent), time(v.LastSent)))
	}
	return name + " " + strings.Join(parts, ", and ") + "."
}
