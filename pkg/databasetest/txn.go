package databasetest

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/workload"
)

// txnCase: a transaction is made if its keys have the expected versions, and has no effect
// otherwise.
func txnCase(t *testing.T, f *fixture) {
	client := f.dial(t, f.Target())
	txn, ok := client.(database.Transactor)
	if !ok {
		t.Fatalf("%T has no transactions", client)
	}
	f.part(t, "one key", func(t *testing.T) { txnOfOne(t, f, client, txn) })
	f.part(t, "race", func(t *testing.T) { txnRace(t, f) })
	if _, many := client.(database.ManyVersions); many {
		f.part(t, "many versions", func(t *testing.T) { txnVersions(t, f) })
	}
	limiter, several := f.driver.(database.TxnLimiter)
	if !several {
		return
	}
	f.part(t, "several keys", func(t *testing.T) { txnOfSeveral(t, f, client, txn) })
	for _, keys := range []int{1, 4} {
		f.part(t, fmt.Sprintf("largest of %d", keys), func(t *testing.T) { txnLimit(t, f, client, txn, limiter, keys) })
	}
}

// txnOfOne: answers and reads return the right versions.
func txnOfOne(t *testing.T, f *fixture, client database.Client, txn database.Transactor) {
	key, mode := f.key(), f.info().Reads[0]
	hasVersion(t, txn, key, database.NoVersion)
	p := []database.GuardedPut{{Key: key, Value: []byte("first")}}
	makes(t, txn, p)
	get(t, client, key, mode, []byte("first"))
	first := p[0].Version
	hasVersion(t, txn, key, first)

	p[0].Value = []byte("second")
	makes(t, txn, p)
	get(t, client, key, mode, []byte("second"))
	second := p[0].Version
	if second == first || second <= 0 {
		t.Errorf("the version after the second write is %d, after the first %d: each write must change it", second, first)
	}
	hasVersion(t, txn, key, second)

	for name, expected := range map[string]int64{"the version before": first, "no version": database.NoVersion, "another version": second + 1000} {
		conflicts(t, txn, name, []database.GuardedPut{{Key: key, Value: []byte("x"), Version: expected}}, second)
	}
	conflicts(t, txn, "a version of a key that does not exist", []database.GuardedPut{{Key: f.key(), Value: []byte("x"), Version: second}}, database.NoVersion)
	get(t, client, key, mode, []byte("second"))
	hasVersion(t, txn, key, second)

	put(t, client, key, []byte("by a put"))
	conflicts(t, txn, "the version before a put", []database.GuardedPut{{Key: key, Value: []byte("x"), Version: second}}, database.UnknownVersion)
}

