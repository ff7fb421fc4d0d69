package database

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// LockFacts are what is known of a database's locks before anything starts. Of the contenders for
// the lock of a name, one at a time holds it. A contender holds its lock, or its place among those
// that wait, with a session that it renews by itself.
type LockFacts struct {
	// What is the database's name for that with which a contender holds a lock, such as "key of
	// a lease".
	What string
	// Recipes are the ways to take a lock, the default first.
	Recipes []LockRecipe
	// Session are the facts of a contender's session, for each recipe: its TTL, and when members
	// end it. Renews is the longest time between two renewals of one with a TTL.
	Session SessionFacts
	Renews  func(ttl time.Duration) time.Duration
	// Delayed is the database's name for a time during which nobody gets a lock whose holder's
	// session ended; empty if there is none. Delay is its default, and MostDelay its bound.
	Delayed          string
	Delay, MostDelay time.Duration
}

// The names of recipes that databases have in common.
const (
	// LockLibrary is the recipe of the client library that users of the database have.
	LockLibrary = "library"
	// LockDirect is the best known use of the protocol.
	LockDirect = "direct"
)

// LockRecipe is a way to take a lock.
type LockRecipe struct {
	// Name is [LockLibrary], [LockDirect] or a name of the driver's own.
	Name string
	// Library is the import path of the package that has the recipe; empty: the driver has it.
	Library string
	// Queue means that contenders get the lock in the order of their places, which members give
	// them as they ask; else it is a race.
	Queue bool
	// Places means that [Contender.Acquire] reports a place; libraries do not.
	Places bool
	// Fence is what the fence is, such as "the create revision of the contender's key".
	Fence string
	// Waits is how a contender learns that the lock may be its own.
	Waits string
	// Retry is how long a contender rests before it asks again for a lock that is delayed.
	Retry time.Duration
}

// By returns the library of a recipe with its version in this binary, as far as that is known.
func (r LockRecipe) By() string {
	if r.Library == "" {
		return "dbtester"
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return r.Library
	}
	version, length := "", 0
	for _, m := range info.Deps {
		if within := r.Library == m.Path || strings.HasPrefix(r.Library, m.Path+"/"); within && len(m.Path) > length {
			version, length = " "+m.Version, len(m.Path)
		}
	}
	return r.Library + version
}

// Recipe returns the recipe of a name, the default for "".
func (f LockFacts) Recipe(name string) (LockRecipe, error) {
	if name == "" {
		return f.Recipes[0], nil
	}
	i := slices.IndexFunc(f.Recipes, func(r LockRecipe) bool { return r.Name == name })
	if i < 0 {
		return LockRecipe{}, fmt.Errorf("the recipe must be one of %q, got %q", f.Names(), name)
	}
	return f.Recipes[i], nil
}

// Names returns the names of the recipes.
func (f LockFacts) Names() []string {
	names := make([]string, len(f.Recipes))
	for i, r := range f.Recipes {
		names[i] = r.Name
	}
	return names
}

// Passes returns how long after [Contender.Abandon] by its holder a lock passes to one that waits
// for it by a recipe: at least and at most, besides what a hand-over takes.
func (f LockFacts) Passes(r LockRecipe, o LockOptions) (earliest, latest time.Duration) {
	ttl := f.Session.Granted(o.TTL)
	earliest, latest = f.Session.Ends(ttl, 1)
	if latest += o.Delay; o.Delay > 0 {
		latest += r.Retry
	}
	return max(0, earliest-f.Renews(ttl)) + o.Delay, latest
}

// LockFactsOf returns the facts of a driver's options, nil without locks.
func LockFactsOf(i Info, driver any) *LockFacts {
	if i.Locks == nil {
		return nil
	}
	facts := *i.Locks
	if r, ok := driver.(SessionRuler); ok {
		facts.Session = r.SessionFacts()
	}
	return &facts
}

// LockOptions are of all contenders of a [Locks].
type LockOptions struct {
	// Recipe is the name of one of [LockFacts.Recipes], the default if it is empty.
	Recipe string
	// TTL is asked for sessions; members grant [SessionFacts.Granted] of it.
	TTL time.Duration
	// Delay is [LockFacts.Delayed]: 0 is none.
	Delay time.Duration
}

// LockDialer is a driver of a database with locks, whose [Info.Locks] has the facts.
type LockDialer interface {
	// DialLocks opens what makes contenders, for one caller that closes it.
	DialLocks(ctx context.Context, t Target, o LockOptions) (Locks, error)
}

// Locks makes contenders for locks below the target's prefix, apart from the keys of clients. Its
// methods are safe for concurrent use.
type Locks interface {
	// Contender begins a session with connections of its own, as of a process of its own.
	Contender(ctx context.Context) (Contender, error)
	// Close removes what is left of locks that nobody holds or waits for. It is called after the
	// contenders were closed.
	Close() error
}

// ErrLockLost is in the error of [Contender.Release] of a lock that was not held any more: the
// holder's session had ended.
var ErrLockLost = errors.New("the lock was not held any more")

// Contender has a session that it renews by itself, and holds or waits for at most one lock. Its
// methods are for one caller at a time.
type Contender interface {
	// Acquire waits until the lock of a name is held. It calls placed, unless that is nil, once the
	// members have confirmed its place, if the recipe reports that. If it returns an error, or ctx
	// ends, nothing is left of the wait, unless no member can be asked to remove it: then it ends
	// with the session. An error that is [ErrNoSession] means that the session has ended.
	Acquire(ctx context.Context, name []byte, placed func()) (Held, error)
	// Release gives the lock up. Its error is [ErrLockLost] if the holder knows, or the members
	// say, that it was not held any more: not every recipe asks them. After another error the lock
	// may be held until Close, which must follow.
	Release(ctx context.Context) error
	// Abandon makes the contender look dead: it renews nothing any more, and nothing says goodbye
	// to the members. Only Close may follow.
	Abandon()
	// Close gives up the lock, ends the session and closes the connections. After Abandon it
	// leaves the session to the members. It is called once.
	Close(ctx context.Context) error
}

// Held is what a holder knows of the lock that it holds.
type Held struct {
	// At is when the holder knew that it holds the lock. What it asked only for the fence came
	// after.
	At time.Time
	// Fence is greater than that of each holder of the name before.
	Fence int64
	// Lost is closed when the holder learns by itself that it does not hold the lock any more.
	// After Release was called it means nothing.
	Lost <-chan struct{}
}

// LockKeys is the name below which locks lie, behind the target's prefix.
const LockKeys = "locks/"
