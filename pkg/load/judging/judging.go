// Package judging judges the requests of a load by package consistency while the engine sends them,
// and reads back the written keys when the load is over.
package judging

import (
	"fmt"
	"time"

	"github.com/coreos/dbtester/pkg/consistency"
	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/load/requests"
	"github.com/coreos/dbtester/pkg/workload"
)

// Options describe the judged load.
type Options struct {
	// Spec is the load. The keys below [workload.Load.Existing] were written before it, by
	// [load.Preload] or [load.PreloadBulk]; the keys that it creates did not exist.
	Spec load.Spec
	// Clients is the largest number of concurrent clients.
	Clients int
	// Weaker is set if reads in the load promise less than linearizability. Such reads get a
	// staleness and no verdict.
	Weaker bool
	// MostKeys bounds the judged keys, and the memory for them; requests for later keys are only
	// counted. 0 means the most that a judge allows.
	MostKeys int
	// Sampled is the number of keys that have their requests recorded.
	Sampled int
}

// Check returns an error if a load cannot be judged.
func Check(spec load.Spec) error {
	part, l := spec.Part, spec.Load
	switch {
	case l.Any(workload.Op.SendsValue) && l.ValueSize < requests.LeastNumbered:
		return fmt.Errorf("values must have at least %d bytes to name the requests that wrote them, got %d", requests.LeastNumbered, l.ValueSize)
	case !l.OwnKeys(part.Of):
		return fmt.Errorf("each of %d parts must have keys of its own, taken by the law %s from a number of keys that the parts divide, got %d keys by the law %q: no part knows what others write",
			part.Of, workload.KeysSequential, l.Keys, l.KeyLaw)
	}
	return nil
}

// atOnce is the number of keys for which a judge allocates memory at the start: 16 MiB.
const atOnce = 1 << 17

// atOnceEnded is the number of requests for which there is room at once: 1.5 MB of addresses,
// backed by memory only where used. A list that grew when the judge was first late would leave its
// old places as garbage.
const atOnceEnded = 1 << 15

// Load judges requests in a load. One goroutine at a time calls its methods.
type Load struct {
	opts  Options
	judge *consistency.Judge
	work  *requests.Sequence
	kinds []consistency.Kind // by operation
	batch []consistency.Op
	// deletes is set if an operation deletes: some databases restart the versions of a deleted key,
	// so versions are not judged.
	deletes bool
	highest int64 // number of an ended request
	seconds []Second
	took    time.Duration
}

// New returns the judge for a load. Its Observe implements [load.Observer].
func New(o Options) (*Load, error) {
	if err := Check(o.Spec); err != nil {
		return nil, fmt.Errorf("judge the load: %w", err)
	}
	work, err := requests.New(o.Spec.Load, o.Spec.Seed, o.Spec.FirstKey, o.Clients)
	if err != nil {
		return nil, fmt.Errorf("judge the load: %w", err)
	}
	l := &Load{opts: o, work: work, batch: make([]consistency.Op, 0, atOnceEnded), deletes: o.Spec.Any(workload.Op.Deletes)}
	for _, op := range o.Spec.Operations() {
		l.kinds = append(l.kinds, kindOf(op))
	}
	existing := o.Spec.Existing()
	l.judge = consistency.New(consistency.Options{
		Initial: func(key int64) int64 {
			if key < existing {
				return key - existing
			}
			return consistency.Absent
		},
		Wrote: l.wrote, Deletes: l.deletes, Weaker: o.Weaker, Keys: min(o.Spec.Keys, atOnce), MostKeys: o.MostKeys, Sampled: o.Sampled,
	})
	return l, nil
}

// wrote reports whether a request in the load wrote the value with a number. A value checksum
// covers the key, so a request that wrote it wrote this key. The key is not computed again: by the
// law latest it depends on which keys existed when the request was sent.
func (l *Load) wrote(_, number int64) bool {
	return number >= 0 && number <= l.highest && l.work.Sends(requests.Request{Op: l.work.Op(number)})
}

// Observe takes ended requests, and judges them in the next call without requests.
func (l *Load) Observe(ended []load.Ended, before int64) error {
	from := time.Now()
	defer func() { l.took += time.Since(from) }()
	for n := range ended {
		l.batch = append(l.batch, l.op(&ended[n]))
		l.highest = max(l.highest, ended[n].Number)
	}
	if len(ended) > 0 {
		return nil
	}
	counts := l.judge.Second(l.batch, before)
	l.batch = l.batch[:0]
	l.add(before, counts)
	return nil
}

// add adds the counts from a call to those of its second.
func (l *Load) add(until int64, c consistency.Counts) {
	if n := len(l.seconds) - 1; n >= 0 && unixSecond(l.seconds[n].Until) == unixSecond(until) {
		l.seconds[n].Counts.Add(&c)
		return
	}
	l.seconds = append(l.seconds, Second{until, c})
}

func unixSecond(ns int64) int64 { return ns / int64(time.Second) }

// op converts a request for the judge.
func (l *Load) op(e *load.Ended) consistency.Op {
	o := consistency.Op{
		Key: e.Key, Request: e.Number, Read: e.Read, Known: e.ReadKnown, Sent: e.Sent, End: e.End, Client: e.Client,
		Kind: l.kinds[e.Op],
	}
	if l.opts.Weaker {
		o.Client = e.Connection // the member depends on the connection
	}
	switch {
	case e.ReadKnown && e.Read == load.NoRequest:
		o.Read = consistency.NoRequest
	case o.Kind == consistency.Guarded:
		o.Read, o.Known = e.Expected, e.Expected >= 0 && !l.deletes
	}
	switch {
	case e.Missing && e.Outcome == workload.Failed:
		o.Outcome = consistency.NotFound
	case e.Outcome == workload.Failed:
		o.Outcome = consistency.Failed
	case e.Outcome == workload.Unknown:
		o.Outcome = consistency.Unknown
	}
	return o
}

// kindOf returns how an operation uses its key.
func kindOf(op workload.Op) consistency.Kind {
	switch op {
	case workload.OpRead, workload.OpReadOneshot:
		return consistency.Read
	case workload.OpWrite, workload.OpUpdate, workload.OpCreate:
		return consistency.Write
	case workload.OpTxn:
		return consistency.Guarded
	case workload.OpSwap:
		return consistency.Swap
	case workload.OpDelete:
		return consistency.Delete
	}
	return consistency.Other
}

// Finish judges the open rest after the load, and returns the judge.
func (l *Load) Finish() *consistency.Judge {
	l.judge.Finish()
	return l.judge
}
