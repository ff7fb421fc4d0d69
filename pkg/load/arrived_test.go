package load

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coreos/dbtester/pkg/database"
)

// behind is a member that learns of key n after n seconds.
type behind struct {
	null
	began time.Time
	gets  map[string]int
}

func (b *behind) Get(_ context.Context, key []byte, mode database.ReadMode) ([]byte, error) {
	b.gets[string(key)]++
	var n int
	if _, err := fmt.Sscanf(string(key), "%d", &n); err != nil {
		return nil, nil // the one key of a load that uses the same
	}
	switch {
	case mode != database.ReadStale:
		return nil, errors.New("read mode " + string(mode))
	case time.Since(b.began) < time.Duration(n)*time.Second:
		return nil, database.ErrNotFound
	}
	return []byte("value"), nil
}

func TestAwaitKeys(t *testing.T) {
	stale := Spec{Keys: 20, KeySize: 8, Read: database.ReadStale}
	leader := stale
	leader.Read = database.ReadLeader
	same := stale
	same.SameKey = true
	for name, tt := range map[string]struct {
		spec  Spec
		limit time.Duration
		takes time.Duration
		keys  int // that are asked for
		fails bool
	}{
		"catches up": {stale, time.Minute, 19 * time.Second, 5, false},
		"never":      {stale, 17500 * time.Millisecond, 17500 * time.Millisecond, 4, true},
		"refuses":    {leader, time.Minute, 0, 1, true},
		"same key":   {same, time.Minute, 0, 1, false},
		"no keys":    {Spec{}, time.Minute, 0, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), tt.limit)
				defer cancel()
				b := &behind{began: began, gets: map[string]int{}}
				err := AwaitKeys(ctx, tt.spec, 5, []database.Client{b, b})
				if (err != nil) != tt.fails || time.Since(began) != tt.takes || len(b.gets) != tt.keys {
					t.Errorf("%d keys after %v: %v", len(b.gets), time.Since(began), err)
				}
			})
		})
	}
}
