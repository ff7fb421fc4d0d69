package poller

import (
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/coreos/dbtester/pkg/wire/fiber"
)

// set is the sockets that one goroutine waits for, and its alarms.
type set struct {
	epoll int
	waker int  // an eventfd
	timer int  // a timerfd
	exact bool // the kernel has epoll_pwait2
	rest  *rest

	clock clock
	busy  atomic.Int32 // the number of busy users
	// quiet belongs to the goroutine. It is set by a long wait in which nothing happened, until a socket
	// is served or a fiber continued.
	quiet bool

	mu    sync.RWMutex
	slots []*shared // nil are free
	free  []int32
	last  int32 // serial
}

// events holds the current batch of the poller: the events taken at once, their sockets, and the
// due alarms.
type events struct {
	taken []unix.EpollEvent
	due   []*shared
	rung  []alarm
	batch fiber.Batch
}

func newEvents() *events {
	const most = 128
	return &events{taken: make([]unix.EpollEvent, most), due: make([]*shared, 0, most)}
}

// shared is a socket that the goroutine of a set reads, or its user does.
type shared struct {
	set    *set
	slot   int32
	serial int32 // distinguishes it from earlier sockets in the slot
	reader Reader
	ready  func() // notifies the user, which then reads; nil with a reader

	events atomic.Int32 // not yet seen by the goroutine that serves the socket; 0 without one
	ended  atomic.Bool  // the other side has ended, or the socket has an error

	serving sync.Mutex // held while the socket is read and the reader's methods run
	over    bool       // nothing more is read

	mu       sync.RWMutex  // held for reading while the socket is written to
	fd       int           // -1 once closed
	blocked  atomic.Bool   // Write waits
	writable chan struct{} // receives when the network may take more, if Write waits
	closed   chan struct{}
}

// Alarms are waits for times, which the goroutine that reads connections ends on time. A Go timer
// would wake a thread for each wait, which would wake another one to run the waiting goroutine.
// Alarms are safe for concurrent use.
type Alarms struct {
	set   *set
	shift int64 // from the user's times to the set's, in nanoseconds
	busy  bool

	// ringing is held while functions run.
	ringing sync.Mutex
	// The lock in the clock of the set guards over and closed.
	over, closed bool
}

// alarm is the wait of a fiber, or a function to call.
type alarm struct {
	at    int64 // on the clock of the set
	of    *Alarms
	fiber *fiber.Fiber // nil for a function
	do    func() (next int64)
}

// clock has the alarms of a set.
type clock struct {
	base time.Time

	mu   sync.Mutex
	due  []alarm // ascending; the ones before rung were taken
	rung int
	// first is when the first alarm is due, [never] without alarms.
	first atomic.Int64
	// until is when the goroutine of the set wakes by itself; 0 while it is awake.
	until atomic.Int64
}
