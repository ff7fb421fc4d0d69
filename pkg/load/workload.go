package load

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/coreos/dbtester/pkg/database"
)

// Share is how much of a load one operation is.
type Share struct {
	Operation database.Op
	// Weight is relative to the other shares; a thousandth of all is the finest.
	Weight float64
}

// KeyLaw says which existing key an operation takes. The set is closed.
type KeyLaw string

// The key laws.
const (
	// KeysSequential takes one key after the other and starts again.
	KeysSequential KeyLaw = "sequential"
	// KeysUniform takes every key equally often.
	KeysUniform KeyLaw = "uniform"
	// KeysZipfian takes few keys often: the rank of a key is drawn with exponent
	// 0.99, and ranks are scattered over the keys, one to one.
	KeysZipfian KeyLaw = "zipfian"
	// KeysLatest takes keys that were created last most often.
	KeysLatest KeyLaw = "latest"
)

// KeyLaws are all key laws.
var KeyLaws = []KeyLaw{KeysSequential, KeysUniform, KeysZipfian, KeysLatest}

// block is how many requests share out a mix exactly: each block of so many
// holds every operation by its weight, in an order of its own. So the number of
// keys created before a request follows from its number alone, and everything a
// request does is a function of (seed, number).
const block = 1000

// latestLag is how many blocks the latest key that is read lies behind the latest
// that is created: time for the write to end.
const latestLag = 10

// workload maps request numbers to operations, keys and values.
type workload struct {
	spec Spec
	ops  []database.Op
	// from[o] is the first place in a block that belongs to operation o, and from
	// has one more entry, which is block.
	from []int64
	// creates is the index of OpWrite in ops, -1 if there is none; perBlock is how
	// many keys a block creates.
	creates  int
	perBlock int64
	deletes  bool  // an operation does
	lag      int64 // blocks
	zipf     zipf
	// absent are created keys to pass over; nil if no operation reads them.
	absent *absent
}

// newWorkload checks a spec and prepares what can be computed once. Clients is
// the largest number of concurrent clients.
func newWorkload(spec Spec, clients int) (*workload, error) {
	w := &workload{spec: spec, creates: -1}
	shares := spec.Mix
	if len(shares) == 0 {
		shares = []Share{{Operation: spec.Operation, Weight: 1}}
	}
	if err := w.share(shares); err != nil {
		return nil, err
	}
	w.deletes = slices.Contains(w.ops, database.OpDelete)
	w.lag = 2*int64(clients)/block + latestLag
	if w.usesKeys() && !spec.SameKey {
		if spec.Keys < 1 {
			return nil, errors.New("operations on existing keys need a number of keys")
		}
		w.zipf = newZipf(spec.Keys)
	}
	if w.readsCreated() {
		if spec.Shed {
			return nil, errors.New("shed drops writes of the keys that the law latest reads")
		}
		// A request may be older than the newest key's by as many blocks as lie between a
		// write and its reads.
		w.absent = &absent{reach: spec.Keys + 2*(w.lag+1)*w.perBlock}
	}
	return w, nil
}

// readsCreated tells whether operations take keys that the load creates.
func (w *workload) readsCreated() bool {
	return w.creates >= 0 && len(w.ops) > 1 && w.spec.Law == KeysLatest && !w.spec.SameKey
}

// carry takes over what an earlier step of the same load knew.
func (w *workload) carry(earlier *workload) {
	if w.absent != nil && earlier != nil {
		earlier.absent.reach = max(earlier.absent.reach, w.absent.reach)
		w.absent = earlier.absent
	}
}

// skip is told of a request that is not sent.
func (w *workload) skip(number int64) {
	if w.absent == nil {
		return
	}
	if o, rank := w.op(number); o == w.creates {
		w.absent.add(w.keyOf(number, o, rank))
	}
}

// share lays the operations out over a block.
func (w *workload) share(shares []Share) error {
	var sum float64
	for _, s := range shares {
		if s.Weight <= 0 || math.IsNaN(s.Weight) || math.IsInf(s.Weight, 0) {
			return fmt.Errorf("the weight of %s is %v, not a positive number", s.Operation, s.Weight)
		}
		sum += s.Weight
	}
	var upTo float64
	w.from = []int64{0}
	for o, s := range shares {
		upTo += s.Weight
		end := int64(math.Round(block * upTo / sum))
		if end == w.from[o] {
			return fmt.Errorf("the weight of %s is less than a thousandth of all", s.Operation)
		}
		w.ops = append(w.ops, s.Operation)
		w.from = append(w.from, end)
		if s.Operation == database.OpWrite {
			w.creates, w.perBlock = o, end-w.from[o]
		}
	}
	if len(w.ops) > maxOps {
		return fmt.Errorf("%d operations in one mix, at most %d", len(w.ops), maxOps)
	}
	return nil
}

// usesKeys tells whether an operation takes existing keys.
func (w *workload) usesKeys() bool {
	for _, op := range w.ops {
		if op != database.OpWrite {
			return true
		}
	}
	return false
}

