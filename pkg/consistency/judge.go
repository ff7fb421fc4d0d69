package consistency

import (
	"cmp"
	"iter"
	"math"
	"slices"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Options describe a load to a judge.
type Options struct {
	// Initial returns the number of the value that a key has before the first request, Absent
	// or Unstated. Nil means Absent.
	Initial func(key int64) int64
	// Wrote reports whether the request of a number wrote its value to a key, if the load knows.
	// It only distinguishes values that were replaced long ago from values that no request wrote.
	Wrote func(key, number int64) bool
	// Deletes is set if requests may delete keys.
	Deletes bool
	// Weaker is set if reads promise less than linearizability. Such reads get a staleness: how
	// long the value had surely been replaced when the read was sent.
	Weaker bool
	// Keys is how many keys, from 0 on, the load surely takes; memory for them, up to MostKeys,
	// is allocated at once.
	Keys int64
	// MostKeys bounds the judged keys; requests of later keys are only counted. 0 means 1<<20.
	MostKeys int
	// Remembered is how many replaced values are remembered, to explain reads of them. 0 means
	// 1<<15.
	Remembered int
	// MostUnknown bounds the writes of unknown outcome that are kept until they are read. 0
	// means 1<<20. Reads of further ones are not judged.
	MostUnknown int
	// MostWitnesses bounds the kept witnesses. 0 means 100.
	MostWitnesses int
	// Sampled is how many keys, the first that requests take, have their requests recorded; see
	// [Judge.Sampled].
	Sampled int
}

// Judge judges the requests of a load. One goroutine at a time calls its methods.
type Judge struct {
	opts   Options
	before int64
	latest int64 // the last end of a request
	keys   table
	// touched are the keys of a batch. unfinished is set while a key is judged that may change
	// without another request.
	touched        []int32
	unfinished     bool
	revisits       revisits
	next           []int32 // by request of the batch: the next one of its key
	tainted        bool    // some key is
	touches        []touch
	merged         []zone
	replaced       []replacement // versions, by the requests of the current key
	greatest       []int         // see judgeVersions
	sorter         sorter
	sweep          sweeper
	memory         memory
	unknown        map[valueOf]Op
	failed         failures
	waiting        []Op // reads of a weaker mode that cannot be judged yet
	joined, batch  []Op
	expired        []zone
	stale          staleness
	steps          stepTable
	replacer       replacer
	totals, second Counts
	witnesses      []Witness
	sample         *sample // nil if no requests are recorded
}

// valueOf identifies a value by its key and the number of the request that wrote it.
type valueOf struct{ key, number int64 }

// New returns a judge that has seen no requests.
func New(o Options) *Judge {
	def := func(n *int, preset int) {
		if *n <= 0 {
			*n = preset
		}
	}
	def(&o.MostKeys, 1<<20)
	def(&o.Remembered, 1<<15)
	def(&o.MostUnknown, 1<<20)
	def(&o.MostWitnesses, 100)
	if o.Initial == nil {
		o.Initial = func(int64) int64 { return Absent }
	}
	j := &Judge{opts: o, before: math.MinInt64, latest: math.MinInt64, revisits: revisits{always: o.Weaker || o.Deletes}, memory: memory{most: o.Remembered}, unknown: map[valueOf]Op{}}
	j.keys = newTable(o)
	j.sample = newSample(o.Sampled, o.Initial)
	return j
}

// Second judges requests that ended. This call or an earlier one passed every request that was
// sent before a moment. It returns the counts of this call; the batch may be reused.
func (j *Judge) Second(batch []Op, before int64) Counts {
	j.second = Counts{}
	late := j.before
	j.before = max(j.before, before)
	j.sample.add(batch)
	j.begin(batch, late)
	waited := len(j.batch) - len(batch)
	for n := range j.batch {
		if o := &j.batch[n]; n >= waited && !j.tainted && o.usual(late) && uint64(o.Key) < uint64(j.keys.dense) {
			j.second.Judged++
			j.latest = max(j.latest, o.End)
			j.list(int32(n), int32(o.Key))
			continue
		}
		j.take(int32(n), late, n < waited)
	}
	j.second.Operations = int64(len(batch))
	for places := j.touched; len(places) > 0; {
		some := places[:min(together, len(places))]
		places = places[len(some):]
		j.keys.load(some)
		for _, at := range some {
			j.look(at)
		}
	}
	j.revisits.close(j.latest)
	j.second.Keys = int64(j.keys.count)
	j.second.UnknownWrites = int64(len(j.unknown))
	j.totals.Add(&j.second)
	j.sample.close(j.before)
	return j.second
}

// look judges the requests of a batch on the key in a place, if any, and its open values.
func (j *Judge) look(at int32) {
	k, head := j.keys.at(at), j.keys.heads[at]
	j.keys.heads[at] = unlisted
	if !j.plain(k, head) {
		if j.opts.Weaker {
			j.weaker(k, head)
		} else {
			j.register(k, head)
		}
		j.keys.settle(k)
	}
	if j.unfinished && !k.queued {
		k.queued = true
		j.revisits.add(at)
	}
	j.second.OpenZones += int64(len(k.zones))
}

// begin prepares the lists for a batch, and puts the waiting reads in front of it. Open values do
// not change before the moment does.
func (j *Judge) begin(batch []Op, late int64) {
	j.batch, j.touched = batch, j.touched[:0]
	if j.before > late {
		if len(j.waiting) > 0 {
			j.joined = append(append(j.joined[:0], j.waiting...), batch...)
			j.batch, j.waiting = j.joined, j.waiting[:0]
		}
		j.touched = j.revisits.take(j.touched, j.before)
		for _, n := range j.touched {
			j.keys.at(n).queued = false
			j.keys.heads[n] = none
		}
	}
	j.next = growTo(j.next, len(j.batch))
}

func growTo(list []int32, n int) []int32 {
	if cap(list) < n {
		return make([]int32, n, n+n/4)
	}
	return list[:n]
}

// take counts request n of the batch and adds it to its key's list, if it can be judged. A
// request that waited was counted before.
func (j *Judge) take(n int32, late int64, waited bool) {
	o := &j.batch[n]
	if !waited && !j.admit(o, late) {
		return
	}
	at := j.keys.find(o.Key)
	j.latest = max(j.latest, o.End)
	if at == none {
		j.second.Unjudged++
		return
	}
	k := j.keys.at(at)
	if !waited && o.Sent < late {
		// Its effect on already judged requests is not known any more.
		k.tainted, j.tainted = true, true
	}
	if k.tainted {
		j.second.Unjudged++
		return
	}
	if !waited {
		j.second.Judged++
	}
	j.list(n, at)
}

// list adds request n of the batch to those of the key in a place.
func (j *Judge) list(n, at int32) {
	head := &j.keys.heads[at]
	if j.next[n] = *head; *head == unlisted {
		j.next[n] = none
		j.touched = append(j.touched, at)
	}
	*head = n
}

// usual reports whether a request is evidence about its key that arrived in time, as most are.
func (o *Op) usual(late int64) bool {
	return o.Outcome == OK && (o.Kind == Write || o.Kind == Read && o.Known) && o.Sent >= late && o.End >= o.Sent && o.Request > NoRequest
}

// admit counts a request and reports whether it is evidence about its key.
func (j *Judge) admit(o *Op, late int64) bool {
	if o.Sent < late {
		j.second.Late++
	}
	switch {
	case o.Kind == Other || o.Kind > Delete || o.Outcome > NotFound || o.End < o.Sent || o.Request <= NoRequest:
		j.second.Unjudged++
		return false
	case o.Kind == Read && o.Outcome == OK && !o.Known:
		j.second.Unnumbered++
		return false
	case o.Kind == Read && o.Outcome != NotFound && !o.Known, o.Kind == Delete && o.Outcome == Failed:
		j.second.Judged++ // it neither read nor changed anything
		return false
	}
	return true
}

// Finish judges the open rest: every request has ended. It returns the counts of this call.
func (j *Judge) Finish() Counts { return j.Second(nil, never) }

// Totals returns the counts of all calls.
func (j *Judge) Totals() Counts { return j.totals }

// Witnesses returns the first violations that were found. They do not change later.
func (j *Judge) Witnesses() []Witness { return j.witnesses }

// Stale returns the histogram of the nanoseconds of stale reads in a weaker mode, nil without any.
func (j *Judge) Stale() *hdrhistogram.Histogram { return j.stale.histogram }

// Written returns the keys with a write that did not fail. Those that were written last come
// first: if a store lost anything, it is rather its last writes. Call it after Finish.
func (j *Judge) Written() iter.Seq[int64] {
	type writing struct{ number, sent int64 }
	var written []writing
	for at := range j.keys.count {
		if k := j.keys.at(int32(at)); k.wrote {
			written = append(written, writing{k.number, k.wroteAt()})
		}
	}
	slices.SortFunc(written, func(a, b writing) int {
		return cmp.Or(cmp.Compare(b.sent, a.sent), cmp.Compare(b.number, a.number))
	})
	return func(yield func(int64) bool) {
		for _, w := range written {
			if !yield(w.number) {
				return
			}
		}
	}
}
