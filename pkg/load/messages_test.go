package load

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/workload"
)

// talkative answers every request with its own error.
type talkative struct {
	null
	n atomic.Int64
}

func (c *talkative) Put(context.Context, []byte, []byte) error {
	n := c.n.Add(1)
	text := fmt.Sprintf("request %d from 127.0.0.1:%d was refused", n, 1024+n)
	if n%4 == 0 {
		text = fmt.Sprintf("term %d has ended", n)
	}
	return database.NotApplied(database.ClassThrottled, fmt.Errorf("%s", text))
}

// Failed requests are also counted by message, and there are no more messages with more requests.
func TestMessages(t *testing.T) {
	t.Parallel()
	sink := newMemory()
	spec := Spec{Load: workload.Load{Content: workload.Content{Operation: workload.OpWrite}, Sizing: workload.Sizing{KeySize: 8}, Limits: workload.Limits{Timeout: time.Second}}}
	e := NewEngine(spec, NewRecorder(sink, spec.Operations(), nil))
	for step := range 2 {
		if _, err := e.Step(t.Context(), Step{Step: workload.Step{Clients: 4, Requests: 400}, Index: step}, []database.Client{&talkative{}}); err != nil {
			t.Fatalf("run the step: %v", err)
		}
	}
	got, firsts := map[string]int64{}, 0
	for _, row := range sink.errors {
		got[row.Message] += row.Count
		if row.FirstText != "" {
			firsts++
		}
		if row.Class != string(database.ClassThrottled) || row.Phase != results.PhaseMeasure {
			t.Errorf("unexpected row %+v", row)
		}
	}
	if len(got) != 2 || got["throttled: request N from ADDR was refused"] != 600 || got["throttled: term N has ended"] != 200 || firsts != 2 {
		t.Errorf("got the messages %v with %d first texts, want 600 and 200 of two messages, and a first text per step", got, firsts)
	}
}
