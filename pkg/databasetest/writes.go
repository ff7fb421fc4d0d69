package databasetest

import (
	"context"
	"sync"
	"testing"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/workload"
)

// writes records writes to new keys and their outcomes. It is safe for concurrent use.
type writes struct {
	mu   sync.Mutex
	ends []ended
}

// ended is one write.
type ended struct {
	key []byte
	err error
}

// put writes a new key.
func (w *writes) put(ctx context.Context, f *fixture, c database.Client) error {
	key := f.key()
	err := c.Put(ctx, key, key)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ends = append(w.ends, ended{key, err})
	return err
}

// check fails the test if a failed write was applied, or a successful one was not.
func (w *writes) check(t *testing.T, f *fixture, c database.Client) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range w.ends {
		switch outcome, _ := database.Classify(e.err); outcome {
		case workload.OK:
			get(t, c, e.key, f.info().Reads[0], e.key)
		case workload.Failed:
			absent(t, f, c, e.key)
		}
	}
}
