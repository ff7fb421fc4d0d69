package requests

import (
	"errors"
	"fmt"
	"math/bits"

	"github.com/coreos/dbtester/pkg/workload"
)

// latestLag is the least number of blocks between the latest key read and the latest created:
// time for the write to end.
const latestLag = 10

// Sequence maps request numbers to operations, keys and values. After it is made, only its
// missing keys change. It is safe for concurrent use.
type Sequence struct {
	layout
	load     workload.Load
	firstKey int64 // the first created key has this number or load.Keys
	deletes  bool  // an operation deletes
	lag      int64 // blocks
	zipf     zipf
	sizes    workload.Sizer
	// absent are created keys that reads skip; nil if no operation reads them.
	absent *missingKeys
}

// New checks a load and computes the constant parts of its requests. The seed makes keys and
// values. Created keys are numbered from firstKey, or from load.Keys if that is greater. Clients
// is the largest number of concurrent clients.
func New(load workload.Load, seed uint64, firstKey int64, clients int) (*Sequence, error) {
	mix, err := newLayout(load.Shares(), seed)
	if err != nil {
		return nil, err
	}
	g := &Sequence{layout: mix, load: load, firstKey: firstKey, lag: 2*int64(clients)/block + latestLag, sizes: workload.NewSizer(&load)}
	g.deletes = g.any(workload.Op.Deletes)
	if g.any(workload.Op.ChoosesKey) && !load.SameKey {
		if load.Keys < 1 {
			return nil, fmt.Errorf("operations on keys that exist, and locks, need at least 1 key, got %d", load.Keys)
		}
		g.zipf = newZipf(load.Keys)
	}
	if load.ReadsCreated() {
		if load.Backlog == workload.BacklogShed {
			return nil, errors.New("a load that reads the keys it creates must not shed their writes")
		}
		if load.Bind == workload.BindClient {
			return nil, errors.New("a load that reads the keys it creates must not bind their writes to clients")
		}
		// A request may be older than that of the newest key by as many blocks as lie between a
		// write and its reads.
		g.absent = &missingKeys{reach: load.Keys + 2*(g.lag+1)*g.perBlock}
	}
	return g, nil
}

// Carry takes over the missing keys from an earlier step in the same load; earlier may be nil.
func (g *Sequence) Carry(earlier *Sequence) {
	if g.absent != nil && earlier != nil {
		earlier.absent.reach = max(earlier.absent.reach, g.absent.reach)
		g.absent = earlier.absent
	}
}

// Request holds what a request number determines.
type Request struct {
	Number int64 // over all steps
	Op     int   // index in the mix
	Key    int64 // the key number; 0 with one key for all requests, and without a key
}

// Request returns the request with a number.
func (g *Sequence) Request(number int64) Request {
	o, rank := g.op(number)
	r := Request{Number: number, Op: o}
	if !g.load.SameKey {
		r.Key = g.keyOf(number, o, rank)
	}
	return r
}

// Neighbor returns the part of a multi-key txn that writes the n-th key below its own. Below the
// lowest key comes the highest one that existed before the load.
func (g *Sequence) Neighbor(r Request, n int) Request {
	if r.Key -= int64(n); r.Key < 0 {
		r.Key += g.load.Keys
	}
	return r
}

// Operation returns the operation for a request.
func (g *Sequence) Operation(r Request) workload.Op { return g.ops[r.Op] }

// Sends reports whether a request writes a value.
func (g *Sequence) Sends(r Request) bool { return g.sends[r.Op] }

// Locks reports whether a request takes a lock.
func (g *Sequence) Locks(r Request) bool { return g.locks[r.Op] }

// Skip must be called for every number whose request is not sent.
func (g *Sequence) Skip(number int64) {
	if g.absent != nil {
		g.Sending(g.Request(number))
	}
}

// SkipAll calls Skip for every number in the half-open range [from, to).
func (g *Sequence) SkipAll(from, to int64) {
	for i := from; i < to && g.absent != nil; i++ {
		g.Skip(i)
	}
}

// Sending must be called before a request is sent: a key that it creates is missing
// until Written is called.
func (g *Sequence) Sending(r Request) {
	if g.absent != nil && r.Op == g.creates {
		g.absent.add(r.Key)
	}
}

// Written must be called after a request ended ok.
func (g *Sequence) Written(r Request) {
	if g.absent != nil && r.Op == g.creates {
		g.absent.remove(r.Key)
	}
}

// keyOf returns the key number that request i uses for operation o.
func (g *Sequence) keyOf(i int64, o int, rank int64) int64 {
	load := &g.load
	if g.keyless[o] {
		return 0
	}
	if o == g.creates {
		first := max(g.firstKey, load.Keys)
		if len(g.ops) == 1 {
			return first + i
		}
		return first + i/block*g.perBlock + rank
	}
	draw := Mix64(g.seed ^ Mix64(uint64(i)*golden+1))
	switch load.KeyLaw {
	case workload.KeysUniform:
		return below(draw, load.Keys)
	case workload.KeysZipfian:
		return scatter(g.zipf.rank(draw), load.Keys, g.seed)
	case workload.KeysLatest:
		if g.locks[o] { // created keys do not name locks
			return load.Keys - 1 - g.zipf.rank(draw)
		}
		return g.latest(i, g.zipf.rank(draw))
	case workload.KeysHotset:
		return scatter(g.hotset(i, draw), load.Keys, g.seed)
	default:
		return i % load.Keys
	}
}

// latest returns the key at a rank counted back from the latest key that request i can expect to
// find: first the created keys except missing ones, then the keys that existed before.
func (g *Sequence) latest(i, rank int64) int64 {
	created := max(0, i/block-g.lag) * g.perBlock
	if rank < created {
		first := max(g.firstKey, g.load.Keys)
		if key := g.absent.before(first + created - 1 - rank); key >= first {
			return key
		}
		rank = created
	}
	return max(g.load.Keys-1-(rank-created), 0)
}

// hotset returns the rank that request i takes: a hot one by the share in the load. Hot ranks are
// adjacent, and all move on by the number of hot ranks.
func (g *Sequence) hotset(i int64, draw uint64) int64 {
	load := &g.load
	hot := min(max(load.HotKeys, 1), load.Keys)
	from := int64(0)
	if load.HotMoves > 0 {
		high, low := bits.Mul64(uint64(i/load.HotMoves), uint64(hot))
		from = int64(bits.Rem64(high, low, uint64(load.Keys)))
	}
	which := Mix64(draw + golden) // its own draw: the rank must not depend on it
	rank := below(draw, hot)
	if isHot := 100*float64(which>>11)/(1<<53) < float64(load.HotShare); !isHot && hot < load.Keys {
		rank = hot + below(draw, load.Keys-hot)
	}
	return (from + rank) % load.Keys
}
