package load

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/workload"
)

// behind is a member that applies the write of key n after n seconds. Until then the key is
// missing, or has the value from an earlier run.
type behind struct {
	null
	began   time.Time
	gets    map[string]int
	earlier []byte
	written map[string][]byte
}

func (b *behind) Put(_ context.Context, key, value []byte) error {
	b.written[string(key)] = append([]byte(nil), value...)
	return nil
}

func (b *behind) Get(_ context.Context, key []byte, mode workload.ReadMode) ([]byte, error) {
	b.gets[string(key)]++
	var n int
	if _, err := fmt.Sscanf(string(key), "%d", &n); err != nil {
		n = 0 // the key in a load that uses the same key
	}
	switch {
	case mode != workload.ReadStale:
		return nil, errors.New("read mode " + string(mode))
	case time.Since(b.began) >= time.Duration(n)*time.Second:
		return b.written[string(key)], nil
	case b.earlier != nil:
		return b.earlier, nil
	}
	return nil, database.ErrNotFound
}

func TestAwaitKeys(t *testing.T) {
	stale := Spec{Seed: 1, Load: workload.Load{Content: workload.Content{Operation: workload.OpRead, Read: workload.ReadStale}, Sizing: workload.Sizing{ValueSize: 32, KeySize: 8}, Limits: workload.Limits{Timeout: time.Second}, Keyspace: workload.Keyspace{Keys: 20}}}
	leader := stale
	leader.Read = workload.ReadLeader
	same := stale
	same.SameKey = true
	for name, tt := range map[string]struct {
		spec  Spec
		limit time.Duration
		takes time.Duration
		keys  int // number of keys read
		fails bool
		found []byte // before the write is applied
	}{
		"catches up":  {stale, time.Minute, 19 * time.Second, 5, false, nil},
		"earlier run": {stale, time.Minute, 19 * time.Second, 5, false, make([]byte, 32)},
		"never":       {stale, 17500 * time.Millisecond, 17500 * time.Millisecond, 4, true, nil},
		"refuses":     {leader, time.Minute, 0, 1, true, nil},
		"same key":    {same, time.Minute, 0, 1, false, nil},
		"no keys":     {Spec{}, time.Minute, 0, 0, false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := &behind{gets: map[string]int{}, earlier: tt.found, written: map[string][]byte{}}
				if err := Preload(t.Context(), tt.spec, 1, []database.Client{b}, nil); err != nil {
					t.Fatalf("preload the keys: %v", err)
				}
				began := time.Now()
				b.began = began
				ctx, cancel := context.WithTimeout(t.Context(), tt.limit)
				defer cancel()
				err := AwaitKeys(ctx, tt.spec, 5, []database.Client{b, b})
				if (err != nil) != tt.fails || time.Since(began) != tt.takes || len(b.gets) != tt.keys {
					t.Errorf("%d keys read in %v, error %v, want %d in %v, failing: %v", len(b.gets), time.Since(began), err, tt.keys, tt.takes, tt.fails)
				}
			})
		})
	}
}
