// Package nft drops packets of one program, or hands them to a queue, by a table of nftables, in the network namespace of
// this process. The table is owned by this process: the kernel removes it with the process,
// however that ends, and nobody else can change it.
package nft

import "net/netip"

// Rule matches packets. What is zero matches all.
type Rule struct {
	// In is whether packets that come in are matched, or those that go out.
	In bool
	// From and To are the ends of a packet, of TCP or UDP.
	From, To End
	// Group is the directory of a control group of version 2 to which the local socket must
	// belong.
	Group string
}

// End is an address and a port.
type End struct {
	Addr netip.Addr
	Port uint16
}

// Counted are the packets that rules matched, and those of them that were dropped, and that were
// handed to a queue.
type Counted struct{ Matched, Dropped, Queued uint64 }

// Shares are in parts of Whole.
const Whole = 10_000
