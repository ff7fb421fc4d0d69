package databasetest

import (
	"context"
	"fmt"
	"testing"

	"github.com/coreos/dbtester/pkg/database"
)

// upkeepWithin bounds one kind of upkeep on a small store.
const upkeepWithin = Patience

// upkeepCase: each kind of upkeep succeeds twice, and all keys keep their values.
func upkeepCase(t *testing.T, f *fixture) {
	client := f.dial(t, f.Target())
	key, value := f.key(), bytesOf(1000)
	for range 20 {
		put(t, client, key, []byte("history"))
	}
	put(t, client, key, value)
	do := func(name string, piece func(context.Context) error) {
		f.part(t, name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), upkeepWithin)
			defer cancel()
			if err := piece(ctx); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			get(t, client, key, f.info().Reads[0], value)
			serves(t, f, client)
		})
	}
	if c, ok := f.driver.(database.Compacter); ok {
		do("compact", func(ctx context.Context) error { return c.Compact(ctx, f.Target()) })
		do("compact again", func(ctx context.Context) error { return c.Compact(ctx, f.Target()) })
	}
	for member := range f.members {
		if d, ok := f.driver.(database.Defragmenter); ok {
			do(fmt.Sprintf("defragment member %d", member), func(ctx context.Context) error { return d.Defragment(ctx, f.Target(), member) })
		}
		_, planned := f.driver.(database.SnapshotPlanner) // the members in this suite are not started for snapshots
		if s, ok := f.driver.(database.Snapshotter); ok && !planned {
			do(fmt.Sprintf("snapshot of member %d", member), func(ctx context.Context) error {
				size, err := s.Snapshot(ctx, f.Target(), member)
				if err == nil && size < 100 {
					err = fmt.Errorf("it has %d bytes", size)
				}
				return err
			})
		}
	}
}

// fillCase: the fullest store has a size below its limit.
func fillCase(t *testing.T, f *fixture) {
	ctx, cancel := context.WithTimeout(t.Context(), opWithin)
	defer cancel()
	size, limit, err := f.driver.(database.FillReporter).Fill(ctx, f.Target())
	if err != nil || size <= 0 || size >= limit {
		t.Errorf("the store has %d of %d bytes: %v", size, limit, err)
	}
}
