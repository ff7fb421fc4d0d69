package database

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"

	"github.com/coreos/dbtester/pkg/workload"
)

// Class is the kind of an error. The set is closed, and no class holds a key, a value or a URL.
type Class string

// The classes.
const (
	ClassTimeout       Class = "time-out"
	ClassCancelled     Class = "cancelled"
	ClassUnavailable   Class = "unavailable"
	ClassConnection    Class = "connection lost"
	ClassLeaderChange  Class = "leader change"
	ClassThrottled     Class = "throttled"
	ClassSpaceExceeded Class = "space exceeded"
	ClassConflict      Class = "conflict"
	ClassNotFound      Class = "not found"
	ClassTooLarge      Class = "too large"
	ClassWrongValue    Class = workload.ClassWrongValue
	ClassDenied        Class = "denied"
	ClassOther         Class = "other"
)

// ErrNotFound is returned by Get for a missing key.
var ErrNotFound = &Error{Class: ClassNotFound, Outcome: workload.Failed, Err: errors.New("key not found")}

// Error is the classified failure of one operation.
type Error struct {
	Class Class
	// Outcome is Failed only if the operation was surely not applied.
	Outcome workload.Outcome
	Err     error
}

// Error returns the class and the cause.
func (e *Error) Error() string { return fmt.Sprintf("%s: %v", e.Class, e.Err) }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// ErrDisconnected is wrapped by the error of a request whose time ended while its client had no
// connection: the next request over that client would probably end in the same way.
var ErrDisconnected = errors.New("the client has no connection")

// NotApplied classifies err as a failure that surely changed nothing.
func NotApplied(c Class, err error) error {
	return &Error{Class: c, Outcome: workload.Failed, Err: err}
}

// MaybeApplied classifies err as a failure after which the operation may have been
// applied.
func MaybeApplied(c Class, err error) error {
	return &Error{Class: c, Outcome: workload.Unknown, Err: err}
}

// Classify returns the outcome and class of an error from a client, which may be nil. An error no
// driver classified is Unknown, the careful reading.
func Classify(err error) (workload.Outcome, Class) {
	if err == nil {
		return workload.OK, ""
	}
	var e *Error
	switch {
	case errors.As(err, &e):
		return e.Outcome, e.Class
	case errors.Is(err, context.DeadlineExceeded):
		return workload.Unknown, ClassTimeout
	case errors.Is(err, context.Canceled):
		return workload.Unknown, ClassCancelled
	default:
		return workload.Unknown, ClassOther
	}
}

// Declined reports whether a failure of that class is an answer that the load itself makes likely:
// a swap or a txn that lost its race, or, in a load that deletes keys, a request for a missing key.
// The database has answered it, so it has a response time.
func Declined(op workload.Op, class Class, deletes bool) bool {
	return class == ClassConflict && op.Contends() || class == ClassNotFound && deletes && !op.OfSessions()
}

// Panicked returns the error for a client call that panicked. Call it in the function that
// recovered p: the error then names the place of the panic.
func Panicked(p any) error {
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs)])
	for panicking := false; ; {
		f, more := frames.Next()
		if inside := strings.HasPrefix(f.Function, "runtime."); panicking && !inside || !more {
			return MaybeApplied(ClassOther, fmt.Errorf("the database's client panicked in %s, line %d: %v", f.Function, f.Line, p))
		}
		panicking = panicking || f.Function == "runtime.gopanic"
	}
}
