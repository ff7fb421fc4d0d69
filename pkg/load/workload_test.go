package load

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/results"
)

func mustWorkload(t testing.TB, spec Spec, clients int) *workload {
	t.Helper()
	w, err := newWorkload(spec, clients)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestMixIsExactInEveryBlock(t *testing.T) {
	w := mustWorkload(t, Spec{Seed: 3, Keys: 100, Mix: []Share{
		{database.OpRead, 0.8}, {database.OpUpdate, 0.15}, {database.OpWrite, 0.05},
	}}, 10)
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
			if key := w.keyOf(b*block+i, o, rank); w.ops[o] == database.OpWrite {
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
		hits[z.rank(mix64(i*golden+7))]++
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
	w := mustWorkload(t, Spec{Seed: 1, Keys: 1000, Law: KeysLatest, Mix: []Share{{database.OpRead, 0.95}, {database.OpWrite, 0.05}}}, 100)
	var near, reads int
	for i := int64(500_000); i < 520_000; i++ {
		o, rank := w.op(i)
		if w.ops[o] != database.OpRead {
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

// store is a map with the optional operations.
type store struct {
	mu sync.Mutex
	m  map[string][]byte
}

func (s *store) Put(_ context.Context, key, value []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.m[string(key)] = append([]byte(nil), value...)
	return nil
}

func (s *store) Get(_ context.Context, key []byte, _ database.ReadMode) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if v, ok := s.m[string(key)]; ok {
		return v, nil
	}
	return nil, database.ErrNotFound
}

func (s *store) Swap(_ context.Context, key, old, value []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if string(s.m[string(key)]) != string(old) {
		return database.NotApplied(database.ClassConflict, errors.New("changed"))
	}
	s.m[string(key)] = append([]byte(nil), value...)
	return nil
}

func (s *store) Delete(_ context.Context, key []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.m, string(key))
	return nil
}

func (s *store) Range(_ context.Context, key []byte, limit int, _ database.ReadMode) (keys int, size int64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range slices.Sorted(maps.Keys(s.m)) {
		if k >= string(key) && keys < limit {
			keys, size = keys+1, size+int64(len(s.m[k]))
		}
	}
	return keys, size, nil
}

func (s *store) Close() error { return nil }

func TestMixedLoadReadsWhatItWrote(t *testing.T) {
	for _, law := range KeyLaws {
		t.Run(string(law), func(t *testing.T) {
			s := &store{m: map[string][]byte{}}
			spec := Spec{
				Seed: 5, Keys: 500, Law: law, KeySize: 24, ValueSize: 40, ValueSizeMax: 90, Timeout: time.Minute,
				Mix: []Share{{database.OpRead, 50}, {database.OpUpdate, 20}, {database.OpWrite, 10}, {database.OpSwap, 19}, {database.OpReadOneshot, 1}},
			}
			conns := []database.Client{s}
			if err := Preload(t.Context(), spec, 10, conns, nil); err != nil {
				t.Fatal(err)
			}
			sink := newMemory()
			rec := NewRecorder(sink, spec.Operations(), nil)
			_, err := NewEngine(spec, rec).Step(t.Context(), Step{
				Clients: 20, Requests: 20_000,
				Dial: func(context.Context) (database.Client, error) { return s, nil },
			}, conns)
			if err != nil {
				t.Fatal(err)
			}
			by := map[string]int64{}
			for _, r := range sink.rows {
				by[r.Operation] += r.OK + r.Failed
			}
			want := map[string]int64{"read": 10_000, "update": 4_000, "write": 2_000, "swap": 3_800, "read-oneshot": 200}
			if fmt.Sprint(by) != fmt.Sprint(want) {
				t.Errorf("%v, want %v", by, want)
			}
			for _, e := range sink.errors {
				// A goroutine may be held up for longer than ten blocks of this store take.
				held := law == KeysLatest && e.Class == string(database.ClassNotFound) && e.Count < 50
				if e.Class != string(database.ClassConflict) && !held {
					t.Errorf("%d x %s: %s", e.Count, e.Class, e.FirstText)
				}
			}
			if got := rec.Totals().BytesRead; got < 12_000*40 || got > 14_000*90 {
				t.Errorf("%d bytes read by 14000 reads and swaps of 40 to 90 bytes", got)
			}
			if len(s.m) != 2_500 || sink.rows[len(sink.rows)-1].KeysCumulative != 2_000 {
				t.Errorf("%d keys in the store, want 2500", len(s.m))
			}
		})
	}
}

func TestWrongValuesAreErrors(t *testing.T) {
	w := mustWorkload(t, Spec{Seed: 1, Keys: 10, Operation: database.OpRead, ValueSize: 64}, 1)
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
		_, err := w.verify(nil, c.value, c.key, true)
		if _, class := database.Classify(err); (err == nil) != c.ok || (err != nil && class != database.ClassWrongValue) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// TestSameSeedSameOperations: what is sent depends on the seed and the number of
// a request alone, not on the clients.
func TestSameSeedSameOperations(t *testing.T) {
	sent := func(clients int) map[string]int {
		var mu sync.Mutex
		seen := map[string]int{}
		spec := writes()
		spec.Seed, spec.Keys, spec.Law = 9, 50, KeysZipfian
		spec.Mix = []Share{{database.OpRead, 1}, {database.OpWrite, 1}}
		client := script(func(_ context.Context, key, value []byte) error {
			mu.Lock()
			defer mu.Unlock()
			seen[fmt.Sprintf("%s=%x", key, value)]++
			return nil
		})
		rec := NewRecorder(newMemory(), spec.Operations(), nil)
		if _, err := NewEngine(spec, rec).Step(t.Context(), Step{Clients: clients, Requests: 3000}, []database.Client{client}); err != nil {
			t.Fatal(err)
		}
		return seen
	}
	if a, b := sent(1), sent(37); fmt.Sprint(a) != fmt.Sprint(b) {
		t.Error("1 and 37 clients sent different operations")
	}
}

func TestRampOfRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink, rec, _, err := run(t, t.Context(), writes(), Step{Clients: 50, Rate: 100, RateEnd: 1000, Duration: 10 * time.Second},
			func(context.Context, []byte, []byte) error { time.Sleep(time.Millisecond); return nil })
		if err != nil {
			t.Fatal(err)
		}
		if got := rec.Totals(); got.Offered != 5500 || got.OK != 5500 {
			t.Errorf("%+v, want 5500 requests under the ramp", got)
		}
		var due []int64
		for _, r := range sink.rows[1:10] {
			due = append(due, r.Due)
		}
		for n := 1; n < len(due); n++ {
			if d := due[n] - due[n-1]; d < 88 || d > 92 {
				t.Errorf("due by second %v, want 90 more in each", due)
				break
			}
		}
	})
}

func TestRampOfClients(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink, _, _, err := run(t, t.Context(), writes(), Step{Clients: 10, Ramp: 5 * time.Second, Duration: 10 * time.Second},
			func(context.Context, []byte, []byte) error { time.Sleep(100 * time.Millisecond); return nil })
		if err != nil {
			t.Fatal(err)
		}
		first, late := sink.rows[1].Sent, sink.rows[7].Sent
		if first > 45 || late < 95 {
			t.Errorf("second 1 sent %d, second 7 sent %d, want about 30 and 100", first, late)
		}
	})
}

func TestBadMixes(t *testing.T) {
	for _, spec := range []Spec{
		{Mix: []Share{{database.OpRead, -1}}},
		{Mix: []Share{{database.OpRead, 1}, {database.OpWrite, math.NaN()}}},
		{Mix: []Share{{database.OpRead, 1}, {database.OpWrite, 1e-6}}, Keys: 1},
		{Operation: database.OpRead},
	} {
		if _, err := newWorkload(spec, 1); err == nil {
			t.Errorf("%+v was taken", spec.Mix)
		}
	}
}

// TestMergedRecordersEqualOne: histograms of N recorders, merged, equal that of
// the union bit for bit.
func TestMergedRecordersEqualOne(t *testing.T) {
	union := results.NewHistogram()
	parts := []*summary{{}, {}, {}}
	var merged summary
	for i := range int64(10_000) {
		ns := below(mix64(uint64(i)), 5e9)
		union.RecordValue(ns)
		parts[i%3].add(ns)
	}
	for _, p := range parts {
		merged.merge(p)
	}
	if !merged.histogram.Equals(union) {
		t.Error("the merged histogram differs")
	}
}
