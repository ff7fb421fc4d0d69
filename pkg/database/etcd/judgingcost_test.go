package etcd

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/databasetest"
	loading "github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/load/judging"
	"github.com/coreos/dbtester/pkg/workload"
)

// forgetting is a sink that judges nothing.
type forgetting struct{}

func (forgetting) Second(loading.Second) error { return nil }
func (forgetting) Total(loading.Total) error   { return nil }

// BenchmarkJudgingCost is the processor time of the client for a request of a closed loop on one
// etcd, without a judge and with one, in ten pairs whose order alternates. It reports the medians
// and that of the ratios within pairs.
func BenchmarkJudgingCost(b *testing.B) {
	member := databasetest.Start(b, databasetest.Suite{
		Database: Database(), Options: "{unsafe_no_fsync: true, log_level: error}", Addrs: []string{"127.0.2.62"},
	}, 1)
	for _, keys := range []int64{1, 20_000} {
		b.Run(fmt.Sprintf("keys=%d", keys), func(b *testing.B) {
			conns := make([]database.Client, 10)
			for n := range conns {
				conns[n] = dialBy(b, database.Lean, member.Target())
			}
			for b.Loop() {
				var off, on, ratios []float64
				for pair := range 10 {
					first := runJudged(b, conns, keys, pair%2 == 1)
					second := runJudged(b, conns, keys, pair%2 == 0)
					if pair%2 == 1 {
						first, second = second, first
					}
					off, on, ratios = append(off, first), append(on, second), append(ratios, second/first)
				}
				median := func(list []float64) float64 {
					slices.Sort(list)
					return (list[4] + list[5]) / 2
				}
				b.ReportMetric(median(off), "unjudged-ns/request")
				b.ReportMetric(median(on), "judged-ns/request")
				b.ReportMetric(100*(median(ratios)-1), "cost-%")
				b.ReportMetric(100*(ratios[1]-1), "least-%")
				b.ReportMetric(100*(ratios[8]-1), "most-%")
			}
		})
	}
}

// runJudged returns the processor time of a request in nanoseconds.
func runJudged(b *testing.B, conns []database.Client, keys int64, judged bool) float64 {
	b.Helper()
	const clients, requests = 200, 60_000
	spec := loading.Spec{Seed: 7, Load: workload.Load{
		Keyspace: workload.Keyspace{Keys: keys, KeyLaw: workload.KeysUniform},
		Sizing:   workload.Sizing{KeySize: 24, ValueSize: 100},
		Limits:   workload.Limits{Timeout: time.Minute, Drain: time.Minute},
		Content:  workload.Content{Read: workload.ReadLinearizable, Mix: []workload.Share{{Operation: workload.OpRead, Weight: 50}, {Operation: workload.OpUpdate, Weight: 50}}},
	}}
	if err := loading.Preload(b.Context(), spec, clients, conns, nil); err != nil {
		b.Fatalf("preload the keys: %v", err)
	}
	var sink loading.Sink = forgetting{}
	var l *judging.Load
	if judged {
		var err error
		if l, err = judging.New(judging.Options{Spec: spec, Clients: clients}); err != nil {
			b.Fatalf("judge the load: %v", err)
		}
		sink = judgedSink{l}
	}
	engine := loading.NewEngine(spec, loading.NewRecorder(sink, spec.Operations(), nil))
	before := ownTime(b)
	if _, err := engine.Step(b.Context(), loading.Step{Step: workload.Step{Clients: clients, Requests: requests}}, conns); err != nil {
		b.Fatalf("run the step: %v", err)
	}
	took := ownTime(b) - before
	if judged {
		if totals := l.Finish().Totals(); totals.Judged != requests || totals.Violations.All() > 0 {
			b.Fatalf("the judge has %+v", totals)
		}
	}
	return float64(took) / requests
}

// ownTime is what this process has used, in nanoseconds, without its members.
func ownTime(b *testing.B) int64 {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &now); err != nil {
		b.Fatalf("ask for the processor time: %v", err)
	}
	return now.Nano()
}
