package merge

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/load/schedule"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/sleep/slowtest"
	"github.com/coreos/dbtester/pkg/workload"
)

// server is a store that takes whole milliseconds for a request, and fails some. Failure and
// duration follow from the request alone.
type server struct {
	mu   sync.Mutex
	m    map[string][]byte
	slow bool
}

func (s *server) request(key, value []byte) error {
	if !s.slow {
		return nil
	}
	h := fnv.New64a()
	h.Write(key)
	h.Write(value)
	draw := h.Sum64() >> 20
	time.Sleep(time.Duration(1+draw%30) * time.Millisecond)
	switch draw / 30 % 20 {
	case 0:
		return database.NotApplied(database.ClassOther, fmt.Errorf("refused %x", draw))
	case 1:
		return database.MaybeApplied(database.ClassTimeout, errors.New("no answer"))
	}
	return nil
}

func (s *server) Put(_ context.Context, key, value []byte) error {
	if err := s.request(key, value); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.m[string(key)] = append([]byte(nil), value...)
	return nil
}

func (s *server) Get(_ context.Context, key []byte, _ workload.ReadMode) ([]byte, error) {
	if err := s.request(key, nil); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if v, ok := s.m[string(key)]; ok {
		return v, nil
	}
	return nil, database.ErrNotFound
}

func (s *server) Delete(_ context.Context, key []byte) error {
	if err := s.request(key, nil); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.m, string(key))
	return nil
}

func (s *server) Member() int { return 0 }

func (s *server) Close() error { return nil }

// mixed returns a load with several operations and all phases.
func mixed() load.Spec {
	return load.Spec{Seed: 11, Load: workload.Load{
		Content: workload.Content{Mix: []workload.Share{
			{Operation: workload.OpRead, Weight: 50}, {Operation: workload.OpWrite, Weight: 30}, {Operation: workload.OpDelete, Weight: 20},
		}},
		Keyspace: workload.Keyspace{Keys: 200, KeyLaw: workload.KeysUniform},
		Sizing:   workload.Sizing{KeySize: 10, ValueSize: 40},
		Limits:   workload.Limits{Timeout: time.Minute, Drain: time.Minute, WarmUp: 300 * time.Millisecond, CoolDown: 250 * time.Millisecond},
		Pace:     workload.Pace{Arrival: workload.ArrivalPoisson},
	}}
}

func steps() []workload.Step {
	return []workload.Step{
		{Clients: 48, Requests: 181, Rate: 197},
		{Clients: 50, Duration: 1430 * time.Millisecond, Rate: 301},
	}
}

// issue runs all parts of a load at once, in virtual time and always at the same time. Each part
// records into a sink, and the end of its step is passed on.
func issue(t *testing.T, spec load.Spec, steps []workload.Step, of int, sink func(part int) load.Sink, ended func(part int, r load.StepResult)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &server{m: map[string][]byte{}}
		start := time.Now().Add(time.Minute + 600*time.Millisecond)
		recs, engines := make([]*load.Recorder, of), make([]*load.Engine, of)
		for g := range of {
			part := spec
			part.Part = schedule.Part{Index: g, Of: of}
			if err := load.Preload(t.Context(), part, 8, []database.Client{s}, nil); err != nil {
				t.Fatalf("preload in part %d: %v", g, err)
			}
			recs[g] = load.NewRecorder(sink(g), spec.Operations(), nil)
			engines[g] = load.NewEngine(part, recs[g])
		}
		s.slow = true
		for n, step := range steps {
			found := make([]load.StepResult, of)
			var wg sync.WaitGroup
			for g, e := range engines {
				wg.Go(func() {
					var err error
					found[g], err = e.Step(t.Context(), load.Step{Index: n, Step: step, Start: start}, []database.Client{s})
					if err != nil {
						t.Errorf("step %d of part %d: %v", n, g, err)
					}
					ended(g, found[g])
				})
			}
			wg.Wait()
			used := int64(0)
			for _, r := range found {
				used = max(used, r.Requests)
			}
			for g, e := range engines {
				if err := e.Continue(used); err != nil {
					t.Errorf("continue part %d: %v", g, err)
				}
			}
			start = start.Add(10*time.Second + 123456789)
		}
		for g, r := range recs {
			if n := r.Totals(); n.Queued+n.Late > 0 || n.Failed == 0 || n.Unknown == 0 {
				t.Errorf("part %d: %+v, want nothing queued and some failures", g, n)
			}
		}
	})
}

