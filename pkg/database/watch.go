package database

import (
	"context"
	"time"
)

// WatchKind is how a database reports changes of keys.
type WatchKind string

// The kinds of watches.
const (
	// WatchStream reports every change over a stream that many watchers share.
	WatchStream WatchKind = "stream"
	// WatchPersistent reports every change below a name until it is removed.
	WatchPersistent WatchKind = "persistent"
	// WatchOneShot reports the next change alone; the client then reads the key and asks for
	// the next one.
	WatchOneShot WatchKind = "one-shot"
	// WatchBlocking is a read that is answered when something has changed.
	WatchBlocking WatchKind = "blocking"
)

// WatchFacts are what is known of a database's watches of a kind before anything starts.
type WatchFacts struct {
	Kind WatchKind
	// How describes the requests and the client in a few words.
	How string
	// Ordered watches report changes in the order of their versions.
	Ordered bool
	// Coalesces means that a report has the newest change of a key alone: what changed between
	// two reports is skipped.
	Coalesces bool
	// Values are in the events, so that these name the requests that wrote them. Without, the
	// clients of the load are [WriteVersioner], and the versions of events are compared.
	Values bool
	// Ranges can be watched; otherwise a watcher has one key.
	Ranges bool
	// NoParts is why no part of the keys can be watched, such as the first hundred. It is empty
	// if a part can.
	NoParts string
	// Conns means that each watcher has a connection of its own.
	Conns bool
}

// WatchRuler is a [WatchDialer] whose options change the facts.
type WatchRuler interface{ WatchFacts() []WatchFacts }

// WatchesOf returns the facts of the kinds of watches of a driver's options, the default first.
func WatchesOf(i Info, driver any) []WatchFacts {
	if r, ok := driver.(WatchRuler); ok {
		return r.WatchFacts()
	}
	return i.Watches
}

// WatchFactsOf returns the facts of a kind, those of the first kind for "", and nil for a kind
// that there is not.
func WatchFactsOf(i Info, driver any, kind WatchKind) *WatchFacts {
	for _, f := range WatchesOf(i, driver) {
		if kind == "" || f.Kind == kind {
			return &f
		}
	}
	return nil
}

// WatchDialer is a driver of a database with watches, whose [Info.Watches] has the facts for
// default options.
type WatchDialer interface {
	// DialWatches opens a connection for watchers of a kind, apart from those of other clients,
	// to the preferred or else the first member. The caller closes it.
	DialWatches(ctx context.Context, t Target, kind WatchKind, to Receiver) (Watches, error)
}

// Watches are the watchers of one connection. Its methods are safe for concurrent use.
type Watches interface {
	// Add begins to watch. The events have the watcher's number, which the caller chooses; they
	// may be received before Add returns. All changes with a version above after are reported. An
	// error that is [errors.ErrUnsupported] means that the members' release has no such watches.
	Add(ctx context.Context, watcher int32, r WatchRange) (after int64, err error)
	// Barrier returns when the changes of all writes that were answered before the call have
	// been received, by every watcher of the connection.
	Barrier(ctx context.Context) error
	// Close ends the watches, and returns after the last call of the receiver.
	Close() error
}

// WatchRange is what a watcher watches: a key below the target's prefix, all keys there, or those
// of a half-open range.
type WatchRange struct {
	Key []byte // nil for all
	// End is nil, or a range begins with Key and ends before it. It is set only for kinds that
	// can watch parts of the keys.
	End []byte
}

// Receiver takes the events of connections.
type Receiver interface {
	// Receive takes the events of one read of a connection, and when they arrived. The events
	// and their bytes are valid during the call, which must not block. Several goroutines may
	// call it.
	Receive(at time.Time, events []WatchEvent)
	// Broken is called once when a connection ends before Close. No event follows.
	Broken(err error)
}

// WatchEvent is a change of a key as one watcher saw it.
type WatchEvent struct {
	Watcher int32
	// Woken watchers were told of a change, and there was none: the event has nothing else.
	Woken bool
	// Key has no prefix.
	Key []byte
	// Value is nil if the kind of watch reports none.
	Value []byte
	// Version orders the changes of all keys.
	Version int64
}

// WriteVersioner is a [Client] of one caller that knows which version its last write made.
type WriteVersioner interface {
	// WriteVersion returns the version that the last successful write made, -1 if it is not
	// known.
	WriteVersion() int64
}
