package main

import (
	"fmt"

	"github.com/dustin/go-humanize/english"
)

// load describes the requests the programs in a comparison make.
type load struct {
	requests    int // in one run
	clients     int
	connections int
	rate        int  // requests a second, 0 for a closed loop
	keepalive   bool // lease renewals in place of puts
	watchers    int  // on one key; the requests are then their events, and the rate is for puts
}

// what returns the noun for a request in a load, and a text that describes the load.
func (l load) what() (each, what string) {
	by := fmt.Sprintf("%s by %s on %s", l.atRate(), english.Plural(l.clients, "client", ""), english.Plural(l.connections, "connection", ""))
	switch {
	case l.keepalive:
		return "renewal", fmt.Sprintf("%d renewals of leases, each in a stream of its own, as KeepAliveOnce sends them,%s", l.requests, by)
	case l.watchers > 0:
		return "event", fmt.Sprintf("%d events of %d watchers of one key on %d connections, a stream each, to which %d puts of a %d-byte key and as large a value bring them, %d a second and one after the other; the puts are part of the cost", l.requests, l.watchers, l.connections, l.puts(), watchedKey, l.rate)
	}
	return "put", fmt.Sprintf("%d puts of a 256-byte key and a 1 KiB value%s", l.requests, by)
}

// puts counts the puts that cause the events.
func (l load) puts() int { return l.requests / l.watchers }

// atRate states at which rate requests are due.
func (l load) atRate() string {
	if l.rate == 0 {
		return ""
	}
	return fmt.Sprintf(", %d a second,", l.rate)
}
