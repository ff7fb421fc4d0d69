package judge

import (
	"net"
	"slices"
	"strings"
	"time"

	"github.com/coreos/dbtester/pkg/mark"
	"github.com/coreos/dbtester/pkg/metric"
	"github.com/coreos/dbtester/pkg/results"
)

// clients marks clients that used up their processors or did not run for some time.
func (v *verdict) clients() {
	v.each(func(c *Client) {
		if c.Unsampled {
			v.mark(mark.Unsampled, false, nil, c.who(nil))
		}
		if v.usedUp(c) {
			busy, n := v.busySeconds(c)
			v.mark(mark.Saturated, !v.sharesHost(c), mark.Values{
				"used_percent": 100 * saturatedCPU, "processors": c.Host.AllowedCPUs(), "busy": float64(busy), "sampled": float64(n),
			}, c.who(nil))
		}
		v.stops(c)
	})
}

// lostClients marks clients that did not issue their part to the end, and clients whose clock is
// not known well enough.
func (v *verdict) lostClients() {
	v.each(func(c *Client) {
		if c.Lost != "" {
			values := mark.Values{}
			if c.Pending > 0 {
				values["pending"] = float64(c.Pending)
			}
			v.mark(mark.GeneratorLost, true, values, c.who(mark.Words{"why": inOneLine(c.Lost)}))
		}
		if v.e.Run.Totals != nil {
			v.clientClock(c)
		}
	})
}

// leastClockMove is the least clock move on a generator that is marked: as much as makes requests
// late.
const leastClockMove = time.Millisecond

// clientClock marks a client whose clock is not known well enough, or moved by more than its
// stated error after the comparison before a step.
func (v *verdict) clientClock(c *Client) {
	known, moved := time.Duration(0), StepClock{}
	if c.Clock != nil {
		known = c.Clock.Error
	}
	for _, at := range c.StepClocks {
		known = max(known, at.Error)
		if at.Moved > max(at.Error, leastClockMove) && at.Moved > moved.Moved {
			moved = at
		}
	}
	if known > maxClockError {
		v.mark(mark.Clock, false, mark.Values{"error_seconds": known.Seconds()}, c.who(nil))
	}
	if moved.Moved > 0 {
		v.mark(mark.Clock, false, mark.Values{"moved_seconds": moved.Moved.Seconds(), "step": float64(moved.Index + 1), "error_seconds": moved.Error.Seconds()}, c.who(nil))
	}
	if c.ClockSet.Abs() > max(known, leastClockMove) {
		v.mark(mark.Clock, false, mark.Values{"set_seconds": c.ClockSet.Seconds()}, c.who(nil))
	}
}

// A client is saturated when it uses more than this share of its processors in more than this share
// of its seconds.
const (
	saturatedCPU     = 0.85
	saturatedSeconds = 0.10
)

// busySeconds counts the seconds in which a client used up its processors, and the measured
// seconds. Both are 0 if its processors are not known.
func (v *verdict) busySeconds(c *Client) (busy, n int) {
	allowed := c.Host.AllowedCPUs()
	if allowed == 0 {
		return 0, 0
	}
	for _, s := range c.Samples {
		at := time.Unix(0, s.UnixNano)
		if s.PeriodNS == 0 || at.Before(v.e.Run.LoadStart) || at.After(v.e.Run.LoadEnd) {
			continue
		}
		n++
		if s.Get(metric.CPUPercent) > 100*saturatedCPU*allowed {
			busy++
		}
	}
	return busy, n
}

// usedUp reports whether a client used up its processors by itself.
func (v *verdict) usedUp(c *Client) bool {
	busy, n := v.busySeconds(c)
	return float64(busy) > saturatedSeconds*float64(n)
}

// sharesHost reports whether a member runs on the machine of c: the facts from its agent show it,
// or it has no agent and an address on this machine.
func (v *verdict) sharesHost(c *Client) bool {
	return slices.ContainsFunc(v.e.Run.Members, func(m results.Member) bool {
		if m.Host == nil {
			return m.Agent == "" && c.has(m.Addr)
		}
		return m.Host.BootID != "" && m.Host.BootID == c.Host.BootID
	})
}

// has reports whether addr belongs to the machine of c.
func (c *Client) has(addr string) bool {
	ip := net.ParseIP(addr)
	if ip == nil {
		return addr == "localhost"
	}
	return ip.IsLoopback() || slices.ContainsFunc(c.Addrs, ip.Equal)
}

// sharedHosts marks clients that share a machine with members or with each other.
func (v *verdict) sharedHosts() {
	for i := range v.e.Clients {
		c := &v.e.Clients[i]
		if v.sharesHost(c) {
			words := c.who(nil)
			if c.Name == "" {
				words = mark.Words{"who": "the client"}
			}
			v.mark(mark.SharedHost, false, nil, words)
		}
		same := func(o Client) bool { return c.Host.BootID != "" && o.Host.BootID == c.Host.BootID }
		var others []string
		for _, o := range v.e.Clients[i+1:] {
			if same(o) {
				others = append(others, o.Name)
			}
		}
		if len(others) > 0 && !slices.ContainsFunc(v.e.Clients[:i], same) {
			v.mark(mark.SharedHost, false, nil, c.who(mark.Words{"others": strings.Join(others, ", ")}))
		}
	}
}
