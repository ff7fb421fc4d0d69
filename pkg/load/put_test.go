package load

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/workload"
)

// hinted is a store that fails on a wrong hint, and counts calls by kind.
type hinted struct {
	store
	unhinted, created, updated atomic.Int64
}

func (h *hinted) Put(ctx context.Context, key, value []byte) error {
	h.unhinted.Add(1)
	return h.store.Put(ctx, key, value)
}

func (h *hinted) PutNew(ctx context.Context, key, value []byte) error {
	h.created.Add(1)
	if h.has(key) {
		return errors.New("the key exists")
	}
	return h.store.Put(ctx, key, value)
}

func (h *hinted) PutExisting(ctx context.Context, key, value []byte) error {
	h.updated.Add(1)
	if !h.has(key) {
		return errors.New("the key does not exist")
	}
	return h.store.Put(ctx, key, value)
}

func (h *hinted) has(key []byte) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	_, ok := h.m[string(key)]
	return ok
}

// Every write in a load has the right hint, also if writes and updates are mixed; a load with one
// key gives no hints.
func TestHints(t *testing.T) {
	for _, tt := range []struct {
		name                       string
		change                     func(*Spec)
		unhinted, created, updated int64
	}{
		{"write", func(*Spec) {}, 0, 1000, 0},
		{"write and update", func(s *Spec) {
			s.Operation, s.Mix = "", []workload.Share{{Operation: workload.OpWrite, Weight: 1}, {Operation: workload.OpUpdate, Weight: 1}}
		}, 0, 500, 500},
		{"one key", func(s *Spec) { s.SameKey = true }, 1000, 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			spec := writes()
			tt.change(&spec)
			client := &hinted{store: store{m: map[string][]byte{}}}
			clients := []database.Client{client}
			preloaded := int64(0)
			if spec.Mix != nil {
				preloaded, spec.Keys = 100, 100
				if err := Preload(t.Context(), spec, 1, clients, nil); err != nil {
					t.Fatalf("preload 100 keys: %v", err)
				}
			}
			rec := NewRecorder(newMemory(), spec.Operations(), nil)
			if _, err := NewEngine(spec, rec).Step(t.Context(), Step{Step: workload.Step{Clients: 1, Requests: 1000}}, clients); err != nil {
				t.Fatalf("a load of 1000 requests: %v", err)
			}
			if failed := rec.Totals().Failed; failed != 0 {
				t.Errorf("%d of 1000 writes had a wrong hint", failed)
			}
			got := [3]int64{client.unhinted.Load(), client.created.Load() - preloaded, client.updated.Load()}
			if want := [3]int64{tt.unhinted, tt.created, tt.updated}; got != want {
				t.Errorf("writes without a hint, of new keys and of existing keys: %d, want %d", got, want)
			}
		})
	}
}