// op returns the index of what request i does, and its rank among the requests of
// its block that do the same.
func (w *workload) op(i int64) (o int, rank int64) {
	if len(w.ops) == 1 {
		return 0, i % block
	}
	place := permute(i%block, i/block, w.spec.Seed)
	for o = range w.ops {
		if place < w.from[o+1] {
			break
		}
	}
	return o, place - w.from[o]
}

// count adds up what the requests from one number to before another do, by
// operation. Whole blocks hold what every block holds.
func (w *workload) count(from, to int64, into []int64) {
	if len(w.ops) == 1 {
		into[0] += to - from
		return
	}
	one := func() {
		o, _ := w.op(from)
		into[o]++
		from++
	}
	for from < to && from%block != 0 {
		one()
	}
	if blocks := (to - from) / block; blocks > 0 {
		for o := range into {
			into[o] += blocks * (w.from[o+1] - w.from[o])
		}
		from += blocks * block
	}
	for from < to {
		one()
	}
}

// keyOf returns the number of the key that request i uses for operation o.
func (w *workload) keyOf(i int64, o int, rank int64) int64 {
	spec := &w.spec
	if o == w.creates {
		first := max(spec.FirstKey, spec.Keys)
		if len(w.ops) == 1 {
			return first + i
		}
		return first + i/block*w.perBlock + rank
	}
	draw := mix64(spec.Seed ^ mix64(uint64(i)*golden+1))
	switch spec.Law {
	case KeysUniform:
		return below(draw, spec.Keys)
	case KeysZipfian:
		return scatter(w.zipf.rank(draw), spec.Keys, spec.Seed)
	case KeysLatest:
		return w.latest(i, w.zipf.rank(draw))
	default:
		return i % spec.Keys
	}
}

// latest returns the key of a rank counted back from the latest that request i
// can expect to find: created ones first, without those that are absent, then
// those that existed before.
func (w *workload) latest(i, rank int64) int64 {
	created := max(0, i/block-w.lag) * w.perBlock
	if rank < created {
		first := max(w.spec.FirstKey, w.spec.Keys)
		if key := w.absent.before(first + created - 1 - rank); key >= first {
			return key
		}
		rank = created
	}
	return max(w.spec.Keys-1-(rank-created), 0)
}

// below maps 64 random bits to [0, n) (Lemire, "Fast random integer generation
// in an interval", 2019, without the rejection: the bias is n/2^64).
func below(draw uint64, n int64) int64 {
	hi, _ := bits.Mul64(draw, uint64(n))
	return int64(hi)
}

// permute maps [0, block) onto itself, in another order for every block and seed.
func permute(place, number int64, seed uint64) int64 {
	return feistel(place, block, 5, mix64(seed^mix64(uint64(number))))
}

// scatter maps [0, n) onto itself, in another order for every seed.
func scatter(rank, n int64, seed uint64) int64 {
	half := (bits.Len64(uint64(n-1)) + 1) / 2
	return feistel(rank, n, max(half, 1), mix64(seed+golden))
}

// feistel maps [0, n) onto itself by a Feistel network over twice half bits,
// walked until it lands below n: at most four times on average.
func feistel(place, n int64, half int, key uint64) int64 {
	mask := uint64(1)<<half - 1
	for {
		left, right := uint64(place)>>half, uint64(place)&mask
		for round := range uint64(4) {
			left, right = right, left^(mix64(key+round*golden+right)&mask)
		}
		place = int64(left<<half | right)
		if place < n {
			return place
		}
	}
}

// zipf draws ranks from [0, n) with exponent zipfTheta (Gray et al., "Quickly
// generating billion-record synthetic databases", SIGMOD 1994, as used by YCSB).
type zipf struct {
	n                float64
	zeta, alpha, eta float64
	second           float64 // 1 + 0.5^theta
}

const zipfTheta = 0.99

func newZipf(n int64) zipf {
	zeta2 := 1 + math.Pow(0.5, zipfTheta)
	z := zipf{n: float64(n), alpha: 1 / (1 - zipfTheta), zeta: zetaOf(n), second: zeta2}
	z.eta = (1 - math.Pow(2/z.n, 1-zipfTheta)) / (1 - zeta2/z.zeta)
	return z
}

// zetaOf is the sum of 1/k^theta for k to n; beyond the first hundred thousand
// terms it is continued by the integral with its end correction (Euler and
// Maclaurin), which is exact to twelve digits there.
func zetaOf(n int64) float64 {
	exact := min(n, 100_000)
	var sum float64
	for k := int64(1); k <= exact; k++ {
		sum += math.Pow(float64(k), -zipfTheta)
	}
	if n == exact {
		return sum
	}
	a, b := float64(exact), float64(n)
	integral := (math.Pow(b, 1-zipfTheta) - math.Pow(a, 1-zipfTheta)) / (1 - zipfTheta)
	return sum + integral + (math.Pow(b, -zipfTheta)-math.Pow(a, -zipfTheta))/2
}

func (z *zipf) rank(draw uint64) int64 {
	u := float64(draw>>11) / (1 << 53)
	uz := u * z.zeta
	switch {
	case uz < 1 || z.n < 2:
		return 0
	case uz < z.second:
		return 1
	}
	return min(int64(z.n*math.Pow(z.eta*u-z.eta+1, z.alpha)), int64(z.n)-1)
}
