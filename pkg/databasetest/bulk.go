package databasetest

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"github.com/coreos/dbtester/pkg/database"
)

// bulkCase: the largest bulk request the driver promises is accepted, for small and for large
// values. It writes exactly these keys, also below a prefix, and may be repeated.
func bulkCase(t *testing.T, f *fixture) {
	for _, tt := range []struct {
		name     string
		key, val int
		prefix   string
	}{
		{name: "small values", key: 40, val: 8},
		{name: "usual values", key: 256, val: 1 << 10},
		{name: "large values", key: 64, val: 100 << 10},
		{name: "below a prefix", key: 64, val: 64, prefix: "bulk/run-1"},
	} {
		target := f.Target()
		if target.Prefix = tt.prefix; tt.prefix != "" && !drives[database.Cleaner](f) {
			continue
		}
		f.part(t, tt.name, func(t *testing.T) { bulkPart(t, f, target, tt.key, tt.val) })
	}
}

func bulkPart(t *testing.T, f *fixture, target database.Target, keySize, valueSize int) {
	bulker := f.driver.(database.Bulker)
	pairs := make([]database.Pair, 1+bulker.BulkSize(keySize, valueSize))
	for i := range pairs {
		pairs[i].Key = fmt.Appendf(nil, "bulk-%0*d-%d", keySize-16, i, valueSize)
		pairs[i].Value = bytes.Repeat([]byte{byte('a' + i%26)}, valueSize)
	}
	ctx, cancel := context.WithTimeout(t.Context(), opWithin)
	defer cancel()
	conn, err := bulker.DialBulk(ctx, target)
	if err != nil {
		t.Fatalf("open a connection for many keys: %v", err)
	}
	before := countIfKnown(t, f, target)
	for _, some := range [][]database.Pair{pairs[1:], pairs[:min(2, len(pairs))]} { // the second has an existing key
		if err := conn.PutAll(ctx, some); err != nil {
			t.Fatalf("write %d keys of %d + %d bytes in one request: %v", len(some), keySize, valueSize, err)
		}
	}
	if err := conn.Close(); err != nil {
		t.Errorf("close the connection: %v", err)
	}
	if after := countIfKnown(t, f, target); after-before != int64(len(pairs)) && before >= 0 {
		t.Errorf("the server counts %d more keys, want %d", after-before, len(pairs))
	}
	client := f.dial(t, target)
	for _, i := range []int{0, len(pairs) / 2, len(pairs) - 1} {
		got, err := client.Get(ctx, pairs[i].Key, f.info().Reads[0])
		if err != nil || !bytes.Equal(got, pairs[i].Value) {
			t.Errorf("key %d of %d: read %d bytes, %v; want its value of %d bytes", i, len(pairs), len(got), err, valueSize)
		}
	}
}

// countIfKnown counts the keys below a prefix, which is quick everywhere. It returns -1
// without a prefix, and if the driver cannot count.
func countIfKnown(t *testing.T, f *fixture, target database.Target) int64 {
	t.Helper()
	if !drives[database.Counter](f) || target.Prefix == "" {
		return -1
	}
	return countOf(t, f, target)
}
