package judging

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/coreos/dbtester/pkg/load/requests"
	"github.com/coreos/dbtester/pkg/workload"
)

// forger is a store that answers some reads with invented values, with a right or wrong checksum.
type forger struct {
	store
	own, other *requests.Sequence // from the load, and from another run

	update int // index of the operation writing the values

	guard sync.Mutex
	rand  *rand.Rand
	told  [5]int // by forgery kind
}

func (f *forger) Get(ctx context.Context, key []byte, mode workload.ReadMode) ([]byte, error) {
	f.guard.Lock()
	defer f.guard.Unlock()
	kind := f.rand.IntN(50)
	if kind >= len(f.told) || f.lie == honest {
		return f.store.Get(ctx, key, mode)
	}
	f.told[kind]++
	number, _ := workload.KeyNumber(key, len(key))
	written := func(s *requests.Sequence, by int64) []byte {
		return s.AppendValue(nil, requests.Request{Number: by, Op: f.update, Key: number})
	}
	switch kind {
	case 0: // from another run
		return written(f.other, 7), nil
	case 1: // a request that will not be sent
		return written(f.own, math.MaxInt64-f.rand.Int64N(10)), nil
	case 2: // before any key written before the load
		return written(f.own, math.MinInt64+f.rand.Int64N(10)), nil
	case 3: // one far away
		return written(f.own, -1e15-f.rand.Int64N(1e15)), nil
	}
	return make([]byte, 1<<20), nil
}

// TestHostile: values with numbers from another run, with negative or huge numbers, and far too
// long values are violations. Each read is counted once, and the judge uses no more memory than for
// honest values.
func TestHostile(t *testing.T) {
	spec := registers(false)
	f := &forger{rand: rand.New(rand.NewPCG(17, 18))}
	sequence := func(seed uint64) *requests.Sequence {
		s, err := requests.New(spec.Load, seed, 0, 8)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	f.update = slices.Index(spec.Operations(), workload.OpUpdate)
	f.own, f.other = sequence(spec.Seed), sequence(spec.Seed+1)
	f.lie = dropsWrites // one that no call tells: every is more than all calls
	f.every = math.MaxInt
	j, held := judgeClient(t, spec, f, &f.store, 30_000)
	totals, told := j.Totals(), int64(0)
	for kind, n := range f.told {
		if n < 100 {
			t.Errorf("forgeries of kind %d were told %d times: that tests too little", kind, n)
		}
		told += int64(n)
	}
	if totals.Violations.All() != totals.Phantom || totals.Phantom != told {
		t.Errorf("%d values were forged, the judge has %+v", told, totals.Violations)
	}
	if held.Lost() > 0 || held.Foreign > 0 {
		t.Errorf("an honest store has the keys %+v", held)
	}
	if totals.OpenZones > 20*64 || totals.Keys != 20 || totals.UnknownWrites > 0 {
		t.Errorf("the judge holds %+v of 20 keys", totals)
	}
	foreign := 0
	for _, w := range j.Witnesses() {
		if err := w.Check(); err != nil {
			t.Errorf("%s: %v", w.Words(0), err)
		}
		if w.Older.Foreign {
			foreign++
		}
	}
	if foreign == 0 || foreign == len(j.Witnesses()) {
		t.Errorf("%d of %d witnesses are of values with a wrong checksum", foreign, len(j.Witnesses()))
	}
}
