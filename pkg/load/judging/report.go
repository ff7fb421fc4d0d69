package judging

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/coreos/dbtester/pkg/consistency"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/files/plaintext"
	"github.com/coreos/dbtester/pkg/results/histogram"
)

// Second counts the requests judged in one second, up to a moment.
type Second struct {
	Until  int64              `json:"until_unix_ns"`
	Counts consistency.Counts `json:"counts"`
}

// Report is the judgement on a load, or on one part.
type Report struct {
	Counts    consistency.Counts    `json:"counts"`
	Seconds   []Second              `json:"-"`
	Witnesses []consistency.Witness `json:"witnesses,omitempty"`
	// Stale holds the staleness, in nanoseconds, of stale reads in a weaker mode; nil without any.
	Stale *hdrhistogram.Histogram `json:"-"`
	// Sampled are the recorded requests in a load issued by one process.
	Sampled []consistency.History `json:"-"`
	// Held counts the written keys by their values after the load; nil if no key was read back.
	// BackNS is the time that this took, NotRead why some keys were not read.
	Held    *consistency.HeldKeys `json:"held,omitempty"`
	NotRead string                `json:"not_read,omitempty"`
	BackNS  int64                 `json:"back_ns,omitempty"`
	// TookNS is the time that the judge worked.
	TookNS int64 `json:"took_ns"`
}

// MostWitnesses is the number of witnesses kept for a load.
const MostWitnesses = 100

// End judges the open rest after the load, and reads the written keys back over connections
// opened by dial. The load was interrupted if ctx is done.
func (l *Load) End(ctx context.Context, b Back, dial func(ctx context.Context, n int) ([]database.Client, error)) Report {
	from := time.Now()
	j := l.Finish()
	l.took += time.Since(from)
	r := Report{Counts: j.Totals(), Seconds: l.seconds, Witnesses: j.Witnesses(), Stale: j.Stale(), Sampled: j.Sampled(), TookNS: int64(l.took)}
	if ctx.Err() != nil {
		r.NotRead = "the load was interrupted"
		return r
	}
	from = time.Now()
	over := fmt.Errorf("not all were read within %v", b.Within)
	if b.Rate > 0 {
		over = fmt.Errorf("not all were read within %v, at most %.6g in a second as in the load", b.Within, b.Rate)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, b.Within, over)
	defer cancel()
	conns, err := dial(ctx, b.Connections)
	if err != nil {
		r.NotRead = plaintext.Joined(err.Error())
		return r
	}
	held, err := l.ReadBack(ctx, conns, b)
	_ = database.CloseAll(conns) // nothing was written over them
	r.Held, r.BackNS = &held, int64(time.Since(from))
	if held.Read < held.Keys {
		r.NotRead = plaintext.Joined(cmp.Or(err, context.Cause(ctx), errors.New("a read did not succeed")).Error())
	}
	return r
}

// Merge makes one report from all part reports, each about its own keys.
func Merge(parts []Report) Report {
	if len(parts) == 1 {
		return parts[0]
	}
	all := Report{}
	for n := range parts {
		p := &parts[n]
		addPart(&all.Counts, &p.Counts)
		all.Witnesses = append(all.Witnesses, p.Witnesses...)
		if p.Stale != nil {
			if all.Stale == nil {
				all.Stale = histogram.New()
			}
			all.Stale.Merge(p.Stale) // the same shape, so nothing is dropped
		}
		if p.Held != nil {
			if all.Held == nil {
				all.Held = &consistency.HeldKeys{}
			}
			all.Held.Add(p.Held)
		}
		all.NotRead = cmp.Or(all.NotRead, p.NotRead)
		all.BackNS = max(all.BackNS, p.BackNS)
		all.TookNS += p.TookNS
	}
	all.Witnesses = all.Witnesses[:min(len(all.Witnesses), MostWitnesses)]
	all.Seconds = mergeSeconds(parts)
	return all
}

// addPart adds counts from another part, for other keys.
func addPart(to, c *consistency.Counts) {
	keys, open, unknown := to.Keys, to.OpenZones, to.UnknownWrites
	to.Add(c)
	to.Keys, to.OpenZones, to.UnknownWrites = keys+c.Keys, open+c.OpenZones, unknown+c.UnknownWrites
}

// mergeSeconds adds up seconds from all parts. A part without a second has the same keys as before.
func mergeSeconds(parts []Report) (all []Second) {
	var seconds []int64
	for n := range parts {
		for i := range parts[n].Seconds {
			seconds = append(seconds, unixSecond(parts[n].Seconds[i].Until))
		}
	}
	slices.Sort(seconds)
	next, keys := make([]int, len(parts)), make([]int64, len(parts))
	for _, at := range slices.Compact(seconds) {
		sum := Second{}
		for n := range parts {
			for list := parts[n].Seconds; next[n] < len(list) && unixSecond(list[next[n]].Until) <= at; next[n]++ {
				s := &list[next[n]]
				sum.Until, keys[n] = max(sum.Until, s.Until), s.Counts.Keys
				addPart(&sum.Counts, &s.Counts)
			}
		}
		sum.Counts.Keys = 0
		for _, n := range keys {
			sum.Counts.Keys += n
		}
		all = append(all, sum)
	}
	return all
}
