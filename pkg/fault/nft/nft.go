// Package nft drops packets of one program, or hands them to a queue, by an nftables table, in the
// network namespace of this process. This process owns the table: the kernel removes it when the
// process ends, for whatever reason, and no other process can change it.
package nft

import "net/netip"

// Rule matches packets. A zero field matches all.
type Rule struct {
	// In selects incoming packets, else outgoing ones.
	In bool
	// From and To are the two ends of a TCP or UDP packet.
	From, To End
	// Group is the directory of the version 2 control group to which the local socket must belong.
	Group string
}

// End is an address and a port.
type End struct {
	Addr netip.Addr
	Port uint16
}

// Counted counts the packets that rules matched, and those of them that were dropped or sent to a
// queue.
type Counted struct{ Matched, Dropped, Queued uint64 }

// Shares are in parts of Whole.
const Whole = 10_000