// TestMergeIsTheRecordOfTheWhole: the merged files from several generators are byte for byte those
// from one generator that issues the whole load, in any order of arrival. One may be lost.
func TestMergeIsTheRecordOfTheWhole(t *testing.T) {
	slowtest.Skip(t)
	var gap *results.Gap // in the last step
	want := files(t, func(out load.Sink) {
		issue(t, mixed(), steps(), 1, func(int) load.Sink { return out }, func(_ int, r load.StepResult) { gap = r.LargestGap })
	})
	for _, of := range []int{1, 2} {
		t.Run(fmt.Sprintf("%d at once", of), func(t *testing.T) {
			same(t, want, files(t, func(out load.Sink) {
				m := New(out, Options{Operations: mixed().Operations(), Generators: make([]string, of)})
				issue(t, mixed(), steps(), of, func(g int) load.Sink { return m.Part(g) }, func(g int, r load.StepResult) {
					if err := m.Part(g).End(r.Start, r.End); err != nil {
						t.Errorf("end a step of part %d: %v", g, err)
					}
				})
				whole(t, m)
				spec, last := mixed(), steps()[1]
				if got := m.LongestGap(spec.WarmUp, last.Duration-spec.CoolDown); got != *gap {
					t.Errorf("the longest gap of the last step's window is %+v, want that of one generator, %+v", got, *gap)
				}
			}))
		})
	}
	all := tapes(t, 3)
	t.Run("three generators", func(t *testing.T) {
		same(t, want, files(t, func(out load.Sink) { whole(t, merged(t, out, all, 7, -1, 0)) }))
	})
	t.Run("in another order", func(t *testing.T) { testArrival(t, all) })
	t.Run("without one that is lost", func(t *testing.T) { testLoss(t, all) })
}

// whole fails unless a merge is complete.
func whole(t *testing.T, m *Merger) {
	t.Helper()
	if m.Err() != nil || len(m.Losses()) > 0 || len(m.pending)+len(m.open) > 0 {
		t.Errorf("error %v, losses %v, %d seconds and %d steps left, want none", m.Err(), m.Losses(), len(m.pending), len(m.open))
	}
}

// same compares two records.
func same(t *testing.T, want, got map[string][]byte) {
	t.Helper()
	for _, file := range load.FileNames() {
		if len(want[file]) < 50 {
			t.Errorf("%s of one generator has %d bytes: the test compares nothing", file, len(want[file]))
		}
		if !bytes.Equal(want[file], got[file]) {
			t.Errorf("%s differs from that of one generator:\n%s", file, firstDifference(want[file], got[file]))
		}
	}
}

// files returns the record written by a function, by name.
func files(t *testing.T, write func(out load.Sink)) map[string][]byte {
	t.Helper()
	dir := t.TempDir()
	out, err := load.NewFiles(dir, time.Unix(946684800, 0)) // where virtual time starts
	if err != nil {
		t.Fatalf("open the record: %v", err)
	}
	write(out)
	if err := out.Close(); err != nil {
		t.Fatalf("close the record: %v", err)
	}
	all := map[string][]byte{}
	for _, name := range load.FileNames() {
		if all[name], err = os.ReadFile(filepath.Join(dir, name)); err != nil {
			t.Fatalf("read the record: %v", err)
		}
	}
	return all
}

// firstDifference returns the first line in which two texts differ.
func firstDifference(a, b []byte) string {
	want, got := strings.Split(string(a), "\n"), strings.Split(string(b), "\n")
	for i := range min(len(want), len(got)) {
		if want[i] != got[i] {
			return fmt.Sprintf("line %d of %d and %d\n-%s\n+%s", i+1, len(want), len(got), want[i], got[i])
		}
	}
	return fmt.Sprintf("%d and %d lines", len(want), len(got))
}
