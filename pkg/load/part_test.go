package load

import (
	"context"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/load/schedule"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/sleep/slowtest"
	"github.com/coreos/dbtester/pkg/workload"
)

// ledger is a store that notes each request: its operation, key, value and, if a step is timed,
// when it was sent after the start of the step. A value has the request's number.
type ledger struct {
	*versioned
	holds time.Duration // each write

	noted sync.Mutex
	calls map[string]int
	start time.Time
	timed bool
}

func (l *ledger) note(op string, parts ...[]byte) {
	at := ""
	if l.timed {
		at = time.Since(l.start).String()
	}
	h := fnv.New64a()
	for _, p := range parts[1:] {
		h.Write(p)
	}
	l.noted.Lock()
	defer l.noted.Unlock()
	l.calls[fmt.Sprintf("%s %s %x %s", op, parts[0], h.Sum64(), at)]++
}

func (l *ledger) Put(ctx context.Context, key, value []byte) error {
	l.note("put", key, value)
	time.Sleep(l.holds)
	return l.versioned.Put(ctx, key, value)
}

func (l *ledger) Get(ctx context.Context, key []byte, mode workload.ReadMode) ([]byte, error) {
	l.note("get", key)
	return l.versioned.Get(ctx, key, mode)
}

func (l *ledger) Swap(ctx context.Context, key, old, value []byte) error {
	l.note("swap", key, old, value)
	return l.versioned.Swap(ctx, key, old, value)
}

func (l *ledger) Delete(ctx context.Context, key []byte) error {
	l.note("delete", key)
	return l.versioned.Delete(ctx, key)
}

func (l *ledger) Txn(ctx context.Context, puts []database.GuardedPut) error {
	for _, p := range puts {
		l.note("txn", p.Key, p.Value)
	}
	return l.versioned.Txn(ctx, puts)
}

// issued sums up what all parts did.
type issued struct {
	Preloaded map[string]string
	Calls     []map[string]int // by step
	Totals    results.Totals
	Reads     int64 // version reads
}

// contents copies the store.
func (l *ledger) contents() map[string]string {
	l.mu.Lock()
	defer l.mu.Unlock()
	kept := map[string]string{}
	for k, v := range l.m {
		kept[k] = string(v)
	}
	return kept
}

// issue runs all parts at once, in virtual time.
func issue(t *testing.T, spec Spec, steps []workload.Step, holds time.Duration, of int) (all issued) {
	synctest.Test(t, func(t *testing.T) {
		l := &ledger{versioned: newVersioned(), calls: map[string]int{}}
		recs, engines := make([]*Recorder, of), make([]*Engine, of)
		for g := range of {
			part := spec
			part.Part = schedule.Part{Index: g, Of: of}
			if err := Preload(t.Context(), part, 12, []database.Client{l}, nil); err != nil {
				t.Fatalf("preload in part %d: %v", g, err)
			}
			recs[g] = NewRecorder(newMemory(), spec.Operations(), nil)
			engines[g] = NewEngine(part, recs[g])
		}
		all.Preloaded = l.contents()
		l.holds = holds
		for n, s := range steps {
			l.start, l.timed, l.calls = time.Now().Add(time.Second), s.Rate > 0 || s.Ramp > 0, map[string]int{}
			var wg sync.WaitGroup
			found := make([]StepResult, of)
			for g, e := range engines {
				wg.Go(func() {
					var err error
					if found[g], err = e.Step(t.Context(), Step{Index: n, Step: s, Start: l.start}, []database.Client{l}); err != nil {
						t.Errorf("step %d of part %d: %v", n, g, err)
					}
				})
			}
			wg.Wait()
			all.Calls = append(all.Calls, l.calls)
			used := int64(0)
			for _, r := range found {
				used, all.Reads = max(used, r.Requests), all.Reads+r.VersionReads
			}
			for g, e := range engines {
				if err := e.Continue(used); err != nil {
					t.Errorf("continue part %d: %v", g, err)
				}
			}
		}
		for _, r := range recs {
			got := r.Totals()
			all.Totals = all.Totals.Minus(results.Totals{}.Minus(got))
		}
	})
	return all
}

