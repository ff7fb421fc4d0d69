package databasetest

import (
	"context"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/workload"
)

// serverCall is a call to a driver or its client whose answer comes from a server. Its errors are
// ignored: it only has to return.
type serverCall struct {
	name string
	do   func(context.Context, database.Target)
}

// try makes the call. A panic fails the test.
func (c serverCall) try(t testing.TB, to database.Target, within time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			t.Errorf("%s panics: %v", c.name, database.Panicked(p))
		}
	}()
	c.do(ctx, to)
}

// serverCalls returns all such calls to a driver. They use keys of prefixKeySize bytes.
func serverCalls(d database.Driver) []serverCall {
	which := database.Removable{Numbers: workload.KeySpans{{Size: prefixKeySize, First: 0, End: 5}}}
	calls := []serverCall{
		{"ready", func(ctx context.Context, to database.Target) { _ = d.Ready(ctx, to, 0) }},
		{"use a client", func(ctx context.Context, to database.Target) { useClient(ctx, d, to) }},
	}
	if b, ok := d.(database.Bulker); ok {
		calls = append(calls, serverCall{"many keys", func(ctx context.Context, to database.Target) { useBulk(ctx, b, to) }})
	}
	if v, ok := d.(database.Versioner); ok {
		calls = append(calls, serverCall{"version", func(ctx context.Context, to database.Target) { _, _ = v.Version(ctx, to, 0) }})
	}
	if l, ok := d.(database.Leader); ok {
		calls = append(calls, serverCall{"leader", func(ctx context.Context, to database.Target) { _, _ = l.Leader(ctx, to) }})
	}
	if c, ok := d.(database.Counter); ok {
		calls = append(calls, serverCall{"count", func(ctx context.Context, to database.Target) { _, _ = c.CountKeys(ctx, to) }})
	}
	if k, ok := d.(database.KeyFinder); ok {
		calls = append(calls, serverCall{"highest key", func(ctx context.Context, to database.Target) { _, _ = k.HighestKey(ctx, to, prefixKeySize) }})
	}
	if c, ok := d.(database.Claimer); ok {
		calls = append(calls, serverCall{"claim", func(ctx context.Context, to database.Target) { useClaim(ctx, c, to) }})
	}
	if r, ok := d.(database.FillReporter); ok {
		calls = append(calls, serverCall{"fill", func(ctx context.Context, to database.Target) { _, _, _ = r.Fill(ctx, to) }})
	}
	if c, ok := d.(database.Compacter); ok {
		calls = append(calls, serverCall{"compact", func(ctx context.Context, to database.Target) { _ = c.Compact(ctx, to) }})
	}
	if c, ok := d.(database.Cleaner); ok {
		calls = append(calls, serverCall{"clean", func(ctx context.Context, to database.Target) { _ = c.Clean(ctx, to, which, func(int64) {}) }})
	}
	return calls
}

// useClient applies every operation once.
func useClient(ctx context.Context, d database.Driver, to database.Target) {
	c, err := d.Dial(ctx, to)
	if err != nil {
		return
	}
	key := workload.AppendKey(nil, 1, prefixKeySize)
	_ = c.Put(ctx, key, []byte("value"))
	_, _ = c.Get(ctx, key, workload.ReadLinearizable)
	if s, ok := c.(database.Swapper); ok {
		_ = s.Swap(ctx, key, []byte("value"), []byte("other"))
	}
	if r, ok := c.(database.Ranger); ok {
		_, _, _ = r.Range(ctx, key, 10, workload.ReadLinearizable)
	}
	if l, ok := c.(database.Lister); ok {
		for _, how := range workload.RangeModes() {
			_, _, _ = l.List(ctx, how, key, 1, workload.ReadLinearizable)
		}
	}
	if x, ok := c.(database.Transactor); ok {
		_, _ = x.Version(ctx, key)
		_ = x.Txn(ctx, []database.GuardedPut{{Key: key, Value: []byte("txn"), Version: 1}})
	}
	if m, ok := c.(database.ManyVersions); ok {
		_ = m.Versions(ctx, [][]byte{key, workload.AppendKey(nil, 2, prefixKeySize)}, make([]int64, 2))
	}
	if x, ok := c.(database.Deleter); ok {
		_ = x.Delete(ctx, key)
	}
	if l, ok := c.(database.Leaser); ok {
		if id, err := l.Grant(ctx, time.Minute); err == nil {
			_ = l.KeepAlive(ctx, id)
			_ = l.Revoke(ctx, id)
			_ = l.KeepAlive(ctx, id)
		}
	}
	_ = c.Close()
}

// useBulk writes two keys in one request.
func useBulk(ctx context.Context, b database.Bulker, to database.Target) {
	c, err := b.DialBulk(ctx, to)
	if err != nil {
		return
	}
	_ = c.PutAll(ctx, []database.Pair{
		{Key: workload.AppendKey(nil, 1, prefixKeySize), Value: []byte("one")},
		{Key: workload.AppendKey(nil, 2, prefixKeySize), Value: []byte("two")},
	})
	_ = c.Close()
}

// useClaim claims the prefix unless it is claimed, and reads the claim.
func useClaim(ctx context.Context, c database.Claimer, to database.Target) {
	_, version, err := c.Claim(ctx, to)
	if err == nil && version == database.NoVersion {
		_ = c.SetClaim(ctx, to, []byte(`{"run":"r"}`), version)
	}
	_, _, _ = c.Claim(ctx, to)
}
