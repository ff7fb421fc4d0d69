package requests

import (
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/workload"
)

func mustGenerator(t testing.TB, load workload.Load, seed uint64, clients int) *Sequence {
	t.Helper()
	g, err := New(load, seed, 0, clients)
	if err != nil {
		t.Fatalf("make a sequence: %v", err)
	}
	return g
}

func TestMixIsExactInEveryBlock(t *testing.T) {
	w := mustGenerator(t, workload.Load{Keyspace: workload.Keyspace{Keys: 100}, Content: workload.Content{Mix: []workload.Share{
		{Operation: workload.OpRead, Weight: 0.8}, {Operation: workload.OpUpdate, Weight: 0.15}, {Operation: workload.OpWrite, Weight: 0.05},
	}}}, 3, 10)
	created := map[int64]bool{}
	var orders [2][block]int
	for b := range int64(20) {
		var n [3]int
		for i := range int64(block) {
			o, rank := w.op(b*block + i)
			n[o]++
			if b < 2 {
				orders[b][i] = o
			}
			if key := w.keyOf(b*block+i, o, rank); w.ops[o] == workload.OpWrite {
				if created[key] || key < 100 || key >= 100+(b+1)*50 {
					t.Fatalf("block %d creates key %d, twice: %v", b, key, created[key])
				}
				created[key] = true
			} else if key < 0 || key >= 100 {
				t.Fatalf("key %d of 100", key)
			}
		}
		if n != [3]int{800, 150, 50} {
			t.Fatalf("block %d holds %v", b, n)
		}
	}
	if orders[0] == orders[1] {
		t.Error("two blocks have the same order")
	}
}

// TestZipfian compares the most frequent ranks with the law: rank k has
// probability 1 / k^0.99 / zeta.
func TestZipfian(t *testing.T) {
	const n, draws = 1000, 1_000_000
	z := newZipf(n)
	var hits [n]float64
	for i := range uint64(draws) {
		hits[z.rank(Mix64(i*golden+7))]++
	}
	for rank := range 2 { // Gray's formula is exact for the first two
		want := draws * math.Pow(float64(rank+1), -zipfTheta) / z.zeta
		if got := hits[rank]; math.Abs(got-want) > 5*math.Sqrt(want) {
			t.Errorf("rank %d was drawn %v times, want %.0f", rank, got, want)
		}
	}
	var head, want float64
	for rank := range 100 {
		head += hits[rank]
		want += draws * math.Pow(float64(rank+1), -zipfTheta) / z.zeta
	}
	if math.Abs(head-want) > 0.02*want {
		t.Errorf("the first hundred ranks were drawn %v times, want %.0f within 2 %%", head, want)
	}
}

func TestScatterReachesEveryKeyOnce(t *testing.T) {
	for _, n := range []int64{1, 2, 3, 7, 64, 1000, 4097} {
		seen := make([]bool, n)
		for rank := range n {
			key := scatter(rank, n, 5)
			if key < 0 || key >= n || seen[key] {
				t.Fatalf("rank %d of %d goes to key %d, taken %v", rank, n, key, key >= 0 && key < n && seen[key])
			}
			seen[key] = true
		}
	}
}

func TestZetaContinues(t *testing.T) {
	var sum float64
	const n = 300_000
	for k := 1; k <= n; k++ {
		sum += math.Pow(float64(k), -zipfTheta)
	}
	if got := zetaOf(n); math.Abs(got-sum) > 1e-9*sum {
		t.Errorf("zeta(%d) = %v, summed %v", n, got, sum)
	}
}

func TestLatestPrefersNewKeysThatWereSent(t *testing.T) {
	w := mustGenerator(t, workload.Load{Keyspace: workload.Keyspace{Keys: 1000, KeyLaw: workload.KeysLatest}, Content: workload.Content{Mix: []workload.Share{{Operation: workload.OpRead, Weight: 0.95}, {Operation: workload.OpWrite, Weight: 0.05}}}}, 1, 100)
	var near, reads int
	for i := int64(500_000); i < 520_000; i++ {
		o, rank := w.op(i)
		if w.ops[o] != workload.OpRead {
			continue
		}
		reads++
		created := 1000 + i/block*50
		switch key := w.keyOf(i, o, rank); {
		case key < 0 || key >= created:
			t.Fatalf("request %d reads key %d of %d", i, key, created)
		case key > created-1600:
			near++
		}
	}
	if near < reads*9/10 {
		t.Errorf("%d of %d reads went to the newest thousand", near, reads)
	}
}

