package main

import (
	"fmt"

	"github.com/dustin/go-humanize/english"
)

// load puts values of 1 KiB.
type load struct {
	clients, connections int
	rate                 int // a second; 0 is a closed loop
	requests             int // in a run of some nine seconds
}

func (l load) String() string {
	by := english.Plural(l.clients, "client", "") + " on " + english.Plural(l.connections, "connection", "")
	if l.rate > 0 {
		return fmt.Sprintf("%d a second, %s", l.rate, by)
	}
	return by
}

// loads leave the processors on a small machine mostly idle, because every answer is held back:
// waits for a processor, in the client or in the proxy, would be differences that neither side
// caused.
func loads() []load {
	return []load{
		{clients: 1, connections: 1, requests: 60},
		{clients: 100, connections: 100, requests: 6_000},
		{clients: 1000, connections: 100, requests: 50_000},
		{clients: 500, connections: 100, rate: 1000, requests: 9_000},
		{clients: 1000, connections: 100, rate: 4000, requests: 36_000},
	}
}
