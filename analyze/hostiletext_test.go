package analyze

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coreos/dbtester/analyze/runtest"
	"github.com/coreos/dbtester/pkg/results"
)

// Text of a manifest reaches terminals through the table, and browsers through README.md.
func TestHostileText(t *testing.T) {
	f := runtest.NewFixture(t, filepath.Join(t.TempDir(), "run"))
	record := f.Database("etcd-v3.6", 2*time.Millisecond)
	f.M.Title = "<img src=x onerror=alert(1)> ![x](http://evil)"
	record.Validity = []results.Mark{{Code: "other", Text: "\x1b[2J ``` <b>"}}
	d, err := newDocument(t.Context(), Options{Folders: []string{f.Write()}})
	if err != nil {
		t.Fatal(err)
	}
	if text := d.Text(); strings.Contains(text, "\x1b") || !strings.Contains(text, `\x1b[2J`) {
		t.Errorf("the table has a terminal escape:\n%s", text)
	}
	readme := d.markdown()
	for _, bad := range []string{"<img", "![x](http", "\x1b"} {
		if strings.Contains(readme, bad) {
			t.Errorf("README.md has %q", bad)
		}
	}
	if n := strings.Count(readme, "```"); n%2 != 0 || strings.Contains(d.markdown(), "``` <b>") {
		t.Errorf("a mark ends the code block that it is in (%d fences)", n)
	}
}
