package requests

import (
	"errors"
	"slices"

	"github.com/coreos/dbtester/pkg/workload"
)

// block is the number of requests that divides a mix exactly: each block holds every operation by
// its weight, in its own order. So the count of keys created before a request follows from its
// number alone, and everything a request does is a function of (seed, number).
const block = workload.Block

// layout distributes operations in a mix over request blocks.
type layout struct {
	seed uint64
	ops  []workload.Op
	// from[o] is where operation o has its first place in a block. It has one more entry, which is
	// block.
	from []int64
	// creates is the operation that creates keys, as an index in ops, -1 without one. perBlock is
	// the number of keys that a block creates.
	creates  int
	perBlock int64
	sends    []bool // by operation: it sends a value
	keyless  []bool // by operation: it takes no key
	locks    []bool // by operation: it takes a lock
}

// newLayout returns all problems in a mix as one error.
func newLayout(mix []workload.Share, seed uint64) (layout, error) {
	var errs []error
	for _, p := range workload.CheckMix(mix) {
		errs = append(errs, errors.New(p.Text))
	}
	if len(errs) > 0 {
		return layout{}, errors.Join(errs...)
	}
	l := layout{seed: seed, from: []int64{0}, creates: -1}
	for o, n := range workload.PerBlock(mix) {
		op := mix[o].Operation
		l.ops = append(l.ops, op)
		l.from = append(l.from, l.from[o]+n)
		l.sends, l.keyless, l.locks = append(l.sends, op.SendsValue()), append(l.keyless, op.OfSessions()), append(l.locks, op.Locks())
		if op.Creates() {
			l.creates, l.perBlock = o, n
		}
	}
	return l, nil
}

// any reports whether an operation has a property.
func (l *layout) any(has func(workload.Op) bool) bool { return slices.ContainsFunc(l.ops, has) }

// Op returns the operation for request i, as an index in the mix.
func (l *layout) Op(i int64) int {
	o, _ := l.op(i)
	return o
}

// op returns the index of the operation in request i, and its rank among those in its block with
// the same operation.
func (l *layout) op(i int64) (o int, rank int64) {
	if len(l.ops) == 1 {
		return 0, i % block
	}
	place := permute(i%block, i/block, l.seed)
	for o = range l.ops {
		if place < l.from[o+1] {
			break
		}
	}
	return o, place - l.from[o]
}

// Count adds the requests in the half-open range [from, to) to into, by operation. Every whole
// block holds the same numbers.
func (l *layout) Count(from, to int64, into []int64) {
	if len(l.ops) == 1 {
		into[0] += to - from
		return
	}
	one := func() {
		o, _ := l.op(from)
		into[o]++
		from++
	}
	for from < to && from%block != 0 {
		one()
	}
	if blocks := (to - from) / block; blocks > 0 {
		for o := range into {
			into[o] += blocks * (l.from[o+1] - l.from[o])
		}
		from += blocks * block
	}
	for from < to {
		one()
	}
}

// CountEvery adds n requests to into, by operation: their numbers begin with from and are
// distance apart, at least 1.
func (l *layout) CountEvery(from, distance, n int64, into []int64) {
	switch {
	case distance == 1:
		l.Count(from, from+n, into)
	case len(l.ops) == 1:
		into[0] += n
	default:
		for i := range n {
			into[l.Op(from+i*distance)]++
		}
	}
}
