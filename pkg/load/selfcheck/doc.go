// Package selfcheck checks the load engine against a server whose delays are
// known.
//
// The server runs in its own process, delays every reply by a [Law], stalls once in the middle, and
// logs when it received and answered each request. What the engine measures over TCP is compared
// with that log: service times directly, response times with a replay of the schedule and the
// client queue. The check also measures how fast, and how exactly, this machine can pace requests.
package selfcheck
