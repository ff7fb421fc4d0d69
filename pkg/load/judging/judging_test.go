package judging

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	verdict "github.com/coreos/dbtester/pkg/ability/consistency"
	"github.com/coreos/dbtester/pkg/consistency"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/load/requests"
	"github.com/coreos/dbtester/pkg/load/schedule"
	"github.com/coreos/dbtester/pkg/workload"
)

// store is a register for each key, with one lie of its kind every so many calls.
type store struct {
	lie   lie
	every int

	mu     sync.Mutex
	calls  int
	lies   int
	values map[string][][]byte // by key, the latest last; nil means no value
}

type lie int

const (
	honest lie = iota
	dropsWrites
	readsOlder
	appliesFailed
	swapsAnything
	answersLate // a write is applied after its time-out: legal
)

// now reports whether a call is a lie.
func (s *store) now(l lie) bool {
	if s.lie != l {
		return false
	}
	if s.calls++; s.calls%s.every == 0 {
		s.lies++
		return true
	}
	return false
}

func (s *store) value(key []byte) []byte {
	if v := s.values[string(key)]; len(v) > 0 {
		return v[len(v)-1]
	}
	return nil
}

func (s *store) set(key, value []byte) {
	s.values[string(key)] = append(s.values[string(key)], append([]byte(nil), value...))
}

func (s *store) Put(_ context.Context, key, value []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.now(dropsWrites):
		return nil
	case s.now(appliesFailed):
		s.set(key, value)
		return database.NotApplied(database.ClassThrottled, errors.New("busy"))
	case s.now(answersLate):
		later := [2][]byte{append([]byte(nil), key...), append([]byte(nil), value...)}
		time.AfterFunc(time.Millisecond, func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.set(later[0], later[1])
		})
		return database.MaybeApplied(database.ClassTimeout, errors.New("no answer"))
	}
	s.set(key, value)
	return nil
}

func (s *store) Get(_ context.Context, key []byte, _ workload.ReadMode) ([]byte, error) {
	defer runtime.Gosched() // so that another client comes between the halves of a swap
	s.mu.Lock()
	defer s.mu.Unlock()
	value := s.value(key)
	if v := s.values[string(key)]; len(v) > 1 && s.now(readsOlder) {
		value = v[len(v)-2]
	}
	if value == nil {
		return nil, database.ErrNotFound
	}
	return append([]byte(nil), value...), nil
}

func (s *store) Swap(_ context.Context, key, old, value []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if string(s.value(key)) != string(old) && s.lie != swapsAnything {
		return database.NotApplied(database.ClassConflict, errors.New("changed"))
	}
	if string(s.value(key)) != string(old) {
		s.lies++
	}
	s.set(key, value)
	return nil
}

func (s *store) Delete(_ context.Context, key []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.values[string(key)] = append(s.values[string(key)], nil)
	return nil
}

func (s *store) Close() error { return nil }

// judged is a sink that only judges.
type judged struct{ *Load }

var _ load.Observer = judged{}

func (judged) Second(load.Second) error { return nil }
func (judged) Total(load.Total) error   { return nil }

// registers returns a load that reads and writes few keys.
func registers(deletes bool) load.Spec {
	mix := []workload.Share{
		{Operation: workload.OpRead, Weight: 45}, {Operation: workload.OpUpdate, Weight: 35}, {Operation: workload.OpSwap, Weight: 20},
	}
	if deletes {
		mix = append(mix, workload.Share{Operation: workload.OpDelete, Weight: 10})
	}
	return load.Spec{Seed: 5, Load: workload.Load{
		Keyspace: workload.Keyspace{Keys: 20, KeyLaw: workload.KeysUniform},
		Sizing:   workload.Sizing{KeySize: 24, ValueSize: 40},
		Limits:   workload.Limits{Timeout: time.Minute, Drain: time.Minute},
		Content:  workload.Content{Mix: mix},
	}}
}

// judge runs a load against a store and reads all keys back.
func judge(t *testing.T, spec load.Spec, s *store, requests int64) (*consistency.Judge, consistency.HeldKeys) {
	t.Helper()
	return judgeClient(t, spec, s, s, requests)
}

