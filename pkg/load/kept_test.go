package load

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/workload"
)

// keeping is a client that loses every second answer, and then keeps the memory for keys and
// values.
type keeping struct {
	null
	mu    sync.Mutex
	calls int
	kept  []keptBytes
}

type keptBytes struct{ is, was []byte }

func (k *keeping) apply(parts ...[]byte) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.calls++; k.calls%2 == 0 {
		return nil
	}
	for _, part := range parts {
		k.kept = append(k.kept, keptBytes{part, bytes.Clone(part)})
	}
	return database.MaybeApplied(database.ClassOther, errors.New("no answer"))
}

func (k *keeping) Put(_ context.Context, key, value []byte) error { return k.apply(key, value) }

func (k *keeping) Txn(_ context.Context, puts []database.GuardedPut) error {
	var parts [][]byte
	for _, p := range puts {
		parts = append(parts, p.Key, p.Value)
	}
	return k.apply(parts...)
}

func (k *keeping) Version(context.Context, []byte) (int64, error) { return 1, nil }

// TestKeptMemory: a database client may keep the keys and values of a failed call, as libraries do
// whose own goroutines still send them.
func TestKeptMemory(t *testing.T) {
	for _, op := range []workload.Op{workload.OpWrite, workload.OpTxn} {
		spec := guardedSpec(op)
		spec.TxnKeys = 3
		client := &keeping{}
		if _, err := NewEngine(spec, NewRecorder(discard{}, spec.Operations(), nil)).Step(t.Context(), Step{Step: workload.Step{Clients: 2, Requests: 200}}, []database.Client{client}); err != nil {
			t.Fatalf("%s: run the step: %v", op, err)
		}
		changed := 0
		for _, part := range client.kept {
			if !bytes.Equal(part.is, part.was) {
				changed++
			}
		}
		if changed > 0 || len(client.kept) < 200 {
			t.Errorf("%s: %d of %d kept keys and values were changed by later requests, want none", op, changed, len(client.kept))
		}
	}
}
