// Package selfcheck checks the load engine against a server whose delays are
// known.
//
// The server runs in its own process, delays every reply by a [Law], stalls once in the middle, and
// logs when it received and answered each request. What the engine measures over TCP is compared
// with that log: service times directly, response times with a replay of the schedule and the queue
// of clients. The check also measures the speed and the exactness with which this machine can pace
// requests.
package selfcheck
