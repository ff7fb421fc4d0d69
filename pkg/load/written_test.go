package load

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/workload"
)

// weighing is a store that adds up the bytes it acknowledges. It refuses each fifth put, and
// loses the answer to each seventh.
type weighing struct {
	*versioned
	puts, bytes atomic.Int64
}

func (w *weighing) Put(ctx context.Context, key, value []byte) error {
	n := w.puts.Add(1)
	if n%5 == 0 {
		return database.NotApplied(database.ClassThrottled, errors.New("refused"))
	}
	if err := w.versioned.Put(ctx, key, value); err != nil || n%7 == 0 {
		return errors.Join(err, database.MaybeApplied(database.ClassTimeout, errors.New("no answer")))
	}
	w.bytes.Add(int64(len(key) + len(value)))
	return nil
}

func (w *weighing) Txn(ctx context.Context, puts []database.GuardedPut) error {
	err := w.versioned.Txn(ctx, puts)
	for i := range puts {
		if err == nil {
			w.bytes.Add(int64(len(puts[i].Key) + len(puts[i].Value)))
		}
	}
	return err
}

// TestWrittenBytes: the recorded bytes are those in the keys and values that the database
// acknowledged, for each operation, with sizes by a law, and in every key of a transaction.
func TestWrittenBytes(t *testing.T) {
	v := &weighing{versioned: newVersioned()}
	for i := range int64(200) { // the keys before the load
		v.m[string(workload.AppendKey(nil, i, 20))] = nil
	}
	spec := Spec{Seed: 3, Load: workload.Load{
		Content:  workload.Content{Mix: []workload.Share{{Operation: workload.OpWrite, Weight: 3}, {Operation: workload.OpUpdate, Weight: 2}, {Operation: workload.OpTxn, Weight: 2}, {Operation: workload.OpDelete, Weight: 1}}},
		Keyspace: workload.Keyspace{Keys: 200, KeyLaw: workload.KeysUniform},
		Sizing:   workload.Sizing{TxnKeys: 3, KeySize: 20, ValueSize: 16, ValueSizeMax: 5000, Sizes: workload.Sizes{Law: workload.SizesLognormal, P50: 300, P99: 4000}},
		Limits:   workload.Limits{Timeout: time.Second},
	}}
	sink := newMemory()
	rec := NewRecorder(sink, spec.Operations(), nil)
	if _, err := NewEngine(spec, rec).Step(t.Context(), Step{Step: workload.Step{Clients: 8, Requests: 8000}}, []database.Client{v}); err != nil {
		t.Fatalf("run the step: %v", err)
	}
	got := rec.Totals()
	if got.BytesWritten != v.bytes.Load() || got.Failed == 0 || got.Unknown == 0 || got.BytesWritten < 5000*300 {
		t.Errorf("%d bytes are recorded and %d were acknowledged, with %+v", got.BytesWritten, v.bytes.Load(), got)
	}
	var sum int64
	for _, row := range sink.rows {
		if sum += row.WrittenBytes; row.Operation == string(workload.OpDelete) && row.WrittenBytes > 0 {
			t.Errorf("deletes wrote %d bytes", row.WrittenBytes)
		}
	}
	if sum != got.BytesWritten {
		t.Errorf("the seconds have %d bytes, the totals %d", sum, got.BytesWritten)
	}
}
