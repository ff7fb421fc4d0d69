package database

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/coreos/dbtester/pkg/workload"
)

// keeper keeps key names whose calls fail, as a client may.
type keeper struct {
	WholeKeys // not called

	mu   sync.Mutex
	kept [][]byte
	seen map[string]int
}

var errKept = errors.New("kept")

func (k *keeper) Put(_ context.Context, key, value []byte) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.seen[string(key)]++
	if string(value) == "fail" {
		k.kept = append(k.kept, key)
		return errKept
	}
	return nil
}

func (k *keeper) Get(_ context.Context, key []byte, _ workload.ReadMode) ([]byte, error) {
	return []byte("value of " + string(key)), nil
}

// Concurrent calls have separate names, and names a client may have kept do not change.
func TestBelowNames(t *testing.T) {
	const callers, calls = 8, 200
	k := &keeper{seen: map[string]int{}}
	b := NewBelow(Target{Prefix: "bench"}, k)
	var wg sync.WaitGroup
	for n := range callers {
		wg.Go(func() {
			for i := range calls {
				key, value := fmt.Appendf(nil, "%d-%d", n, i), []byte("value")
				if i%10 == 0 {
					value = []byte("fail")
				}
				if err := b.Put(t.Context(), key, value); errors.Is(err, errKept) != (i%10 == 0) {
					t.Errorf("put of %s: %v", key, err)
				}
				got, err := b.Get(t.Context(), key, workload.ReadStale)
				if want := "value of bench/" + string(key); string(got) != want || err != nil {
					t.Errorf("got %q, %v, want %q", got, err, want)
				}
			}
		})
	}
	wg.Wait()
	for n := range callers {
		for i := range calls {
			if name := fmt.Sprintf("bench/%d-%d", n, i); k.seen[name] != 1 {
				t.Errorf("%s was put %d times, want once", name, k.seen[name])
			}
		}
	}
	kept := map[string]bool{}
	for _, name := range k.kept {
		kept[string(name)] = true
	}
	if len(kept) != callers*calls/10 {
		t.Errorf("%d different names were kept, want %d: a later call has changed some", len(kept), callers*calls/10)
	}
	if err := b.Put(t.Context(), nil, nil); err != nil || k.seen[""] != 1 {
		t.Errorf("the empty key must stay empty: %v", err)
	}
}
