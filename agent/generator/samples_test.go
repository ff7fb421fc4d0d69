package generator

import (
	"os"
	"testing"
)

// A generator that is killed leaves no file.
func TestSamplesHaveNoName(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	var s samples
	if err := s.open(); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(os.TempDir())
	if err != nil || len(left) > 0 {
		t.Errorf("the folder for temporary files has %v, %v, want nothing", left, err)
	}
	if err := s.close(); err != nil {
		t.Error(err)
	}
}