// TestPartsSendWhatOneWould: two, three and four parts send the same requests as one part,
// with the same keys and values at the same times, and have the same outcomes.
func TestPartsSendWhatOneWould(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	op := func(op workload.Op, law workload.KeyLaw) Spec {
		s := Spec{Seed: 7, Load: workload.Load{Content: workload.Content{Operation: op}, Sizing: workload.Sizing{KeySize: 12, ValueSize: 40, ValueSizeMax: 64}, Limits: workload.Limits{Timeout: time.Minute, Drain: time.Minute}}}
		if op.NeedsKey() {
			s.Keys, s.KeyLaw = 60, law
		}
		return s
	}
	mix := op(workload.OpUpdate, workload.KeysUniform)
	mix.Operation, mix.Mix = "", []workload.Share{
		{Operation: workload.OpRead, Weight: 40}, {Operation: workload.OpUpdate, Weight: 30}, {Operation: workload.OpWrite, Weight: 10},
		{Operation: workload.OpDelete, Weight: 10}, {Operation: workload.OpSwap, Weight: 10},
	}
	hot := op(workload.OpUpdate, workload.KeysHotset)
	hot.HotKeys, hot.HotShare, hot.HotMoves = 5, 80, 30
	same := op(workload.OpUpdate, "")
	same.Keys, same.SameKey = 0, true
	poisson, bursts, sine := mix, mix, op(workload.OpWrite, "")
	poisson.Arrival = workload.ArrivalPoisson
	bursts.Period, bursts.Peak, bursts.Burst = 500*time.Millisecond, 4, 50*time.Millisecond
	sine.Period, sine.Peak = 500*time.Millisecond, 1.5
	txn := op(workload.OpTxn, workload.KeysSequential)
	txn.TxnKeys = 1
	rate := workload.Step{Clients: 12, Requests: 601, Rate: 500}
	timed := workload.Step{Clients: 13, Duration: 900 * time.Millisecond, Rate: 333}
	odd := workload.Step{Clients: 5, Duration: 900 * time.Millisecond, Rate: 332} // 299 requests
	closed := workload.Step{Clients: 12, Requests: 601}
	for _, c := range []struct {
		name  string
		spec  Spec
		holds time.Duration
		steps []workload.Step
	}{
		{"write", op(workload.OpWrite, ""), 0, []workload.Step{rate, closed}},
		{"update", op(workload.OpUpdate, workload.KeysUniform), 0, []workload.Step{rate, closed}},
		{"read", op(workload.OpRead, workload.KeysZipfian), 0, []workload.Step{rate, closed}},
		{"hot set", hot, 0, []workload.Step{rate, closed}},
		{"one key", same, 0, []workload.Step{rate}},
		{"mix", mix, 0, []workload.Step{rate, timed}},
		{"a step after a time", mix, 0, []workload.Step{odd, rate}},
		{"poisson", poisson, 0, []workload.Step{timed, rate}},
		{"bursts", bursts, 0, []workload.Step{odd, rate}},
		{"sine", sine, 0, []workload.Step{rate, timed}},
		{"txn", txn, 0, []workload.Step{rate, rate, timed}},
		{"create", op(workload.OpCreate, ""), 0, []workload.Step{rate, timed}},
		{"a changing rate", mix, 0, []workload.Step{{Clients: 8, Duration: time.Second, Rate: 100, RateEnd: 400}}},
		{"a ramp of clients", op(workload.OpWrite, ""), 10 * time.Second, []workload.Step{{Clients: 13, Requests: 13, Ramp: 1300 * time.Millisecond}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := issue(t, c.spec, c.steps, c.holds, 1)
			if n := want.Totals; n.Sent == 0 || n.Sent != n.Offered || n.Queued+n.Late != 0 {
				t.Fatalf("one part: %+v, want every request sent in time", n)
			}
			for of := 2; of <= 4; of++ {
				if of != 3 && !slices.Contains([]string{"write", "update", "read", "mix", "a step after a time", "txn"}, c.name) {
					continue // pkg/load/schedule tests the schedules of all parts
				}
				got := issue(t, c.spec, c.steps, c.holds, of)
				for n := range got.Calls {
					if !maps.Equal(got.Calls[n], want.Calls[n]) {
						t.Errorf("step %d in %d parts sends other requests than one (-one +parts): %s", n, of, firstLines(cmp.Diff(want.Calls[n], got.Calls[n])))
					}
				}
				if !maps.Equal(got.Preloaded, want.Preloaded) {
					t.Errorf("%d parts write other keys before the load: %s", of, firstLines(cmp.Diff(want.Preloaded, got.Preloaded)))
				}
				if diff := cmp.Diff(want.Totals, got.Totals); diff != "" {
					t.Errorf("%d parts have other totals (-one +parts): %s", of, diff)
				}
				if got.Reads != want.Reads {
					t.Errorf("%d parts read %d versions, want %d", of, got.Reads, want.Reads)
				}
			}
		})
	}
}

