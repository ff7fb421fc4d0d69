package matrix

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A table has a line for each row, whatever its texts hold, and is written when its test ends.
func TestTable(t *testing.T) {
	dir := t.TempDir()
	t.Setenv(Env, dir)
	if !Whole() {
		t.Error("the whole matrix is asked for, and Whole reports that it is not")
	}
	t.Run("made", func(t *testing.T) {
		m := New(t, "kills", "Kills")
		m.Add(t, Row{Step: "load", Done: "stop", Ended: "failed: a|b\nsecond line", Next: "complete"})
		m.Add(t, Row{Step: "load", Done: "kill", Ended: strings.Repeat("x", 300), Left: "pid 7", Next: "complete"})
	})
	got, err := os.ReadFile(filepath.Join(dir, "kills.md"))
	if err != nil {
		t.Fatalf("read the table: %v", err)
	}
	want := "## Kills\n\n| step | done | how the run ended | left | the next run |\n|---|---|---|---|---|\n" +
		"| load | kill | " + strings.Repeat("x", longest) + " ... | pid 7 | complete |\n" +
		"| load | stop | failed: a\\|b | nothing | complete |\n"
	if string(got) != want {
		t.Errorf("the table is\n%s\nwant\n%s", got, want)
	}
}
