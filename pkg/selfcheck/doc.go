// Package selfcheck proves the load engine against a server whose delays are
// known.
//
// The server runs in a process of its own, delays every reply by a [Law], stands
// still for a while in the middle, and logs when it received and when it replied.
// What the engine measured over TCP is compared with that log: service times
// directly, response times with a replay of the schedule and of the clients'
// queue. Beside that it finds out how fast, and how exactly, this machine can
// pace requests at all.
package selfcheck
