package load

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/workload"
)

// gone has lost its keys: each second read is answered, after 4 ms, that the key does not exist,
// and each fourth read is refused at once.
type gone struct{ reads *atomic.Int64 }

func (gone) Put(context.Context, []byte, []byte) error { return nil }
func (gone) Delete(context.Context, []byte) error      { time.Sleep(time.Millisecond); return nil }
func (gone) Close() error                              { return nil }

func (g gone) Get(context.Context, []byte, workload.ReadMode) ([]byte, error) {
	switch g.reads.Add(1) % 4 {
	case 0:
		return nil, database.NotApplied(database.ClassThrottled, errors.New("too many"))
	default:
		time.Sleep(4 * time.Millisecond)
		return nil, database.ErrNotFound
	}
}

// TestDeclined: in a load that deletes, an answer that a key does not exist has a
// response time; in other loads it is a failure like any other.
func TestDeclined(t *testing.T) {
	for name, c := range map[string]struct {
		mix  []workload.Share
		step workload.Step
		want bool
	}{
		"closed loop that deletes": {mix: []workload.Share{{Operation: workload.OpRead, Weight: 1}, {Operation: workload.OpDelete, Weight: 1}},
			step: workload.Step{Clients: 1, Requests: 4000}, want: true},
		"rate that deletes": {mix: []workload.Share{{Operation: workload.OpRead, Weight: 1}, {Operation: workload.OpDelete, Weight: 1}},
			step: workload.Step{Clients: 50, Rate: 1000, Requests: 4000}, want: true},
		"reads and updates": {mix: []workload.Share{{Operation: workload.OpRead, Weight: 1}, {Operation: workload.OpUpdate, Weight: 1}},
			step: workload.Step{Clients: 1, Requests: 4000}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				spec := writes()
				spec.Operation, spec.Mix, spec.Keys, spec.KeyLaw = "", c.mix, 100, workload.KeysUniform
				files, err := NewFiles(dir, time.Now())
				if err != nil {
					t.Fatalf("open the records: %v", err)
				}
				rec := NewRecorder(files, spec.Operations(), nil)
				res, err := NewEngine(spec, rec).Step(t.Context(), Step{Step: c.step}, []database.Client{gone{&atomic.Int64{}}})
				if err != nil {
					t.Fatalf("run the step: %v", err)
				}
				if err := files.Close(); err != nil {
					t.Fatalf("close the records: %v", err)
				}
				s, err := results.Summarize(dir, &results.DatabaseRun{Load: results.Load{Load: spec.Load}, Steps: []results.Step{{
					Step: c.step, Start: res.Start, End: res.End, IssueEnd: res.IssueEnd,
				}}})
				if err != nil {
					t.Fatalf("sum up: %v", err)
				}
				checkDeclined(t, s, c.want)
			})
		})
	}
}

// checkDeclined expects 4,000 requests: 1,500 out of 2,000 reads find no key after 4 ms, and 500
// are refused.
func checkDeclined(t *testing.T, s *results.Summary, want bool) {
	t.Helper()
	if s.OK != 2000 || s.Failed != 2000 || s.Population() != 4000 {
		t.Errorf("%d ok and %d failed of %d, want 2000 and 2000 of 4000", s.OK, s.Failed, s.Population())
	}
	r := s.Ranking()
	if !want {
		if s.Declined.TotalCount() != 0 || !r.At(.75).Never {
			t.Errorf("%d declined and p75 %+v, want none, because nothing makes keys disappear", s.Declined.TotalCount(), r.At(.75))
		}
		return
	}
	if n := s.Declined.TotalCount(); n != 1500 || s.Unanswered.N != 500 {
		t.Errorf("%d declined and %d not answered, want 1500 and 500", n, s.Unanswered.N)
	}
	for q, want := range map[float64]time.Duration{.25: time.Millisecond, .5: time.Millisecond, .75: 4 * time.Millisecond, .875: 4 * time.Millisecond} {
		if got := time.Duration(r.At(q).NS); got < want || got > want+want/1000 {
			t.Errorf("quantile %v = %v, want %v", q, got, want)
		}
	}
	if !r.At(.876).Never {
		t.Errorf("quantile 0.876 = %+v, want none: the rank is that of a refused request", r.At(.876))
	}
}
