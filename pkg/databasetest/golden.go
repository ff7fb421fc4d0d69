package databasetest

import (
	"flag"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Golden compares got with a file in the calling package, which -update writes.
func Golden(t testing.TB, path string, got []byte) {
	t.Helper()
	if update := flag.Lookup("update"); update != nil && update.Value.String() == "true" {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatalf("write file: %v", err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (-update writes it)", err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s differs, - is the file, + is now (-update rewrites it):\n%s", path, diff)
	}
}
