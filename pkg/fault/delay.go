package fault

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/coreos/dbtester/pkg/fault/nft"
	"github.com/coreos/dbtester/pkg/fault/queue"
)

// delay delays packets between a member and others. The kernel's qdiscs are no alternative: one
// that delays replaces the interface's own, and outlives a killed agent.
func delay() Kind {
	return Kind{
		Name:     "delay",
		Meaning:  "these packets arrive later (`by`) or share a bandwidth (`rate`), some are dropped (`loss`), or several of these",
		groups:   true,
		keys:     []string{"from", "direction", "beside", "loss", "by", "rate"},
		possible: delayPossible,
		check: func(p Parameters) error {
			if _, _, err := p.line(); err != nil {
				return err
			}
			return checkCut(p)
		},
		apply: hold,
		undo:  func(_ context.Context, v Victim, r Record) (string, error) { return goOn(v, r) },
	}
}

// delayPossible makes a queue and a table that sends packets to it, and removes both.
func delayPossible() error {
	q, err := queue.Open(queue.Line{Delay: time.Nanosecond})
	if err != nil {
		return err
	}
	t, err := nft.Queue(fmt.Sprintf("dbtester-check-%d-%d", os.Getpid(), q.Number()), []nft.Rule{{To: nft.End{Addr: netip.MustParseAddr("192.0.2.1"), Port: 9}}}, 0, q.Number())
	if err == nil {
		err = t.Close()
	}
	return errors.Join(err, q.Close())
}

// longestBy bounds the delay of a packet.
const longestBy = 10 * time.Second

// line returns the line the packets pass, and the share of them that is dropped.
func (p Parameters) line() (l queue.Line, share int, err error) {
	if p.By == "" && p.Rate == "" && p.Loss == "" {
		return l, 0, wrong("by", "delay needs by, rate or loss: what becomes of the packets")
	}
	if p.By != "" {
		if l.Delay, err = time.ParseDuration(p.By); err != nil || l.Delay <= 0 || l.Delay > longestBy {
			return l, 0, wrong("by", "by must be a time up to %v, got %q", longestBy, p.By)
		}
	}
	if p.Rate != "" {
		if l.Rate, err = bandwidth(p.Rate); err != nil {
			return l, 0, err
		}
	}
	if p.Loss != "" {
		share, err = shareOf(p.Loss)
	}
	return l, share, err
}

// bandwidth parses bits per second, such as 10Mbit.
func bandwidth(text string) (int64, error) {
	number := strings.TrimRight(text, "kMGbit")
	n, err := strconv.ParseInt(number, 10, 32)
	unit, known := map[string]int64{"kbit": 1e3, "Mbit": 1e6, "Gbit": 1e9}[strings.TrimPrefix(text, number)]
	if rate := n * unit; err == nil && known && rate >= leastRate && rate <= mostRate {
		return rate, nil
	}
	return 0, wrong("rate", "rate must be from 8kbit to 100Gbit, such as 10Mbit, got %q", text)
}

const (
	leastRate = 8_000
	mostRate  = 100_000_000_000
)

// slowed owns the resources of a delay until it is over. The queue is nil if packets are only
// dropped.
type slowed struct {
	table *nft.Table
	queue *queue.Queue
}

// Close sends nothing more to the queue, and releases the packets it holds.
func (s slowed) Close() error {
	err := s.table.Close()
	if s.queue != nil {
		err = errors.Join(err, s.queue.Close())
	}
	return err
}

// hold delays packets of the victim until the fault is over.
func hold(_ context.Context, v Victim, r Record) (string, error) {
	p, err := r.decoded()
	if err != nil {
		return "", err
	}
	l, share, err := p.line()
	if err != nil {
		return "", err
	}
	name, rules, err := tableOf(v, r)
	if err != nil {
		return "", err
	}
	s, err := slow(name, rules, l, share)
	if err != nil {
		return "", err
	}
	v.Hold(r.ID, s)
	return fmt.Sprintf("%d rules hold packets", len(rules)), nil
}

// slow makes the table and the queue for a delay.
func slow(name string, rules []nft.Rule, l queue.Line, share int) (s slowed, err error) {
	if l == (queue.Line{}) {
		s.table, err = nft.Drop(name, rules, share)
		return s, err
	}
	if s.queue, err = queue.Open(l); err != nil {
		return s, err
	}
	if s.table, err = nft.Queue(name, rules, share, s.queue.Number()); err != nil {
		return s, errors.Join(err, s.queue.Close())
	}
	return s, nil
}

// goOn lets packets pass without delay again, and reports the measured effect on packets, which
// may differ from the request.
func goOn(v Victim, r Record) (string, error) {
	s, ok := v.Held(r.ID).(slowed)
	if !ok {
		return "", nil // it was never applied
	}
	p, err := r.decoded()
	if err != nil {
		return "", err
	}
	l, share, err := p.line()
	n, unread := s.table.Counted()
	var c queue.Counted
	if s.queue != nil {
		var failed error
		c, failed = s.queue.Counted()
		unread = errors.Join(unread, failed)
	}
	if err := errors.Join(err, unread, v.LetGo(r.ID)); err != nil {
		return "", err
	}
	switch {
	case l != queue.Line{} && c.Packets == 0:
		return "", fmt.Errorf("none of %d packets was held", n.Matched)
	case share > 0 && n.Dropped == 0:
		return "", fmt.Errorf("none of %d packets was dropped", n.Matched)
	}
	return passed(p, n, c), nil
}

// passed describes the measured effect on packets.
func passed(p Parameters, n nft.Counted, c queue.Counted) string {
	var list []string
	if p.By != "" || p.Rate != "" {
		text := fmt.Sprintf("%d packets were held for %v on average, at most %v", c.Packets, c.Mean.Round(10*time.Microsecond), c.Longest.Round(10*time.Microsecond))
		if p.By != "" {
			text += fmt.Sprintf(" (asked: by %s)", p.By)
		}
		list = append(list, text)
	}
	if p.Rate != "" {
		list = append(list, fmt.Sprintf("their busiest second had %.3g Mbit (asked: rate %s)", float64(c.Busiest)/1e6, p.Rate))
		if c.Dropped > 0 {
			list = append(list, fmt.Sprintf("%d were dropped because others of over %v waited", c.Dropped, queue.LongestWait))
		}
	}
	if p.Loss != "" {
		list = append(list, fmt.Sprintf("%d of %d were dropped (asked: loss %s)", n.Dropped, n.Matched, p.Loss))
	}
	if c.Lost > 0 {
		list = append(list, fmt.Sprintf("%d were lost because the kernel could hold no more", c.Lost))
	}
	return strings.Join(list, "; ")
}
