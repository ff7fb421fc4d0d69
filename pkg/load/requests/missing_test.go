package requests

import (
	"math/rand/v2"
	"testing"

	"github.com/coreos/dbtester/pkg/workload"
)

// TestMissingKeysAreASet compares missing keys with a map.
func TestMissingKeysAreASet(t *testing.T) {
	const keys = 200
	rng := rand.New(rand.NewPCG(1, 2))
	a := &missingKeys{reach: keys}
	set := map[int64]bool{}
	for range 20_000 {
		if key := rng.Int64N(keys); rng.IntN(2) == 0 {
			a.add(key)
			set[key] = true
		} else {
			a.remove(key)
			delete(set, key)
		}
		key := rng.Int64N(keys)
		want := key
		for set[want] {
			want--
		}
		if got := a.before(key); got != want {
			t.Fatalf("the nearest present key at or below %d is %d, want %d with gaps %v", key, got, want, a.gaps)
		}
	}
	for n := 1; n < len(a.gaps); n++ {
		if a.gaps[n-1].to >= a.gaps[n].from || a.gaps[n].from >= a.gaps[n].to {
			t.Fatalf("gaps %v must ascend and not touch", a.gaps)
		}
	}
}

// TestMissingKeysAreForgotten: a database that fails every other write does not
// fill the memory.
func TestMissingKeysAreForgotten(t *testing.T) {
	a := &missingKeys{reach: 1000}
	for key := range int64(100_000) {
		if key%2 == 0 {
			a.add(key)
		}
	}
	if len(a.gaps) > 1002 || a.before(99_998) != 99_997 {
		t.Errorf("%d gaps and key %d before the last one, want at most 1002 and 99997", len(a.gaps), a.before(99_998))
	}
}

func TestLatestDoesNotShed(t *testing.T) {
	load := workload.Load{
		Keyspace: workload.Keyspace{Keys: 300, KeyLaw: workload.KeysLatest},
		Pace:     workload.Pace{Backlog: workload.BacklogShed},
		Content:  workload.Content{Mix: []workload.Share{{Operation: workload.OpRead, Weight: 0.9}, {Operation: workload.OpWrite, Weight: 0.1}}},
	}
	if _, err := New(load, 1, 0, 1); err == nil {
		t.Error("a load may shed writes of keys that it reads, want an error")
	}
	load.Mix[1].Operation = workload.OpUpdate
	if _, err := New(load, 1, 0, 1); err != nil {
		t.Errorf("a load without created keys may shed, got error %v", err)
	}
}