// judgeClient calls judge with one client for a store.
func judgeClient(t *testing.T, spec load.Spec, c database.Client, s *store, requests int64) (*consistency.Judge, consistency.HeldKeys) {
	t.Helper()
	const clients = 8
	s.values = map[string][][]byte{}
	conns := []database.Client{c, c, c, c}
	told := s.lie
	s.lie = honest
	if err := load.Preload(t.Context(), spec, clients, conns, nil); err != nil {
		t.Fatalf("preload the keys: %v", err)
	}
	s.lie = told
	l, err := New(Options{Spec: spec, Clients: clients})
	if err != nil {
		t.Fatalf("judge the load: %v", err)
	}
	rec := load.NewRecorder(judged{l}, spec.Operations(), nil)
	if _, err := load.NewEngine(spec, rec).Step(t.Context(), load.Step{Step: workload.Step{Clients: clients, Requests: requests}}, conns); err != nil {
		t.Fatalf("run the step: %v", err)
	}
	j := l.Finish()
	s.mu.Lock()
	s.lie = honest
	s.mu.Unlock()
	held, err := l.ReadBack(t.Context(), conns, Back{Mode: workload.ReadLinearizable})
	if err != nil {
		t.Fatalf("read the keys back: %v", err)
	}
	totals, seconds := j.Totals(), consistency.Counts{}
	for _, s := range l.seconds {
		seconds.Operations += s.Counts.Operations
	}
	if totals.Operations != requests || seconds.Operations != requests || totals.Judged != requests || totals.Late != 0 {
		t.Errorf("%d requests were sent, %d judged by second and in all %+v", requests, seconds.Operations, totals)
	}
	if held.Keys == 0 || held.Read != held.Keys || held.NotJudged > 0 {
		t.Errorf("the keys after the load are %+v", held)
	}
	return j, held
}

func TestHonest(t *testing.T) {
	for _, deletes := range []bool{false, true} {
		j, held := judge(t, registers(deletes), &store{}, 30_000)
		if totals := j.Totals(); totals.Violations.All() > 0 {
			t.Errorf("an honest store: %s", j.Witnesses()[0].Words(0))
		}
		if held.Lost() > 0 || held.Foreign > 0 {
			t.Errorf("after a load on an honest store, the keys are %+v", held)
		}
	}
}

// TestLies: every lie of a store is found, with its violation class.
func TestLies(t *testing.T) {
	swaps := []workload.Share{{Operation: workload.OpSwap, Weight: 1}}
	for name, c := range map[string]struct {
		lie   lie
		found func(v consistency.Violations) int64
		mix   []workload.Share
	}{
		"acknowledged writes are dropped":    {dropsWrites, func(v consistency.Violations) int64 { return v.Stale }, nil},
		"reads return the value before":      {readsOlder, func(v consistency.Violations) int64 { return v.Stale }, nil},
		"failed writes are applied":          {appliesFailed, func(v consistency.Violations) int64 { return v.Phantom }, nil},
		"swaps do not compare":               {swapsAnything, func(v consistency.Violations) int64 { return v.DoubleSwaps }, swaps},
		"timed-out writes are applied later": {answersLate, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := &store{lie: c.lie, every: 100}
			spec := registers(false)
			if c.mix != nil {
				spec.Mix = c.mix
			}
			j, _ := judge(t, spec, s, 30_000)
			totals := j.Totals()
			if s.lies == 0 {
				t.Fatal("no lie was told")
			}
			if c.found == nil {
				if totals.Violations.All() > 0 {
					t.Errorf("legal answers are called a violation: %s", j.Witnesses()[0].Words(0))
				}
				return
			}
			if c.found(totals.Violations) == 0 {
				t.Errorf("%d lies were told, found are %+v", s.lies, totals.Violations)
			}
			for _, w := range j.Witnesses() {
				if err := w.Check(); err != nil {
					t.Errorf("%s: %v", w.Words(0), err)
				}
			}
		})
	}
}

// TestLostWrites: reading back finds keys whose last writes were dropped, also if the load read
// nothing.
func TestLostWrites(t *testing.T) {
	spec := registers(false)
	spec.Mix, spec.Operation = nil, workload.OpUpdate
	j, held := judge(t, spec, &store{lie: dropsWrites, every: 3}, 3000)
	if totals := j.Totals(); totals.Violations.All() > 0 {
		t.Errorf("a load without reads has violations: %+v", totals)
	}
	if held.Older == 0 || held.Gone > 0 || held.Foreign > 0 {
		t.Errorf("a third of the writes were dropped; the keys are %+v", held)
	}
}

// TestReadBackEnds: keys that cannot be read in time do not count as read.
func TestReadBackEnds(t *testing.T) {
	spec := registers(false)
	l, err := New(Options{Spec: spec, Clients: 1})
	if err != nil {
		t.Fatal(err)
	}
	ended := []load.Ended{{Number: 1, Key: 3, Sent: 1, End: 2, Op: 1}, {Number: 2, Key: 4, Sent: 1, End: 2, Op: 1}}
	if err := errors.Join(l.Observe(ended, 0), l.Observe(nil, 10)); err != nil {
		t.Fatal(err)
	}
	l.Finish()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if held, err := l.ReadBack(ctx, []database.Client{&store{}}, Back{Mode: workload.ReadLinearizable}); held.Keys != 2 || held.Read != 0 || err != nil {
		t.Errorf("without time, the keys are %+v with error %v, want 2 written and none read", held, err)
	}
	if held, _ := l.ReadBack(t.Context(), []database.Client{&store{}}, Back{Mode: workload.ReadLinearizable}); held.Gone != 2 {
		t.Errorf("of a store that lost everything, the keys are %+v, want 2 gone", held)
	}
}

