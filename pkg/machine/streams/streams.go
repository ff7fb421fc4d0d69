// Package streams measures round trips to other members on the TCP connections on which a member
// alone sends, such as those for a replicated log, from kernel statistics about them.
package streams

import (
	"cmp"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"time"
)

// Trips counts round trips. Its methods must not be called concurrently.
type Trips struct {
	listen netip.AddrPort // without an address if any may be
	// least is the share of all segments that goes to enough members.
	least float64

	known   map[string]connection
	n       float64
	seconds float64
}

// connection holds the kernel statistics about a connection. The counts are segments with data, and
// begin again at 2^32.
type connection struct {
	id             string
	sent, received uint32
	trip           time.Duration // smoothed
}

// New returns a count for the connections that others opened to a member address, HOST:PORT.
// members is the number of members. If the host is a name, connections to the port at any address
// count.
func New(listen string, members int) (*Trips, error) {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return nil, fmt.Errorf("address of streams: %w", err)
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil || number == 0 {
		return nil, fmt.Errorf("address of streams: the port of %q must be from 1 to 65535", listen)
	}
	if members < 2 {
		return nil, fmt.Errorf("streams go to other members, got %d in all", members)
	}
	addr, err := netip.ParseAddr(host)
	if err != nil {
		addr = netip.Addr{} // a name
	}
	return &Trips{
		listen: netip.AddrPortFrom(addr.Unmap().WithZone(""), uint16(number)),
		least:  (float64(members/2) - .5) / float64(members-1),
	}, nil
}

// Count reads the connections, and returns the number of segments with data that were sent since
// the first call, with the sum over their round trips in seconds. Both never fall. If the
// connections cannot be read, it returns the last numbers too; segments sent since then count in
// the next call.
//
// Only connections count on which the other side sent no data since the last call. If it sends
// data, it may delay an acknowledgement for up to 40 ms, to send it with data.
//
// In each call one round trip counts, for all segments: a leader waits for as many members as are a
// majority with it, and sends about as much to each. So it is the round trip to the last among the
// nearest. Which member each connection leads to need not be known: on loopback, addresses do not
// show it.
func (t *Trips) Count() (n, seconds float64, err error) {
	now, err := connections(t.listen)
	if err != nil {
		return t.n, t.seconds, fmt.Errorf("read the connections to %v: %w", t.listen, err)
	}
	t.add(now)
	return t.n, t.seconds, nil
}

// Counted returns the results from the last call to Count.
func (t *Trips) Counted() (n, seconds float64) { return t.n, t.seconds }

// add adds the segments that were sent since the call before.
func (t *Trips) add(now []connection) {
	type stream struct {
		trip time.Duration
		sent float64
	}
	var sending []stream
	total := 0.0
	known := make(map[string]connection, len(now))
	for _, c := range now {
		known[c.id] = c
		before, is := t.known[c.id]
		if sent := c.sent - before.sent; is && sent > 0 && c.received == before.received {
			sending = append(sending, stream{c.trip, float64(sent)})
			total += float64(sent)
		}
	}
	t.known = known
	slices.SortFunc(sending, func(a, b stream) int { return cmp.Compare(a.trip, b.trip) })
	sum := 0.0
	for _, s := range sending {
		if sum += s.sent; sum >= t.least*total {
			t.n, t.seconds = t.n+total, t.seconds+total*s.trip.Seconds()
			return
		}
	}
}
