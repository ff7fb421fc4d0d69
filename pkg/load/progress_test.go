package load

import (
	"context"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/workload"
)

// A progress is kept by those who show it, so it must not hold the functions of its step,
// which hold the load.
func TestProgressHoldsNoLoad(t *testing.T) {
	t.Parallel()
	var shown Progress
	m := NewMeter([]workload.Op{workload.OpWrite}, func(p Progress) { shown = p })
	step := Step{
		Index: 3, Step: workload.Step{Clients: 7},
		Dial:      func(context.Context) (database.Client, error) { return nil, nil },
		Reconnect: &Reconnect{},
	}
	m.Report(step, time.Second, time.Second, results.Totals{OK: 5}, Second{})
	if shown.Step.Dial != nil || shown.Step.Reconnect != nil || shown.Step.Index != 3 || shown.Step.Clients != 7 || shown.Done != 5 {
		t.Errorf("progress %+v, want step 3 with 7 clients and without functions, and 5 requests", shown)
	}
}
