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

// LockFacts are the facts about a database's locks, known before anything starts. One contender at
// a time holds the lock of a name. A contender keeps its lock, or its place in the queue, with a
// session it renews by itself.
type LockFacts struct {
	// What is the name in the database for the object with which a contender holds a lock, such as
	// "key of a lease".
	What string
	// Recipes are the ways to take a lock, the default first.
	Recipes []LockRecipe
	// Session are the facts about a contender's session with any recipe: its TTL, and when members
	// end it. Renews is the longest time between two renewals of a session with a TTL.
	Session SessionFacts
	Renews  func(ttl time.Duration) time.Duration
	// Delayed is the name in the database for the time in which no contender gets a lock after its
	// holder's session has ended; or empty. Delay is its default, and MostDelay its maximum.
	Delayed          string
	Delay, MostDelay time.Duration
}

// The recipe names that databases share.
const (
	// LockLibrary is the recipe in the client library in common use.
	LockLibrary = "library"
	// LockDirect is the best known recipe that uses the protocol directly.
	LockDirect = "direct"
)

// LockRecipe is a way to take a lock.
type LockRecipe struct {
	// Name is [LockLibrary], [LockDirect] or a name that the driver gives it.
	Name string
	// Library is the import path of the package with the recipe; empty if the driver has it.
	Library string
	// Queue means that contenders get the lock in the order of their places, which members assign
	// as requests arrive. Otherwise contenders race.
	Queue bool
	// Places means that [Contender.Acquire] reports a place; libraries do not.
	Places bool
	// Fence describes the fence, such as "the create revision of the contender's key".
	Fence string
	// Waits is how a contender learns that the lock may be its own.
	Waits string
	// Retry is how long a contender waits before it requests a delayed lock again.
	Retry time.Duration
}

// By returns the library of a recipe, and its version in this binary if known.
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

// Recipe returns the recipe of that name, the default for "".
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

// Names returns the recipe names.
func (f LockFacts) Names() []string {
	names := make([]string, len(f.Recipes))
	for i, r := range f.Recipes {
		names[i] = r.Name
	}
	return names
}

// Passes returns the time from [Contender.Abandon] by its holder until a lock passes to a contender
// that waits for it with a recipe: at least and at most, without the hand-over itself.
func (f LockFacts) Passes(r LockRecipe, o LockOptions) (earliest, latest time.Duration) {
	earliest, latest = f.Lasts(f.Session.Granted(o.TTL))
	if latest += o.Delay; o.Delay > 0 {
		latest += r.Retry
	}
	return max(0, earliest) + o.Delay, latest
}

// Lasts returns how long a session with a granted TTL lasts after its holder stops: at least, if
// the last renewal is as old as it can be, and at most.
func (f LockFacts) Lasts(ttl time.Duration) (least, most time.Duration) {
	least, most = f.Session.Ends(ttl, 1)
	return least - f.Renews(ttl), most
}

// LockFactsOf returns the facts for a driver's options, nil without locks.
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

// LockOptions are the options for all contenders of a [Locks].
type LockOptions struct {
	// Recipe is a name in [LockFacts.Recipes]; empty means the default.
	Recipe string
	// TTL is requested for each session; members grant [SessionFacts.Granted] of it.
	TTL time.Duration
	// Delay is the duration of [LockFacts.Delayed]; 0 means no delay.
	Delay time.Duration
}

// LockDialer is a driver for a database that has locks; [Info.Locks] has the facts.
type LockDialer interface {
	// DialLocks returns a [Locks], which the caller closes.
	DialLocks(ctx context.Context, t Target, o LockOptions) (Locks, error)
}

// Locks makes contenders for locks below the target prefix, separate from client keys. Its methods
// are safe for concurrent use.
type Locks interface {
	// Contender begins a session with its own connections, as a separate process would.
	Contender(ctx context.Context) (Contender, error)
	// Close removes the remains of locks without holders and waiters. It is called after all
	// contenders are closed.
	Close() error
}

// ErrLockLost is wrapped by the error from [Contender.Release] for a lock that was no longer held
// because the holder's session had ended.
var ErrLockLost = errors.New("the lock was not held any more")

// Contender has a session it renews by itself, and holds or waits for at most one lock. Its methods
// are for one caller at a time.
type Contender interface {
	// Acquire waits until it holds the lock of a name. If the recipe reports places, it calls
	// placed, unless that is nil, once the members have confirmed its place. After an error, or if
	// ctx ends, nothing is left of the wait, unless no member can be reached to remove it: then it
	// ends with the session. An error that is [ErrNoSession] means that the session has ended.
	Acquire(ctx context.Context, name []byte, placed func()) (Held, error)
	// Release gives the lock up. Its error is [ErrLockLost] if the holder knows, or the members
	// report, that the lock was no longer held: not every recipe asks them. After another error
	// the lock may be held until Close, which must follow.
	Release(ctx context.Context) error
	// Abandon makes the contender look dead: it stops renewing and does not notify the members.
	// Only Close may follow.
	Abandon()
	// Close gives up the lock, ends the session and closes the connections. After Abandon it
	// leaves the session to the members. It is called once.
	Close(ctx context.Context) error
}

// Held describes a lock to its holder.
type Held struct {
	// At is when the holder knew that it holds the lock. Requests for the fence alone came
	// later.
	At time.Time
	// Fence is greater than the fences of all earlier holders of the name.
	Fence int64
	// Lost is closed when the holder learns by itself that it no longer holds the lock. After
	// Release was called, Lost has no meaning.
	Lost <-chan struct{}
}

// LockKeys is the name below which locks lie, after the target prefix.
const LockKeys = "locks/"
