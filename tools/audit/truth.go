package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/coreos/dbtester/tools/audit/standin"
)

// Count counts the requests that ended in one way.
func (l Log) Count(end standin.End) float64 {
	n := 0
	for _, e := range l {
		if e.End == end {
			n++
		}
	}
	return float64(n)
}

// AnsweredIn counts the answers sent from one time to another, both since the first
// arrival.
func (l Log) AnsweredIn(from, to time.Duration) float64 {
	n := 0
	for _, e := range l {
		if since := e.Ended.Sub(l[0].Arrived); e.End == standin.Answered && since >= from && since < to {
			n++
		}
	}
	return float64(n)
}

// Rate returns the answers per second in a stretch.
func (l Log) Rate(from, to time.Duration) float64 {
	return l.AnsweredIn(from, to) / (to - from).Seconds()
}

// Origin returns when the first request was due, if requests are due evenly: the earliest start no
// arrival contradicts.
func (l Log) Origin(rate float64) time.Time {
	origin := l[0].Arrived
	for i, e := range l {
		if start := e.Arrived.Add(-dueAt(i, rate)); start.Before(origin) {
			origin = start
		}
	}
	return origin
}

// Responses returns the times in milliseconds from when requests were due until they
// were answered, if they are due evenly and sent in that order.
func (l Log) Responses(rate float64) (times []float64) {
	origin := l.Origin(rate)
	for i, e := range l {
		times = append(times, 1000*e.Ended.Sub(origin.Add(dueAt(i, rate))).Seconds())
	}
	return times
}

// dueAt is when request i is due, from 0.
func dueAt(i int, rate float64) time.Duration {
	return time.Duration(float64(i) / rate * float64(time.Second))
}

// LargestGap returns the longest time between two answers.
func (l Log) LargestGap() time.Duration { return slices.Max(append(l.gaps(), 0)) }

// gaps are the times between one answer and the next.
func (l Log) gaps() (gaps []time.Duration) {
	var ended []time.Time
	for _, e := range l {
		if e.End == standin.Answered {
			ended = append(ended, e.Ended)
		}
	}
	slices.SortFunc(ended, time.Time.Compare)
	for i := 1; i < len(ended); i++ {
		gaps = append(gaps, ended[i].Sub(ended[i-1]))
	}
	return gaps
}

// silentTenths returns the fewest and the most 100 ms rows that can lie wholly in gaps between
// answers, wherever rows begin. Answers reach the client a little after they are logged, hence the
// 10 ms.
func (l Log) silentTenths() (least, most float64) {
	const row, way = 100 * time.Millisecond, 10 * time.Millisecond
	for _, gap := range l.gaps() {
		least += max(float64((gap-way)/row)-1, 0)
		most += float64((gap + way) / row)
	}
	return least, most
}

// rank returns the index of quantile q in n sorted values: ceil(q*n), from 1.
func rank(q float64, n int) int {
	return min(max(int(math.Ceil(q*float64(n)-1e-9)), 1), n)
}

// quantile returns the value at that rank.
func quantile(q float64, values []float64) float64 {
	slices.Sort(values)
	return values[rank(q, len(values))-1]
}

// stalled are the response times in milliseconds that a server has which is frozen
// once: requests are due evenly, and those in the freeze are answered at its end.
func stalled(rate float64, length, delay time.Duration, freeze standin.Stretch) []float64 {
	var times []float64
	for i := range int(rate * length.Seconds()) {
		due := dueAt(i, rate)
		end := due + delay
		if end >= freeze.From && end < freeze.To {
			end = freeze.To
		}
		times = append(times, (end-due).Seconds()*1000)
	}
	return times
}

// accounts makes the checks that every run must pass: each due request has exactly one outcome, and
// the server log agrees.
func accounts(f *Findings, name string, r *Run) {
	t := r.Record.Totals
	records(f, name, r)
	answered, most := r.Log.Count(standin.Answered), t["ok"]+t["unknown"]
	if r.Plan.Altered {
		most += t["failed"]
	}
	f.Within(name+"ok <= answers logged <= ok + unknown", t["ok"], answered, most)
	f.Within(name+"requests logged <= ok + failed + unknown", answered, float64(len(r.Log)), t["ok"]+t["failed"]+t["unknown"])
}

// records checks that run records do not contradict one another.
func records(f *Findings, name string, r *Run) {
	t := r.Record.Totals
	f.Equal(name+"due = ok + failed + unknown + shed + unsent", t["offered"], t["ok"]+t["failed"]+t["unknown"]+t["shed"]+t["unsent"])
	var wrong []string
	for _, c := range []string{"ok", "failed", "unknown", "shed", "unsent"} {
		if got := r.Record.Sum(c); got != t[c] {
			wrong = append(wrong, fmt.Sprintf("%s %s, not %s", c, number(got), number(t[c])))
		}
	}
	f.Holds(name+"rows of intervals.csv add up to the totals", len(wrong) == 0, "equal", orNone(wrong))
}

func orNone(lines []string) string {
	if len(lines) == 0 {
		return "equal"
	}
	return strings.Join(lines, "; ")
}

func orMissing(names []string) string {
	if len(names) == 0 {
		return "no such row"
	}
	return strings.Join(names, ", ")
}
