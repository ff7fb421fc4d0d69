package database

import (
	"context"
	"time"
)

// WatchKind is how a database reports key changes.
type WatchKind string

// The watch kinds.
const (
	// WatchStream reports every change over a stream that many watchers share.
	WatchStream WatchKind = "stream"
	// WatchPersistent reports every change below a name until the watch is removed.
	WatchPersistent WatchKind = "persistent"
	// WatchOneShot reports only the next change; the client then reads the key and sets the
	// next watch.
	WatchOneShot WatchKind = "one-shot"
	// WatchBlocking is a read the database answers when something has changed.
	WatchBlocking WatchKind = "blocking"
)

// WatchFacts are the facts about one kind of watch in a database, known before anything starts.
type WatchFacts struct {
	Kind WatchKind
	// How describes the requests and the client in a few words.
	How string
	// Ordered watches report changes in version order.
	Ordered bool
	// Coalesces means that a report has only the newest change of a key: earlier changes since the
	// last report are skipped.
	Coalesces bool
	// Values means that events have values, which name the requests that wrote them. Without
	// values, load clients are [WriteVersioner], and the event versions are compared.
	Values bool
	// Ranges means that ranges can be watched; otherwise a watcher has one key.
	Ranges bool
	// NoParts is why part of the keys, such as the first hundred, cannot be watched; empty if it
	// can.
	NoParts string
	// Conns means that each watcher has its own connection.
	Conns bool
	// NoResume is why a watcher cannot continue over a new connection where it was; empty if the
	// connections are [WatchResumer].
	NoResume string
}

// WatchRuler is a [WatchDialer] whose options change the facts.
type WatchRuler interface{ WatchFacts() []WatchFacts }

// WatchesOf returns the facts about each kind of watch for a driver's options, the default first.
func WatchesOf(i Info, driver any) []WatchFacts {
	if r, ok := driver.(WatchRuler); ok {
		return r.WatchFacts()
	}
	return i.Watches
}

// WatchFactsOf returns the facts about a kind, the first for "", and nil for an unknown kind.
func WatchFactsOf(i Info, driver any, kind WatchKind) *WatchFacts {
	for _, f := range WatchesOf(i, driver) {
		if kind == "" || f.Kind == kind {
			return &f
		}
	}
	return nil
}

// WatchDialer is a driver for a database that has watches; [Info.Watches] has the facts for default
// options.
type WatchDialer interface {
	// DialWatches opens a connection for one kind of watch to the preferred or else the first
	// member. Other clients do not share the connection. The caller closes it.
	DialWatches(ctx context.Context, t Target, kind WatchKind, to Receiver) (Watches, error)
}

// Watches are the watchers on one connection. Its methods are safe for concurrent use.
type Watches interface {
	// Add begins to watch. The events have the watcher number, which the caller chooses; events may
	// arrive before Add returns. All changes whose version is above after are reported. An error
	// that is [errors.ErrUnsupported] means that this release has no such watches.
	Add(ctx context.Context, watcher int32, r WatchRange) (after int64, err error)
	// Barrier returns when every watcher on the connection has received all writes answered before
	// the call.
	Barrier(ctx context.Context) error
	// Close ends the watches, and returns after the last call of the receiver.
	Close() error
}

// WatchResumer is [Watches] whose watchers can continue where they were on a closed connection.
type WatchResumer interface {
	// Resume does as [Watches.Add] for a watcher that has all changes up to the version after:
	// later ones are reported. If the database has discarded some later ones, the watcher first
	// gets an event with [WatchEvent.Gap]. An error that is [errors.ErrUnsupported] means that this
	// release cannot do that.
	Resume(ctx context.Context, watcher int32, r WatchRange, after int64) error
}

// WatchRange is a watcher's range: a key below the target prefix, all keys there, or a half-open
// range.
type WatchRange struct {
	Key []byte // nil for all
	// End is nil or the exclusive end of a range that begins with Key. It is set only for kinds
	// without [WatchFacts.NoParts].
	End []byte
}

// Receiver takes the events from connections.
type Receiver interface {
	// Receive takes the events from one read of a connection and their arrival time. The events and
	// their bytes are valid only during the call, which must not block. Several goroutines may call
	// it.
	Receive(at time.Time, events []WatchEvent)
	// Broken is called once when a connection ends before Close. No event follows.
	Broken(err error)
}

// WatchEvent is a change of a key, as one watcher saw it.
type WatchEvent struct {
	Watcher int32
	// Woken means that the watcher was notified without a change: the event has nothing else.
	Woken bool
	// Gap means that the database has discarded changes the watcher was to get, up to Version. The
	// event has nothing else.
	Gap bool
	// Key has no prefix.
	Key []byte
	// Value is nil if this kind of watch reports no values.
	Value []byte
	// Version orders the changes to all keys.
	Version int64
}

// WriteVersioner is a [Client] for one caller that knows the version of its last write.
type WriteVersioner interface {
	// WriteVersion returns the version of the last successful write, -1 if unknown.
	WriteVersion() int64
}