// firstLines shortens a difference.
func firstLines(text string) string {
	lines := strings.SplitN(text, "\n", 30)
	return strings.Join(lines[:min(len(lines), 29)], "\n")
}

// TestPartsThatCannotBe: a load that parts cannot issue is refused with the reason.
func TestPartsThatCannotBe(t *testing.T) {
	part := schedule.Part{Index: 1, Of: 3}
	for _, c := range []struct {
		name, want string
		spec       Spec
	}{
		{"no such part", "index", Spec{Part: schedule.Part{Index: 3, Of: 3}, Load: workload.Load{Content: workload.Content{Operation: workload.OpWrite}}}},
		{"reads of created keys", "creates", Spec{Part: part, Load: workload.Load{Keyspace: workload.Keyspace{Keys: 9, KeyLaw: workload.KeysLatest}, Content: workload.Content{Mix: []workload.Share{{Operation: workload.OpRead, Weight: 1}, {Operation: workload.OpWrite, Weight: 1}}}}}},
		{"keys of all parts in a transaction", "versions", Spec{Part: part, Load: workload.Load{Content: workload.Content{Operation: workload.OpTxn}, Keyspace: workload.Keyspace{Keys: 9, KeyLaw: workload.KeysSequential}, Sizing: workload.Sizing{TxnKeys: 2}}}},
		{"requests of a client in several parts", "clients that 3 parts divide, got 10", Spec{Part: part, Load: workload.Load{Content: workload.Content{Operation: workload.OpWrite}, Extent: workload.Extent{Clients: 10}, Pace: workload.Pace{Rate: 5, Bind: workload.BindClient}}}},
		{"transactions on any key", "versions", Spec{Part: part, Load: workload.Load{Content: workload.Content{Operation: workload.OpTxn}, Keyspace: workload.Keyspace{Keys: 9, KeyLaw: workload.KeysUniform}, Sizing: workload.Sizing{TxnKeys: 1}}}},
		{"transactions on keys that change their part", "versions", Spec{Part: part, Load: workload.Load{Content: workload.Content{Operation: workload.OpTxn}, Keyspace: workload.Keyspace{Keys: 10, KeyLaw: workload.KeysSequential}, Sizing: workload.Sizing{TxnKeys: 1}}}},
	} {
		err := c.spec.CheckPart()
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", c.name, err, c.want)
		}
		if c.spec.Part == part {
			if c.spec.Part = (schedule.Part{}); c.spec.CheckPart() != nil {
				t.Errorf("%s: one part is refused: %v", c.name, c.spec.CheckPart())
			}
		}
	}
}

// TestPartsBeginTogether: a part does not begin a step without knowing its first number,
// without a client, or after the agreed time.
func TestPartsBeginTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spec := writes()
		spec.Part = schedule.Part{Index: 2, Of: 3}
		e := NewEngine(spec, NewRecorder(newMemory(), spec.Operations(), nil))
		conns := []database.Client{script(func(context.Context, []byte, []byte) error { return nil })}
		fails := func(s Step, want string) {
			t.Helper()
			if _, err := e.Step(t.Context(), s, conns); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v, want one with %q", err, want)
			}
		}
		fails(Step{Step: workload.Step{Clients: 2, Requests: 10}}, "client")
		s := Step{Step: workload.Step{Clients: 3, Requests: 10}}
		late := s
		late.Start = time.Now()
		fails(late, "before its start")
		res, err := e.Step(t.Context(), s, conns)
		if err != nil || res.Requests != 9 {
			t.Fatalf("%d numbers used, error %v, want 9: part 2 of 3 has the requests 2, 5 and 8", res.Requests, err)
		}
		fails(s, "must be known")
		if err := e.Continue(8); err == nil {
			t.Error("fewer numbers than the part used are accepted")
		}
		if err := e.Continue(10); err != nil {
			t.Errorf("continue: %v", err)
		}
		if res, err = e.Step(t.Context(), s, conns); err != nil || res.Requests != 8 {
			t.Errorf("%d numbers used, error %v, want 8: the requests 11, 14 and 17 of a step from 10 on", res.Requests, err)
		}
	})
}

