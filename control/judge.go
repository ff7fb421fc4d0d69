package control

import (
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/coreos/dbtester/pkg/results"
)

// The codes of marks. Invalid marks end a run with exit code 3.
const (
	markCounts      = "counts"
	markUnsent      = "unsent"
	markLost        = "server lost"
	markKeys        = "keys found"
	markKeysUnknown = "keys not counted"
	markSharedHost  = "shared host"
	markNotDurable  = "not durable"
	markSaturated   = "client saturated"
	markLag         = "scheduling lag"
	markRate        = "rate not sustained"
	markClock       = "clock"
	markSecured     = "secured"
	markUnmeasured  = "servers not measured"
	markSelfCheck   = "self-check"
	markNotUploaded = "not uploaded"
)

// judge says what must be said beside the numbers.
func (c *conductor) judge() {
	for i, why := range c.beats.lost {
		if why != "" {
			c.mark(markLost, true, "member %d: %s", i+1, inOneLine(why))
		}
	}
	if c.run.Totals != nil {
		c.judgeCounts()
		c.judgeKeys()
		c.judgeRate()
		c.judgeClient()
		c.judgeLag()
	}
	c.judgeHosts()
	c.judgeAccess()
	slices.SortStableFunc(c.run.Validity, func(a, b results.Mark) int {
		switch {
		case a.Invalid == b.Invalid:
			return 0
		case a.Invalid:
			return -1
		default:
			return 1
		}
	})
}

// judgeSelfCheck marks a whole run whose self-check tells nothing of its client.
func judgeSelfCheck(s *results.SelfCheck, client results.Host) []results.Mark {
	if s == nil {
		return nil
	}
	if elsewhere := s.Elsewhere(client); elsewhere != "" {
		return []results.Mark{{Code: markSelfCheck, Text: "the self-check is " + elsewhere + ": it tells nothing of this client"}}
	}
	return nil
}

// inOneLine is how a member ended without its last words, which the events and
// the logs hold: a mark stands beside numbers.
func inOneLine(why string) string {
	lines := strings.Split(why, "\n")
	return strings.TrimSuffix(strings.Join(lines[:min(len(lines), 2)], ", "), "; its last lines:")
}

func (c *conductor) mark(code string, invalid bool, format string, args ...any) {
	c.run.Validity = append(c.run.Validity, results.Mark{Code: code, Invalid: invalid, Text: fmt.Sprintf(format, args...)})
}

func (c *conductor) judgeCounts() {
	t := c.run.Totals
	if !t.Reconcile() {
		c.mark(markCounts, true, "offered %d is not ok %d + failed %d + unknown %d + shed %d + unsent %d",
			t.Offered, t.OK, t.Failed, t.Unknown, t.Shed, t.Unsent)
	}
	if t.Unsent > 0 {
		c.mark(markUnsent, true, "%d of %d requests were due and not sent within %v after the end", t.Unsent, t.Offered, c.db.Load.Drain)
	}
}

func (c *conductor) judgeKeys() {
	k := c.run.Keys
	switch {
	case k == nil:
	case k.Error != "":
		c.mark(markKeysUnknown, false, "the keys could not be counted after the load: %s", k.Error)
	case k.Found() < k.MinAdded || k.Found() > k.MaxAdded:
		c.mark(markKeys, true, "%d keys were added by the database's own count, but ok %d <= added <= ok + unknown %d does not hold",
			k.Found(), k.MinAdded, k.MaxAdded)
	}
}

// judgeAccess says how the clients were let in, which costs both sides, and that
// nobody measured the members of a cluster that runs without agents.
func (c *conductor) judgeAccess() {
	var how []string
	if c.db.TLS != nil {
		how = append(how, "connections are encrypted (TLS)")
	}
	if a := c.db.Auth; a != nil {
		how = append(how, "clients show credentials")
	}
	if len(how) > 0 {
		c.mark(markSecured, false, "%s", strings.Join(how, ", "))
	}
	if len(c.db.Endpoints) > 0 {
		c.mark(markUnmeasured, false, "the cluster ran already, without agents: processors, memory, disk and network of its members were not measured")
	}
}

// behindShare is the share of requests of a rate that may be behind without being
// worth a mark.
const behindShare = 0.01

// judgeRate tells a rate that the database did not keep up with from one that the
// client did not offer in time. In a closed loop nothing is due, so nothing late.
func (c *conductor) judgeRate() {
	t := c.run.Totals
	some := behindShare * float64(t.Offered)
	busy := t.Queued + t.Shed + t.Unsent
	switch {
	case !slices.ContainsFunc(c.run.Steps, func(s results.Step) bool { return s.Rate > 0 }):
	case float64(t.Late) > some:
		c.mark(markSaturated, !c.sharedHost(), "%d of %d requests were sent late though a client was free", t.Late, t.Offered)
	case float64(busy) > some:
		c.mark(markRate, false, "%d of %d requests found every client busy when they were due", busy, t.Offered)
	}
}