func TestWrongValuesAreErrors(t *testing.T) {
	w := mustGenerator(t, workload.Load{Keyspace: workload.Keyspace{Keys: 10}, Content: workload.Content{Operation: workload.OpRead}, Sizing: workload.Sizing{ValueSize: 64}}, 1, 1)
	good := w.appendValue(nil, 7, 99)
	other := append([]byte(nil), good...)
	other[40] ^= 1
	for _, c := range []struct {
		name  string
		value []byte
		key   int64
		ok    bool
	}{
		{"right", good, 7, true},
		{"another key's", good, 8, false},
		{"short", good[:63], 7, false},
		{"a flipped bit", other, 7, false},
		{"empty", nil, 7, false},
	} {
		_, _, err := w.verify(nil, c.value, c.key, true)
		if _, class := database.Classify(err); (err == nil) != c.ok || (err != nil && class != database.ClassWrongValue) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestBadLoads(t *testing.T) {
	for _, load := range []workload.Load{
		{Content: workload.Content{Mix: []workload.Share{{Operation: workload.OpRead, Weight: -1}}}},
		{Content: workload.Content{Mix: []workload.Share{{Operation: workload.OpRead, Weight: 1}, {Operation: workload.OpWrite, Weight: math.NaN()}}}},
		{Content: workload.Content{Mix: []workload.Share{{Operation: workload.OpRead, Weight: 1}, {Operation: workload.OpWrite, Weight: 1e-6}}},
			Keyspace: workload.Keyspace{Keys: 1}},
		{Content: workload.Content{Operation: workload.OpRead}},
	} {
		if _, err := New(load, 1, 0, 1); err == nil {
			t.Errorf("%+v is accepted, want an error", load)
		}
	}
}

func TestValuesAreUniqueAndExact(t *testing.T) {
	w := &Sequence{layout: layout{seed: 7}, load: workload.Load{Sizing: workload.Sizing{ValueSize: 37}}}
	seen := map[string]bool{}
	for i := range int64(10_000) {
		v := w.appendValue(nil, i, i)
		if len(v) != 37 || seen[string(v)] {
			t.Fatalf("value %d: %d bytes, repeated %v", i, len(v), seen[string(v)])
		}
		seen[string(v)] = true
	}
	for size := range 300 {
		want := fmt.Sprintf("%0*d", size, 12345)
		if got := string(workload.AppendKey(nil, 12345, size)); got != want {
			t.Fatalf("key of size %d: %q, want %q", size, got, want)
		}
	}
}

// TestCountIsTheSumOfItsRequests compares whole blocks with their requests.
func TestCountIsTheSumOfItsRequests(t *testing.T) {
	w := mustGenerator(t, workload.Load{Keyspace: workload.Keyspace{Keys: 100}, Content: workload.Content{Mix: []workload.Share{
		{Operation: workload.OpRead, Weight: 0.8}, {Operation: workload.OpUpdate, Weight: 0.15}, {Operation: workload.OpWrite, Weight: 0.05},
	}}}, 3, 10)
	for _, c := range [][2]int64{{0, 0}, {0, 1}, {0, 1000}, {999, 1001}, {1, 999}, {500, 500}, {1000, 3000}, {123, 4567}} {
		got, want := make([]int64, 3), make([]int64, 3)
		w.Count(c[0], c[1], got)
		for i := c[0]; i < c[1]; i++ {
			o, _ := w.op(i)
			want[o]++
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("requests [%d, %d) by operation (-one by one +count): %s", c[0], c[1], diff)
		}
		parts := make([]int64, 3)
		for first := c[0]; first < min(c[0]+3, c[1]); first++ {
			w.CountEvery(first, 3, (c[1]-first+2)/3, parts)
		}
		if diff := cmp.Diff(want, parts); diff != "" {
			t.Errorf("requests [%d, %d) by operation in three parts (-one by one +parts): %s", c[0], c[1], diff)
		}
	}
}

// BenchmarkOp1KiB measures making a 256-byte key and a 1 KiB value.
func BenchmarkOp1KiB(b *testing.B) {
	b.Run("key", func(b *testing.B) {
		buf := make([]byte, 0, 256)
		for i := range int64(b.N) {
			buf = workload.AppendKey(buf[:0], i, 256)
		}
	})
	b.Run("value", func(b *testing.B) {
		w := &Sequence{layout: layout{seed: 1}, load: workload.Load{Sizing: workload.Sizing{ValueSize: 1024}}}
		buf := make([]byte, 0, 1024)
		for i := range int64(b.N) {
			buf = w.appendValue(buf[:0], i, i)
		}
	})
}
