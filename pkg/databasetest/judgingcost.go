package databasetest

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/load/judging"
	"github.com/coreos/dbtester/pkg/stats/order"
	"github.com/coreos/dbtester/pkg/workload"
)

// JudgedLoad is the load for measuring the cost of judging: a closed loop of as many reads as
// updates.
type JudgedLoad struct {
	// Name is the database name in the table that make consistency-cost writes.
	Name string
	Keys int64
	// Requests are measured on each side of a pair, in judgedSlices slices.
	Requests int64
}

// JudgedClients is the number of clients in a [JudgedLoad].
const JudgedClients = 200

const (
	// judgedPairs is the number of measured pairs.
	judgedPairs = 10
	// judgedSlices is the number of slices on each side. Slices without and with a judge alternate,
	// so that a machine that becomes slower or faster in a pair does so for both.
	judgedSlices = 10
)

// JudgingCost measures client CPU time per request, without and with a judge, over some
// connections. It reports the medians, and the median ratio within pairs with its interval. The
// file that DBTESTER_JUDGING_COST names gets a row.
func JudgingCost(b *testing.B, l JudgedLoad, conns []database.Client) {
	b.Helper()
	var off, on, ratios []float64
	for pair := range judgedPairs {
		without, with := l.pair(b, conns, pair)
		off, on, ratios = append(off, without), append(on, with), append(ratios, with/without)
	}
	without, with, ratio := order.Of(off), order.Of(on), order.Of(ratios)
	percent := func(r float64) float64 { return 100 * (r - 1) }
	b.ReportMetric(without.Is, "unjudged-ns/request")
	b.ReportMetric(with.Is, "judged-ns/request")
	b.ReportMetric(percent(ratio.Is), "cost-%")
	b.ReportMetric(percent(ratio.Low), "low-%")
	b.ReportMetric(percent(ratio.High), "high-%")
	path := os.Getenv("DBTESTER_JUDGING_COST")
	if path == "" {
		return
	}
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		b.Fatalf("open the table: %v", err)
	}
	defer file.Close()
	if _, err := fmt.Fprintf(file, "| %s | %d | %d | %.2f µs | %.2f µs | %+.1f %% | %+.1f to %+.1f %% |\n",
		l.Name, l.Keys, judgedPairs, without.Is/1000, with.Is/1000, percent(ratio.Is), percent(ratio.Low), percent(ratio.High)); err != nil {
		b.Fatalf("write the table: %v", err)
	}
}

// unjudged is a sink that only counts failures, and judgedSink one that judges requests.
type (
	unjudged   struct{ failed *int64 }
	judgedSink struct {
		unjudged
		*judging.Load
	}
)

func (u unjudged) Second(s load.Second) error {
	for _, row := range s.Intervals {
		*u.failed += row.Failed + row.Unknown
	}
	return nil
}

func (unjudged) Total(load.Total) error { return nil }

var _ load.Observer = judgedSink{}

// judgedSide is one side of a pair: a load on its own keys.
type judgedSide struct {
	engine *load.Engine
	judge  *judging.Load // nil without one
	failed *int64
	steps  int
	sent   int64
	took   time.Duration // CPU time in the measured slices
}

// side preloads the keys for one side. The two sides have different key sizes.
func (l JudgedLoad) side(b *testing.B, conns []database.Client, keySize int, judged bool) *judgedSide {
	b.Helper()
	spec := load.Spec{Seed: 7, Load: workload.Load{
		Keyspace: workload.Keyspace{Keys: l.Keys, KeyLaw: workload.KeysUniform},
		Sizing:   workload.Sizing{KeySize: keySize, ValueSize: 100},
		Limits:   workload.Limits{Timeout: time.Minute, Drain: time.Minute},
		Content:  workload.Content{Read: workload.ReadLinearizable, Mix: []workload.Share{{Operation: workload.OpRead, Weight: 50}, {Operation: workload.OpUpdate, Weight: 50}}},
	}}
	if err := load.Preload(b.Context(), spec, JudgedClients, conns, nil); err != nil {
		b.Fatalf("preload the keys: %v", err)
	}
	s := &judgedSide{failed: new(int64)}
	var sink load.Sink = unjudged{s.failed}
	if judged {
		var err error
		if s.judge, err = judging.New(judging.Options{Spec: spec, Clients: JudgedClients}); err != nil {
			b.Fatalf("judge the load: %v", err)
		}
		sink = judgedSink{unjudged{s.failed}, s.judge}
	}
	s.engine = load.NewEngine(spec, load.NewRecorder(sink, spec.Operations(), nil))
	return s
}

// run sends requests and returns their CPU time.
func (s *judgedSide) run(b *testing.B, conns []database.Client, requests int64) time.Duration {
	b.Helper()
	before := ProcessCPU(b)
	if _, err := s.engine.Step(b.Context(), load.Step{Index: s.steps, Step: workload.Step{Clients: JudgedClients, Requests: requests}}, conns); err != nil {
		b.Fatalf("run the step: %v", err)
	}
	took := ProcessCPU(b) - before
	s.steps++
	s.sent += requests
	if *s.failed > 0 {
		b.Fatalf("%d of %d requests failed", *s.failed, s.sent)
	}
	return took
}

// pair returns the CPU time per request in nanoseconds, without and with a judge. The first slice
// on each side is not measured: a judge allocates memory for keys when they are first touched.
func (l JudgedLoad) pair(b *testing.B, conns []database.Client, pair int) (without, with float64) {
	b.Helper()
	odd := pair % 2
	sides := [2]*judgedSide{l.side(b, conns, 24+odd, false), l.side(b, conns, 25-odd, true)}
	each := l.Requests / judgedSlices
	for slice := range judgedSlices + 1 {
		for n := range sides {
			s := sides[(n+slice+pair)%2]
			if took := s.run(b, conns, each); slice > 0 {
				s.took += took
			}
		}
	}
	if totals := sides[1].judge.Finish().Totals(); totals.Judged != sides[1].sent || totals.Violations.All() > 0 {
		b.Fatalf("the judge has %+v of %d requests", totals, sides[1].sent)
	}
	perRequest := func(s *judgedSide) float64 { return float64(s.took) / float64(each*judgedSlices) }
	return perRequest(sides[0]), perRequest(sides[1])
}
