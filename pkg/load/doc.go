// Package load applies operations to a database and records each one.
//
// An [Engine] runs steps: some clients that share connections and take requests from one schedule,
// closed loop or at a rate. Every request ends as exactly one of ok, failed, unknown, shed and
// unsent. A [Recorder] counts them into records for one second after the other, in memory that does
// not grow with the request count.
//
// With a rate, request i is due at start + i/rate whatever the database does.
// Response time counts from when it was due, service time from when it was sent.
// So a stall shows in every request that had to wait for it.
//
// Several machines can issue one load: [Spec.Part] is each one's share. A request number determines
// its content and its due time, so together they send the same requests as one would.
//
// Requests are counted twice, independently: [Recorder] counts each request that a client records,
// and the numbers in the schedule give the count to be expected. A step fails if the two counts
// differ.
//
// # Recording
//
// A [Recorder] consists of parts that guard themselves, one file each. By its clock, clients record
// into the shards and the failures, which a flusher merges each second. The offered requests are
// counted from the numbers in the schedule, the accounts from the requests; when a step ends, the
// two must agree. A shard counts seconds, 100 ms ticks, and requests by member. Ticks are numbered
// from where the measured window starts, and the tick in which the window ends is cut there. So the
// rows in progress.csv sum to the requests that ended inside the window.
//
// A client publishes when it sent its request in one atomic word, so a flush counts the request
// as sent in that second and never again. Gauges follow from the counts.
//
// # Observers
//
// A sink that is an [Observer] sees every request that ended. Clients append to the pages of their
// shard under the lock that they hold in any case. Each delivery names a moment before which
// nothing will be added: the earliest at which a request in flight was sent. This would miss a
// client that has read the clock, but has not yet set its atomic word. So a client with an observer
// sets a mark in the word before it reads the clock.
//
// # Connections and deadlines
//
// Several clients may share a connection. After a request that found no server, one goroutine for
// each connection opens the next one, to a member chosen by the failover rule. Its clients send
// nothing meanwhile, and their waits are counted by second like requests. One watcher checks call
// deadlines: a context with a timer for every request would cost more than the request, so each
// client keeps one context until a deadline passes.
//
// # Fibers
//
// Where the database client supports it ([database.Continuer]), clients are fibers. One goroutine
// waits for all plain connections and continues the clients that got an answer; these record, and
// make their next requests. On a connection shared by clients, it reads the answers and writes the
// requests, these all at once; clients with a connection each do both themselves. When answers have
// come on many connections, other goroutines serve some. A client leaves that goroutine before
// anything that may block, and after a failed request. Fibers and connections borrow memory for
// requests and answers, and return it before they wait, so a thousand waiting clients hold little.
//
// A timerfd wakes the process when a client's wait ends: Go's timers alone fire 0.6 ms late at the
// median, with it 0.1 ms (10 clients at 100 to 10,000 requests per second, BenchmarkPace), for 3 %
// of a core at 1,000 requests per second and 24 % at 10,000.
package load
