// Package load applies operations to a database and records every one of them.
//
// An [Engine] runs steps: a number of clients that share connections and take
// requests from one schedule, closed loop or at a rate. Every request ends as
// exactly one of ok, failed, unknown, shed and unsent. A [Recorder] counts them
// into one second's records after the other, in memory that does not grow with
// the number of requests.
//
// With a rate, request i is due at start + i/rate whatever the database does.
// Response time counts from when it was due, service time from when it was sent,
// so that a stall is seen by every request that had to wait for it.
//
// Several machines can issue one load: [Spec.Part] is the share of each. What a request
// does, and when it is due, follows from its number, so together they send what one would.
//
// Requests are counted twice, independently: [Recorder] counts each request that a
// client records, and the schedule's numbers give the count that must result. A step
// fails if the two differ.
package load
