package published

import (
	"errors"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/coreos/dbtester/analyze/publish/chromium"
	"github.com/coreos/dbtester/analyze/publish/chromium/chromiumtest"
	"github.com/coreos/dbtester/pkg/sleep/slowtest"
)

// kinds are published runs with one first screen of each kind. The others are checked with
// DBTESTER_LONG, as make reports does after it made the pages.
var kinds = []string{"all-five", "capacity", "consistency", "faults-clients", "kubernetes", "locks-fairness", "quickstart", "service-discovery", "sessions-200", "stepped", "upkeep", "watches-stores"}

// TestPublishedPages checks the first screen of published pages: at 1440 x 800 all of it is in the
// window, and at 390 nothing is wider than the window.
func TestPublishedPages(t *testing.T) {
	b := chromiumtest.Start(t, 10*time.Minute)
	all, err := filepath.Glob("../../../test-results/*/report.html")
	if err != nil || len(all) < 10 {
		t.Fatalf("%d published pages, %v", len(all), err)
	}
	checked := 0
	for _, path := range all {
		name := filepath.Base(filepath.Dir(path))
		if !slowtest.Long() && !slices.Contains(kinds, name) {
			continue
		}
		checked++
		t.Run(name, func(t *testing.T) {
			page, err := filepath.Abs(path)
			if err != nil {
				t.Fatal(err)
			}
			look := func(width, height int) {
				t.Helper()
				if err := errors.Join(b.Size(width, height), b.Open(page)); err != nil {
					t.Fatal(err)
				}
			}
			look(1440, 800)
			wantNumber(t, b, "the end of the first screen at 1440 pixels", `Math.round(document.querySelector('.low').getBoundingClientRect().bottom)`, 800+40) // where other fonts are wider, a sentence takes a line more
			wantNumber(t, b, "pictures of the first screen that are not drawn", `[...document.querySelectorAll('.lead .figure')].filter(f => !f.querySelector('.live path, .live rect')).length`, 0)
			wantNumber(t, b, "tables of the first screen that must be scrolled", `[...document.querySelectorAll('.low .wide')].filter(w => w.scrollWidth > w.clientWidth + 1).length`, 0)
			look(390, 844)
			wantNumber(t, b, "the width of the page at 390 pixels", `document.documentElement.scrollWidth`, 390)
		})
	}
	if checked < len(kinds) {
		t.Errorf("%d published pages of the kinds %v", checked, kinds)
	}
	if len(b.Console) > 0 {
		t.Errorf("the pages must report nothing, got %q", b.Console)
	}
}

// wantNumber wants an expression to be no larger than a bound.
func wantNumber(t *testing.T, b *chromium.Browser, what, expression string, most float64) {
	t.Helper()
	value, err := b.Eval(expression)
	if err != nil {
		t.Fatal(err)
	}
	if got, ok := value.(float64); !ok || got > most {
		t.Errorf("%s: want at most %v, got %v", what, most, value)
	}
}