// TestNoEndBeforeTheStart: a step with nothing to do before its agreed start ends when it starts,
// so that its record has no time below 0.
func TestNoEndBeforeTheStart(t *testing.T) {
	for _, c := range []struct {
		name      string
		step      workload.Step
		interrupt time.Duration
	}{
		{"a closed loop is interrupted", workload.Step{Clients: 3, Requests: 10}, 5 * time.Second},
		{"a time is interrupted", workload.Step{Clients: 3, Duration: time.Minute}, 5 * time.Second},
		{"a rate is interrupted", workload.Step{Clients: 3, Duration: time.Minute, Rate: 100}, 5 * time.Second},
		{"no request is of this part", workload.Step{Clients: 3, Requests: 2, Rate: 100}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				spec := writes()
				spec.Part = schedule.Part{Index: 2, Of: 3}
				ctx := t.Context()
				if c.interrupt > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, c.interrupt)
					defer cancel()
				}
				sink, s := newMemory(), Step{Step: c.step, Start: time.Now().Add(10 * time.Second)}
				never := script(func(context.Context, []byte, []byte) error { t.Error("a request was sent"); return nil })
				res, err := NewEngine(spec, NewRecorder(sink, spec.Operations(), nil)).Step(ctx, s, []database.Client{never})
				if (err != nil) != (c.interrupt > 0) {
					t.Errorf("error %v, want one: %v", err, c.interrupt > 0)
				}
				if !res.Start.Equal(s.Start) || !res.End.Equal(s.Start) || !res.IssueEnd.Equal(s.Start) {
					t.Errorf("the step lasted from %v to %v and issued until %v, want %v for all", res.Start, res.End, res.IssueEnd, s.Start.UTC())
				}
				if len(sink.rows) != 1 || sink.sums() != (results.Totals{}) || len(sink.ticks) > 0 {
					t.Errorf("rows %+v and ticks %+v, want one row of zeros", sink.rows, sink.ticks)
				}
			})
		})
	}
}

// pile is a connection that keeps the pairs written in bulk.
type pile struct {
	mu      sync.Mutex
	m       map[string]string
	repeats int
}

func (p *pile) PutAll(_ context.Context, pairs []database.Pair) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, kv := range pairs {
		if _, again := p.m[string(kv.Key)]; again {
			p.repeats++
		}
		p.m[string(kv.Key)] = string(kv.Value)
	}
	return nil
}

func (p *pile) Close() error { return nil }

// TestPartsPreloadInBulk: together the parts write each key once, with the same value as a single
// part.
func TestPartsPreloadInBulk(t *testing.T) {
	for _, keys := range []int64{1, 20, 1003} {
		spec := Spec{Seed: 3, Load: workload.Load{Content: workload.Content{Operation: workload.OpRead}, Keyspace: workload.Keyspace{Keys: keys}, Sizing: workload.Sizing{KeySize: 8, ValueSize: 32}}}
		want := map[string]string{}
		for of := 1; of <= 4; of++ {
			p := &pile{m: map[string]string{}}
			for g := range of {
				spec.Part = schedule.Part{Index: g, Of: of}
				if err := PreloadBulk(t.Context(), spec, 10, []database.Bulk{p, p}, nil); err != nil {
					t.Fatalf("write %d keys in part %d of %d: %v", keys, g, of, err)
				}
			}
			if of == 1 {
				want = p.m
			}
			if int64(len(p.m)) != keys || p.repeats > 0 || !maps.Equal(p.m, want) {
				t.Errorf("%d parts wrote %d keys and %d twice, want the %d keys and values of one part", of, len(p.m), p.repeats, keys)
			}
		}
	}
	spec := Spec{Load: workload.Load{Content: workload.Content{Operation: workload.OpRead}, Keyspace: workload.Keyspace{Keys: 25}, Sizing: workload.Sizing{KeySize: 8, ValueSize: 32}}, Part: schedule.Part{Index: 2, Of: 3}}
	p, err := newBulkPreload(spec, 10, nil)
	if err != nil || p.own() != 5 {
		t.Errorf("part 2 of 3 has %d of 25 keys in batches of 10, error %v, want 5", p.own(), err)
	}
}
