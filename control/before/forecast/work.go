package forecast

import (
	"math"
	"time"

	"github.com/coreos/dbtester/pkg/ability/upkeep"
	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/workload"
)

// work is the data written by a load and the time it takes.
type work struct {
	data    database.Data
	guessed bool // data depends on an assumed throughput
	// least is the data that is written at any throughput.
	least  database.Data
	length time.Duration
	exact  bool // length depends on no assumed throughput
}

// searchOf returns the work of a search for a rate: windows at rates near the database pace, or
// near twice the first rate if the pace is not known. lasts returns the length of the search, and
// of its longest window. The rate and the number of windows are guesses. Only the first rate is
// certain, because the file asks for it, which the search raises as long as windows pass, during
// all windows. If control compacts the store, it keeps only the history of the longest window.
func searchOf(lasts func(rate float64) (all, step time.Duration), db *config.Database, pace database.Pacer) work {
	l := db.Load
	rate := perSecond(l.Clients, sharesOf(&l), pace)
	if rate == 0 {
		rate = 2 * l.Rate
	}
	first := min(l.Rate, rate)
	at := func(rate float64) work {
		all, step := lasts(rate)
		l.Rate, l.Duration = rate, all
		w := workOf(&l, pace)
		_, compacts := db.Options.(database.Compacter)
		if compacts && len(db.Endpoints) == 0 && upkeep.Keys().Of(db.Abilities).Compact == 0 {
			history := float64(w.data.Writes-w.data.Keys) * float64(step) / float64(l.Duration)
			w.data.Writes = w.data.Keys + whole(max(history, 0))
		}
		return w
	}
	w, least := at(rate), at(first)
	w.least = least.data
	w.length = max(w.length, least.length) // at a lower rate windows may be longer
	w.guessed, w.exact = w.least != w.data, false
	return w
}

// shares are fractions of all requests: those that write a key, and those that write a new key.
type shares struct{ writes, creates float64 }

func sharesOf(l *workload.Load) (s shares) {
	var sum float64
	for _, one := range l.Shares() {
		sum += one.Weight
		if one.Operation.SendsValue() {
			s.writes += one.Weight
		}
		if one.Operation.Creates() {
			s.creates += one.Weight
		}
	}
	return shares{s.writes / sum, s.creates / sum}
}

// workOf adds up the keys before a load and its stretches. pace may be nil.
func workOf(l *workload.Load, pace database.Pacer) work {
	w := work{exact: true}
	keys := float64(l.Existing())
	writes, s := keys, sharesOf(l)
	known := w.take(keys, 0, l.Stretches()[0].Clients, shares{1, 1}, pace)
	for _, step := range l.Stretches() {
		n, ok := w.stretch(step, s, pace)
		known = known && ok
		writes += n * s.writes
		keys += n * s.creates
	}
	if !known {
		w.length, w.exact = 0, false
	}
	if l.SameKey {
		keys = min(keys, 1)
	}
	value := int(l.MeanValueSize())
	before := min(float64(l.Existing()), keys)
	w.data = database.Data{Keys: whole(keys), Writes: whole(writes), Before: whole(before), KeySize: int64(l.KeySize), ValueSize: int64(value)}
	if w.least = w.data; w.guessed {
		w.least.Keys, w.least.Writes = w.data.Before, w.data.Before
	}
	return w
}

// stretch adds a step. It returns the requests in the step and whether its length is known.
func (w *work) stretch(s workload.Step, of shares, pace database.Pacer) (requests float64, known bool) {
	rate := s.Rate
	if s.RateEnd > 0 {
		rate = (s.Rate + s.RateEnd) / 2 // it changes evenly
	}
	requests = float64(s.Requests)
	switch {
	case rate > 0 && s.Duration > 0 && (s.Requests == 0 || rate*s.Duration.Seconds() < requests):
		w.length += s.Duration
		return rate * s.Duration.Seconds(), true
	case rate > 0:
		w.length += seconds(requests / rate)
		return requests, true
	case s.Requests > 0:
		return requests, w.take(requests, s.Duration, s.Clients, of, pace)
	}
	w.length += s.Duration
	w.guessed = w.guessed || of.writes > 0
	return perSecond(s.Clients, of, pace) * s.Duration.Seconds(), true
}

// take adds the time for requests in a closed loop, at most bound unless that is 0. It returns
// false if the pace is not known.
func (w *work) take(requests float64, bound time.Duration, clients int, of shares, pace database.Pacer) bool {
	if requests == 0 {
		return true
	}
	w.exact = false
	rate := perSecond(clients, of, pace)
	if rate == 0 {
		w.length += bound
		return bound > 0
	}
	length := seconds(requests / rate)
	if bound > 0 {
		length = min(length, bound)
	}
	w.length += length
	return true
}

// perSecond returns the throughput of a mix in a closed loop; 0 if it is not known.
func perSecond(clients int, of shares, pace database.Pacer) float64 {
	if pace == nil {
		return 0
	}
	p := pace.Pace(clients)
	return 1 / (of.writes/p.Writes + (1-of.writes)/p.Reads)
}

// seconds returns s as Duration, at most the longest possible.
func seconds(s float64) time.Duration {
	return time.Duration(min(s*float64(time.Second), math.MaxInt64/4))
}

// whole returns n as key count, bounded by the largest in a load.
func whole(n float64) int64 { return int64(min(n, 1<<60)) }
