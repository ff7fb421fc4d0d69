package all

import (
	"strings"
	"testing"
)

// Versions that plans do not support are refused, and the error names the first supported
// one.
func TestOldVersions(t *testing.T) {
	for name, tt := range map[string]struct{ old, oldest string }{
		"etcd":      {"v3.3.27", "3.4.0"},
		"cetcd":     {"3.3.0", "3.4.0"},
		"zookeeper": {"r3.3.6", "3.4.0"},
		"consul":    {"v1.0.2", "1.14.0"},
	} {
		db, err := Registry().Get(name)
		if err != nil {
			t.Fatalf("get: %v", err)
		}
		if _, err := db.Recipes(tt.old); err == nil || !strings.Contains(err.Error(), "is too old") || !strings.Contains(err.Error(), "from "+tt.oldest+" on") {
			t.Errorf("%s %s: %v", name, tt.old, err)
		}
		if recipes, err := db.Recipes(tt.oldest); err != nil || len(recipes) == 0 {
			t.Errorf("%s %s: %d recipes, %v", name, tt.oldest, len(recipes), err)
		}
	}
}