// A client is saturated when it uses more than this share of its processors in
// more than this share of its seconds.
const (
	saturatedCPU     = 0.85
	saturatedSeconds = 0.10
)

func (c *conductor) judgeClient() {
	samples, err := results.ReadSamples(filepath.Join(c.dir, results.FileClient))
	if (err != nil && len(samples) == 0) || c.client.AllowedCPUs() == 0 {
		return // nothing is known
	}
	allowed := c.client.AllowedCPUs()
	var n, busy int
	for _, s := range samples {
		at := time.Unix(0, s.UnixNano)
		if s.PeriodNS == 0 || at.Before(c.run.LoadStart) || at.After(c.run.LoadEnd) {
			continue
		}
		n++
		if s.CPUPercent > 100*saturatedCPU*allowed {
			busy++
		}
	}
	if n == 0 || float64(busy) <= saturatedSeconds*float64(n) {
		return
	}
	c.mark(markSaturated, !c.sharedHost(), "this client used over %.0f %% of its %g processors in %d of %d seconds",
		100*saturatedCPU, allowed, busy, n)
}

// maxLag is how late a timer of the client may fire, one in a hundred excepted,
// before its latencies hold waiting for its own processors.
const maxLag = time.Millisecond

// judgeLag judges by the highest percentile that the samples support: where the
// median is over the bound, p99 is too. Too few samples are no ground for a
// verdict, only for a note.
func (c *conductor) judgeLag() {
	const holds = "its latencies hold waiting for its own processors"
	lag := c.run.SchedulingLag
	if lag == nil {
		return
	}
	p50, p99 := time.Duration(lag.P50), time.Duration(lag.P99)
	late := func(d time.Duration) time.Duration { return d.Round(10 * time.Microsecond) }
	switch {
	case p99 <= maxLag:
	case lag.Enough(0.99):
		c.mark(markSaturated, !c.sharedHost(), "timers of this client fired %v late at p99 (n %d): %s", late(p99), lag.N, holds)
	case p50 > maxLag && lag.Enough(0.50):
		c.mark(markSaturated, !c.sharedHost(), "half of the timers of this client fired at least %v late (n %d): %s", late(p50), lag.N, holds)
	default:
		c.mark(markLag, false, "timers of this client fired %v late at p99, but n %d are too few to judge by: fewer than ten lie above it", late(p99), lag.N)
	}
}

// sharedHost tells whether a member runs on the client's machine: its agent said
// so, or it has no agent and an address of this machine.
func (c *conductor) sharedHost() bool {
	return slices.ContainsFunc(c.run.Members, func(m results.Member) bool {
		if m.Host == nil {
			return m.Agent == "" && isOwn(m.Addr)
		}
		return m.Host.BootID != "" && m.Host.BootID == c.client.BootID
	})
}

// isOwn tells whether an address is of this machine.
func isOwn(addr string) bool {
	ip := net.ParseIP(addr)
	if ip == nil {
		return addr == "localhost"
	}
	own, err := net.InterfaceAddrs()
	return ip.IsLoopback() || err == nil && slices.ContainsFunc(own, func(a net.Addr) bool {
		n, ok := a.(*net.IPNet)
		return ok && n.IP.Equal(ip)
	})
}

// fastestFsync is what no disk that keeps its promise is faster than.
const fastestFsync = 20 * time.Microsecond

// maxClockError is how badly a clock may be known before series by second are
// off by a tenth of one.
const maxClockError = 100 * time.Millisecond

func (c *conductor) judgeHosts() {
	if c.sharedHost() {
		c.mark(markSharedHost, false, "the client and at least one member share a machine: they compete for its processors, disk and network")
	}
	for _, m := range c.run.Members {
		switch d := c.disks[m.Index]; {
		case d.Filesystem == "tmpfs" || d.Filesystem == "overlay":
			c.mark(markNotDurable, false, "member %d keeps its data on %s", m.Index+1, d.Filesystem)
		case d.FsyncP50 > 0 && d.FsyncP50 < fastestFsync:
			c.mark(markNotDurable, false, "member %d: an fdatasync takes %v, less than any disk needs", m.Index+1, d.FsyncP50)
		}
		if m.Clock != nil && m.Clock.Error > maxClockError {
			c.mark(markClock, false, "member %d: its clock is known to %v only", m.Index+1, m.Clock.Error)
		}
	}
}
