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

// JudgedLoad is the load for measuring the cost of judging: a closed loop of which half the
// requests are reads.
type JudgedLoad struct {
	// Name is the name of the database in the table of make consistency-cost.
	Name     string
	Keys     int64
	Requests int64 // measured, after a quarter as many that are not measured
}

// JudgedClients are the clients of a [JudgedLoad].
const JudgedClients = 200

// judgedPairs is the number of measured pairs; their order alternates.
const judgedPairs = 10

// JudgingCost measures a client's CPU time per request, without and with a judge, over some
// connections. It reports the medians, and the median ratio within pairs with its interval. The file
// that DBTESTER_JUDGING_COST names gets a row.
func JudgingCost(b *testing.B, l JudgedLoad, conns []database.Client) {
	b.Helper()
	var off, on, ratios []float64
	for pair := range judgedPairs {
		judgedFirst := pair%2 == 1
		first := l.run(b, conns, judgedFirst)
		second := l.run(b, conns, !judgedFirst)
		if judgedFirst {
			first, second = second, first
		}
		off, on, ratios = append(off, first), append(on, second), append(ratios, second/first)
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

// run returns the CPU time of a request in nanoseconds.
func (l JudgedLoad) run(b *testing.B, conns []database.Client, judged bool) float64 {
	b.Helper()
	const clients = JudgedClients
	spec := load.Spec{Seed: 7, Load: workload.Load{
		Keyspace: workload.Keyspace{Keys: l.Keys, KeyLaw: workload.KeysUniform},
		Sizing:   workload.Sizing{KeySize: 24, ValueSize: 100},
		Limits:   workload.Limits{Timeout: time.Minute, Drain: time.Minute},
		Content:  workload.Content{Read: workload.ReadLinearizable, Mix: []workload.Share{{Operation: workload.OpRead, Weight: 50}, {Operation: workload.OpUpdate, Weight: 50}}},
	}}
	if err := load.Preload(b.Context(), spec, clients, conns, nil); err != nil {
		b.Fatalf("preload the keys: %v", err)
	}
	var failed int64
	var sink load.Sink = unjudged{&failed}
	var judge *judging.Load
	if judged {
		var err error
		if judge, err = judging.New(judging.Options{Spec: spec, Clients: clients}); err != nil {
			b.Fatalf("judge the load: %v", err)
		}
		sink = judgedSink{unjudged{&failed}, judge}
	}
	engine := load.NewEngine(spec, load.NewRecorder(sink, spec.Operations(), nil))
	step := func(index int, requests int64) time.Duration {
		before := ProcessCPU(b)
		if _, err := engine.Step(b.Context(), load.Step{Index: index, Step: workload.Step{Clients: clients, Requests: requests}}, conns); err != nil {
			b.Fatalf("run the step: %v", err)
		}
		return ProcessCPU(b) - before
	}
	first := l.Requests / 4
	step(0, first) // a judge allocates memory when keys are first touched
	took := step(1, l.Requests)
	if failed > 0 {
		b.Fatalf("%d of %d requests failed", failed, first+l.Requests)
	}
	if judged {
		if totals := judge.Finish().Totals(); totals.Judged != first+l.Requests || totals.Violations.All() > 0 {
			b.Fatalf("the judge has %+v", totals)
		}
	}
	return float64(took) / float64(l.Requests)
}
