package chart

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/coreos/dbtester/analyze/figure"
	"github.com/coreos/dbtester/pkg/config"
)

// A report shows at most twelve figures at once, each different from the others, and keeps the
// rest.
func TestMainFigures(t *testing.T) {
	d := stepped(t)
	for _, p := range config.DefaultPlots() {
		d.Plots = append(d.Plots, Plot(p))
	}
	all := d.Figures()
	var main, rest []string
	for i, f := range all {
		switch {
		case !f.Main:
			rest = append(rest, f.Name)
		case len(rest) > 0:
			t.Errorf("main figure %s, number %d, stands behind others", f.Name, i+1)
		default:
			main = append(main, f.Name)
		}
		if f.Short == "" || !strings.HasSuffix(f.Title, f.Short) {
			t.Errorf("%s has the title %q and the short one %q", f.Name, f.Title, f.Short)
		}
		for _, old := range []string{"millisecond", "Second)", "Requests/", "MiB"} {
			if text := f.X.Label + f.X.Unit + f.Y.Label + f.Y.Unit; strings.Contains(text, old) {
				t.Errorf("%s: axes %q have %q", f.Name, text, old)
			}
		}
	}
	if len(main) > mostMain || len(main) < 8 {
		t.Errorf("%d main figures: %q", len(main), main)
	}
	for _, want := range []string{"AVG-THROUGHPUT-BY-CLIENTS", "P99-BY-CLIENTS", "LATENCY-BOXES", "LATENCY-PERCENTILES", "CPU-BY-MEMBER", "FAILURES"} {
		if !slices.Contains(main, want) {
			t.Errorf("%s is not among the main figures %q", want, main)
		}
	}
	for _, never := range []string{"AVG-SECTORS-READ-DELTA", "AVG-SECTORS-WRITTEN-DELTA", "AVG-READ-BYTES-NUM-DELTA", "MAX-CPU", "AVG-CPU", "NETWORK-TRAFFIC", "AVG-VOLUNTARY-CTXT-SWITCHES", "AVG-NON-VOLUNTARY-CTXT-SWITCHES"} {
		if !slices.Contains(rest, never) {
			t.Errorf("%s is not among the figures on demand %q", never, rest)
		}
	}
}

// Heat maps, one for each database, leave room for other figures.
func TestFewHeatMapsAreMain(t *testing.T) {
	all := []figure.Figure{{Name: "OTHER"}, {Name: "AVG-LATENCY-MS"}}
	for i := range 5 {
		all = append(all, figure.Figure{Name: fmt.Sprintf("%s%d", heatName, i)})
	}
	var names []string
	for _, f := range ranked(all, nil) {
		if f.Main {
			names = append(names, f.Name)
		}
	}
	if want := []string{"AVG-LATENCY-MS", heatName + "0", heatName + "1", heatName + "2"}; !slices.Equal(names, want) {
		t.Errorf("main figures %q, want %q", names, want)
	}
}
