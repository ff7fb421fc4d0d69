package all

import (
	"testing"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/yamlfile"
)

// The static limit for values equals the limit with default options, under a key of the default
// size.
func TestMaxValueOfDefaults(t *testing.T) {
	const keySize = 256
	for _, db := range Registry().All() {
		if l, ok := db.New().(database.Limiter); ok && l.MaxValue(keySize) != db.Info.MaxValue {
			t.Errorf("%s: default options take %d bytes, Info.MaxValue is %d", db.Name, l.MaxValue(keySize), db.Info.MaxValue)
		}
	}
}

// Options make values larger and smaller.
func TestMaxValueOfOptions(t *testing.T) {
	for _, tt := range []struct {
		database, options string
		keySize, want     int
	}{
		{"consul", "kv_max_value_size: 4000000", 256, 4_000_000},
		{"consul", "kv_max_value_size: 1000", 256, 1000},
		{"zookeeper", "jute_max_buffer: 33554432", 256, 33554432 - 47 - 5 - 256},
		{"zookeeper", "jute_max_buffer: 4096", 5000, 0},
		{"etcd", "flags: [--max-request-bytes=1000000]", 256, 1_000_000 - 14 - 4 - 3 - 4 - 256},
		{"zetcd", "flags: [--max-request-bytes=1000000]", 256, 1_000_000 - 14 - 4 - 3 - 4 - 256},
		{"cetcd", "flags: [--max-request-bytes=100000]", 256, 100_000 - 14 - 4 - 3 - 4 - 256 - 10},
		{"cetcd", "flags: [--max-request-bytes=10000000]", 256, 512 << 10},
		{"cetcd", "flags: [--max-request-bytes=100]", 256, 0},
	} {
		db, err := Registry().Get(tt.database)
		if err != nil {
			t.Fatalf("get: %v", err)
		}
		driver := db.New()
		if err := yamlfile.DecodeOptions([]byte(tt.options), driver); err != nil {
			t.Fatalf("decode options: %v", err)
		}
		if got := driver.(database.Limiter).MaxValue(tt.keySize); got != tt.want {
			t.Errorf("%s with %s: %d bytes, want %d", tt.database, tt.options, got, tt.want)
		}
	}
}
