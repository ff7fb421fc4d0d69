// Package recheck decides with Porcupine, which knows of no zones, whether the recorded requests on
// one key were answered as by one register. Porcupine's time and memory may grow with any power of
// the number of concurrent requests, so it belongs in a process with limits.
package recheck

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/coreos/dbtester/pkg/consistency"
)

// Verdict says whether some order of the requests explains all answers.
type Verdict string

// The verdicts.
const (
	OK        Verdict = "ok"
	Violation Verdict = "violation"
	// Unknown is the verdict if a check reached a limit.
	Unknown Verdict = "unknown"
)

// Check searches for an order of the requests, for at most within; 0 means no limit. It returns an
// error for a history that cannot be checked.
func Check(h *consistency.History, within time.Duration) (Verdict, error) {
	if h.Missing > 0 {
		return Unknown, fmt.Errorf("%d requests are not recorded", h.Missing)
	}
	if h.Initial == consistency.Unstated {
		return Unknown, errors.New("the first value is not known")
	}
	switch porcupine.CheckOperationsTimeout(model(h.Initial), operations(h), within) {
	case porcupine.Ok:
		return OK, nil
	case porcupine.Illegal:
		return Violation, nil
	}
	return Unknown, nil
}

// operations returns the requests that may explain or contradict answers.
func operations(h *consistency.History) (list []porcupine.Operation) {
	read := map[int64]bool{}
	for n := range h.Ops {
		if o := &h.Ops[n]; o.Known && o.Kind != consistency.Guarded && o.End <= h.Until {
			read[o.Read] = true
		}
	}
	for n := range h.Ops {
		o := h.Ops[n]
		if o.End > h.Until && !unended(&o) {
			continue
		}
		wrote := o.Outcome != consistency.Failed && o.Outcome != consistency.NotFound && o.Kind != consistency.Read
		end := o.End
		switch {
		case wrote && o.Outcome == consistency.Unknown:
			if o.Kind != consistency.Delete && !read[o.Request] {
				continue // a value that no request read explains nothing
			}
			end = math.MaxInt64
		case !wrote && o.Outcome != consistency.NotFound && (!o.Known || o.Kind == consistency.Guarded):
			continue // it neither read nor changed anything
		}
		list = append(list, porcupine.Operation{ClientId: n, Input: o, Call: o.Sent, Return: end})
	}
	return list
}

// unended makes the outcome of a request unknown if it ended after the record did. It returns false
// for one that changed nothing: its answer is not in the record.
func unended(o *consistency.Op) bool {
	changed := o.Kind != consistency.Read && (o.Outcome == consistency.OK || o.Outcome == consistency.Unknown)
	o.Outcome = consistency.Unknown
	return changed
}

// register is one key's state: its value, and the greatest version that was replaced.
type register struct{ value, version int64 }

// model returns the model for one key's register.
func model(initial int64) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return register{initial, math.MinInt64} },
		Step: func(state, input, _ any) (bool, any) {
			o, is := input.(consistency.Op), state.(register)
			after, legal := is.apply(&o)
			return legal, after
		},
		Hash: func(state any) uint64 {
			is := state.(register)
			return (uint64(is.value)*0x9e3779b97f4a7c15 ^ uint64(is.version)) * 0xff51afd7ed558ccd
		},
	}
}

// apply returns the register after a request, and whether its answer is legal.
func (r register) apply(o *consistency.Op) (register, bool) {
	switch {
	case o.Outcome == consistency.NotFound:
		return r, r.value == consistency.Absent
	case o.Outcome == consistency.Failed, o.Kind == consistency.Read:
		return r, r.value == o.Read
	case o.Kind == consistency.Delete:
		r.value = consistency.Absent
		return r, true
	case o.Kind == consistency.Swap && o.Known && r.value != o.Read:
		return r, o.Outcome == consistency.Unknown // it may have changed nothing
	case o.Kind == consistency.Guarded && o.Known && o.Read <= r.version:
		return r, o.Outcome == consistency.Unknown
	case o.Kind == consistency.Guarded && o.Known:
		r.version = o.Read
	}
	r.value = o.Request
	return r, true
}