// txnVersions: versions read together equal those read one by one, also with missing keys in
// between, and next to neighbour keys.
func txnVersions(t *testing.T, f *fixture) {
	const first, many, every = 985, 290, 7 // the numbers fill some pages and begin others
	target := f.Target()
	target.MaxBytes = 100
	client := f.dial(t, target)
	reader := client.(database.ManyVersions)
	base := string(f.key())
	var keys [][]byte
	var want []int64
	txn := client.(database.Transactor)
	for i := range many {
		key, version := fmt.Appendf(nil, "%s%06d", base, first+i), int64(database.NoVersion)
		if i%every == 0 {
			puts := []database.GuardedPut{{Key: key, Value: []byte("x")}}
			makes(t, txn, puts)
			if i%(2*every) == 0 {
				makes(t, txn, puts)
			}
			version = puts[0].Version
			put(t, client, append(key[:len(key):len(key)], 'x'), []byte("another key"))
		}
		keys, want = append(keys, key), append(want, version)
	}
	got := make([]int64, len(keys))
	for i := range got {
		got[i] = database.UnknownVersion
	}
	ctx, cancel := context.WithTimeout(t.Context(), opWithin)
	defer cancel()
	if err := reader.Versions(ctx, keys, got); err != nil {
		t.Fatalf("read %d versions: %v", len(keys), err)
	}
	for i := range keys {
		if got[i] != want[i] {
			t.Errorf("key %q has version %d among others, want %d", clip(keys[i]), got[i], want[i])
		}
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if err := reader.Versions(ended, keys, got); err == nil {
		t.Error("versions were read after the call's context ended")
	}
}

// txnOfSeveral: a transaction makes all of its puts or no put.
func txnOfSeveral(t *testing.T, f *fixture, client database.Client, txn database.Transactor) {
	mode := f.info().Reads[0]
	puts := make([]database.GuardedPut, 3)
	for i := range puts {
		puts[i] = database.GuardedPut{Key: f.key(), Value: fmt.Appendf(nil, "first %d", i)}
	}
	makes(t, txn, puts[:2]) // two new keys
	stale := puts[1].Version
	for i := range puts {
		puts[i].Value = fmt.Appendf(nil, "second %d", i)
	}
	makes(t, txn, puts) // two existing keys, and a new one
	for _, p := range puts {
		get(t, client, p.Key, mode, p.Value)
		hasVersion(t, txn, p.Key, p.Version)
	}
	wrong := append([]database.GuardedPut(nil), puts...)
	for i := range wrong {
		wrong[i].Value = []byte("x")
	}
	wrong[1].Version = stale
	ctx, cancel := context.WithTimeout(t.Context(), opWithin)
	defer cancel()
	mustClass(t, txn.Txn(ctx, wrong), database.ClassConflict, workload.Failed)
	for _, p := range puts {
		get(t, client, p.Key, mode, p.Value)
		hasVersion(t, txn, p.Key, p.Version)
	}
	if v := wrong[1].Version; v != puts[1].Version && v != database.UnknownVersion {
		t.Errorf("after the conflict the key's version is given as %d, want %d or that it is not known", v, puts[1].Version)
	}
}

// txnLimit: values up to the promised limit are accepted, and much larger ones refused with
// the right class.
func txnLimit(t *testing.T, f *fixture, client database.Client, txn database.Transactor, limiter database.TxnLimiter, keys int) {
	largest := limiter.MaxTxnValue(limitKeySize, keys)
	if f.suite.Auth != nil {
		largest -= 1 << 10 // requests by clients that have credentials may be larger
	}
	puts := make([]database.GuardedPut, keys)
	for i := range puts {
		puts[i] = database.GuardedPut{Key: fmt.Appendf(nil, "%-0*s", limitKeySize, f.key()), Value: bytesOf(largest)}
		for n, c := range puts[i].Key {
			if c == ' ' {
				puts[i].Key[n] = 'k'
			}
		}
	}
	makes(t, txn, puts)
	for i := range puts {
		get(t, client, puts[i].Key, f.info().Reads[0], puts[i].Value)
		puts[i].Value = bytesOf(2*largest + 64<<10)
	}
	ctx, cancel := context.WithTimeout(t.Context(), opWithin)
	defer cancel()
	mustClass(t, txn.Txn(ctx, puts), database.ClassTooLarge, workload.Failed)
	hasVersion(t, txn, puts[0].Key, puts[0].Version)
}

// txnRace: at most one of several transactions that expect the same version is made, so the
// successful ones form one chain from the first version to the last.
func txnRace(t *testing.T, f *fixture) {
	const clients, each = 4, 15
	key := f.key()
	txns := make([]database.Transactor, clients)
	for n := range txns {
		txns[n] = f.dial(t, f.To(n%len(f.members))).(database.Transactor)
	}
	first := []database.GuardedPut{{Key: key, Value: []byte("first")}}
	makes(t, txns[0], first)
	ctx, cancel := context.WithTimeout(t.Context(), clients*each*opWithin)
	defer cancel()
	var mu sync.Mutex
	next := map[int64]int64{} // new version of a transaction by its expected version
	var wg sync.WaitGroup
	for n, txn := range txns {
		wg.Go(func() {
			p := []database.GuardedPut{{Key: key, Version: first[0].Version}}
			for i := range each {
				p[0].Value = fmt.Appendf(nil, "%d of client %d", i, n)
				expected := p[0].Version
				err := txn.Txn(ctx, p)
				if err == nil {
					mu.Lock()
					if _, twice := next[expected]; twice {
						t.Errorf("two transactions that expected version %d were made", expected)
					}
					next[expected] = p[0].Version
					mu.Unlock()
				} else if err := hasClass(err, database.ClassConflict, workload.Failed); err != nil {
					t.Errorf("a transaction that lost its race: %v", err)
					return
				}
				if p[0].Version == database.UnknownVersion {
					if p[0].Version, err = txn.Version(ctx, key); err != nil {
						t.Errorf("read the version: %v", err)
						return
					}
				}
			}
		})
	}
	wg.Wait()
	version := first[0].Version
	for range next {
		version = next[version]
	}
	if len(next) == 0 {
		t.Error("no transaction was made, want at least one")
	}
	hasVersion(t, txns[0], key, version)
}

// makes fails the test unless a transaction is made.
func makes(t *testing.T, txn database.Transactor, puts []database.GuardedPut) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), opWithin)
	defer cancel()
	if err := txn.Txn(ctx, puts); err != nil {
		t.Fatalf("make a transaction of %d keys: %v", len(puts), err)
	}
}

// conflicts fails the test unless a transaction conflicts. Its answer may have the current version.
func conflicts(t *testing.T, txn database.Transactor, name string, puts []database.GuardedPut, version int64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), opWithin)
	defer cancel()
	mustClass(t, txn.Txn(ctx, puts), database.ClassConflict, workload.Failed)
	if got := puts[0].Version; got != version && got != database.UnknownVersion && version != database.UnknownVersion {
		t.Errorf("a transaction that expects %s finds version %d, want %d or that it is not known", name, got, version)
	}
}

// hasVersion fails the test unless a key has a version.
func hasVersion(t *testing.T, txn database.Transactor, key []byte, want int64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), opWithin)
	defer cancel()
	got, err := txn.Version(ctx, key)
	if err != nil {
		t.Fatalf("read a version: %v", err)
	}
	if got != want {
		t.Errorf("key %q has version %d, want %d", clip(key), got, want)
	}
}