// TestForgotten: a value replaced too long ago to be remembered is a stale read, also with a key
// law that depends on which keys existed when the request was sent. A value numbered for a
// request that was not sent, or that writes no value, is a phantom.
func TestForgotten(t *testing.T) {
	spec := registers(false)
	spec.KeyLaw = workload.KeysLatest
	spec.Mix = []workload.Share{{Operation: workload.OpRead, Weight: 20}, {Operation: workload.OpUpdate, Weight: 60}, {Operation: workload.OpWrite, Weight: 20}}
	l, err := New(Options{Spec: spec, Clients: 1})
	if err != nil {
		t.Fatal(err)
	}
	const key = 3
	var ended []load.Ended
	read := int64(-1) // a request that reads
	for number := int64(0); len(ended) < 40_000; number++ {
		if op := l.work.Op(number); spec.Operations()[op] == workload.OpUpdate {
			ended = append(ended, load.Ended{Number: number, Key: key, Sent: 10 * number, End: 10*number + 5, Op: uint8(op)})
		} else if spec.Operations()[op] == workload.OpRead {
			read = number
		}
	}
	last := ended[len(ended)-1]
	for n, of := range []int64{ended[0].Number, ended[1].Number, ended[2].Number, read, last.Number + 100} {
		at := last.End + 10*int64(n+1)
		ended = append(ended, load.Ended{Number: last.Number + int64(n+1), Key: key, Read: of, ReadKnown: true, Sent: at, End: at + 5, Op: 0})
	}
	for len(ended) > 0 {
		some := ended[:min(len(ended), 1000)]
		ended = ended[len(some):]
		if err := errors.Join(l.Observe(some, 0), l.Observe(nil, some[len(some)-1].End+1)); err != nil {
			t.Fatal(err)
		}
	}
	j := l.Finish()
	if got := j.Totals().Violations; got.Stale != 3 || got.Phantom != 2 || got.All() != 5 {
		t.Errorf("three forgotten values and two that nobody wrote were read, the judge has %+v", got)
	}
	for _, w := range j.Witnesses() {
		if err := w.Check(); err != nil {
			t.Errorf("%s: %v", w.Words(0), err)
		}
	}
}

func TestCheck(t *testing.T) {
	good := registers(false)
	for name, c := range map[string]struct {
		change func(*load.Spec)
		legal  bool
	}{
		"whole":           {func(*load.Spec) {}, true},
		"short values":    {func(s *load.Spec) { s.ValueSize = 15 }, false},
		"reads alone":     {func(s *load.Spec) { s.Mix, s.Operation, s.ValueSize = nil, workload.OpRead, 8 }, true},
		"keys of others":  {func(s *load.Spec) { s.Part = schedule.Part{Index: 1, Of: 2} }, false},
		"keys of its own": {func(s *load.Spec) { s.Part, s.KeyLaw = schedule.Part{Index: 1, Of: 2}, workload.KeysSequential }, true},
		"keys not shared": {func(s *load.Spec) { s.Part, s.KeyLaw = schedule.Part{Index: 1, Of: 3}, workload.KeysSequential }, false},
	} {
		spec := good
		c.change(&spec)
		if err := Check(spec); (err == nil) != c.legal {
			t.Errorf("%s: got the error %v", name, err)
		}
	}
}

// TestPlanned: the operations that the plan of a run calls judged are those whose requests the
// judge takes, and the values it finds too small are those without room for a request number.
func TestPlanned(t *testing.T) {
	if verdict.LeastValue != requests.LeastNumbered {
		t.Errorf("a plan judges values from %d bytes on, and those from %d on have the number of a request", verdict.LeastValue, requests.LeastNumbered)
	}
	for _, op := range workload.Ops() {
		if judged := kindOf(op) != consistency.Other; judged != verdict.Judges(op) {
			t.Errorf("%s is judged: %v, by the plan %v", op, judged, verdict.Judges(op))
		}
	}
}

// TestMostKeys: requests on keys beyond the bound are counted and not judged.
func TestMostKeys(t *testing.T) {
	spec := registers(false)
	l, err := New(Options{Spec: spec, Clients: 1, MostKeys: 2})
	if err != nil {
		t.Fatal(err)
	}
	update := uint8(slices.Index(spec.Operations(), workload.OpUpdate))
	var ended []load.Ended
	for key := range int64(3) {
		ended = append(ended, load.Ended{Number: key, Key: key, Sent: 10 * key, End: 10*key + 5, Op: update})
	}
	if err := errors.Join(l.Observe(ended, 0), l.Observe(nil, 100)); err != nil {
		t.Fatal(err)
	}
	if c := l.Finish().Totals(); c.Operations != 3 || c.Judged != 2 || c.Unjudged != 1 || c.Keys != 2 {
		t.Errorf("%+v, want 2 of 3 requests judged", c)
	}
}
