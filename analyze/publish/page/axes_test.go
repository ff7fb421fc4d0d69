package page

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/coreos/dbtester/analyze/figure"
)

// TestVerticalTitles shows figures whose vertical axes have long titles, on the first screen and
// below it: each line in a title lies beside its plot, and left of its tick labels. If a word is
// longer than its panel on the first screen is high, it uses the gap above.
func TestVerticalTitles(t *testing.T) {
	p := pageOf()
	p.Figures = nil
	for i, title := range []string{"From the sending of a write", "Changes that came to a watcher", "Latency", "Time until all that was written before had come"} {
		f := figure.Figure{
			Name: fmt.Sprintf("TITLE-%d", i), Title: "Titles", Kind: figure.Points, X: figure.Axis{Label: "Writes"}, Y: figure.Axis{Label: title, Unit: "ms"}, Main: true,
			Series: []figure.Series{{Name: "etcd", X: []float64{1, 2, 3}, Y: []float64{900, 8000, 20000}}},
		}
		p.Figures = append(p.Figures, Figure{Figure: f})
		f.Name, f.Panels = fmt.Sprintf("PANELS-%d", i), []string{"etcd", "consul"}
		f.PanelY = []figure.Axis{{Label: "Throughput", Unit: "requests/s"}, {Label: "p99", Unit: "ms"}}
		f.Series = append(f.Series, figure.Series{Name: "consul", Panel: 1, X: []float64{1, 2, 3}, Y: []float64{9, 8, 2}})
		p.Figures = append(p.Figures, Figure{Figure: f})
	}
	path := filepath.Join(t.TempDir(), "report.html")
	if err := os.WriteFile(path, []byte(written(t, p)), 0o644); err != nil {
		t.Fatalf("write the page: %v", err)
	}
	b := newBrowser(t)
	l := live{t, b}
	for _, size := range [][2]int{{1440, 800}, {1440, 500}, {820, 900}, {390, 844}} {
		b.size(size[0], size[1])
		b.open(path)
		name := fmt.Sprintf("at %d x %d: ", size[0], size[1])
		l.want(name+"figures without a title of the vertical axis", `[...document.querySelectorAll('.live')].filter(c => !c.querySelector('text.upward')).length`, 0.0)
		l.want(name+"titles that are cut", `[...document.querySelectorAll('.live > svg')].flatMap(s => {
			const plots = [...s.querySelectorAll(':scope > path.grid')].map(p => p.getBoundingClientRect()), ticks = [...s.querySelectorAll('text[text-anchor=end]')].map(t => t.getBoundingClientRect().left);
			const top = Math.min(...plots.map(p => p.top)), bottom = Math.max(...plots.map(p => p.bottom)), left = s.getBoundingClientRect().left, slack = s.querySelector('.panel') ? 8 : 1;
			return [...s.querySelectorAll('text.upward')].filter(t => {
				const r = t.getBoundingClientRect();
				return r.top < top - slack || r.bottom > bottom + slack || r.left < left - 1 || r.right > Math.min(...ticks) + 1;
			}).map(t => t.textContent);
		}).join()`, "")
	}
}

// TestMeasuredPlaces: the places of measured points have no ticks of their own, as in pictures;
// whole ones and those with names have.
func TestMeasuredPlaces(t *testing.T) {
	p := pageOf()
	p.Figures = nil
	for _, f := range []figure.Figure{
		{Name: "MEASURED", X: figure.Axis{Label: "Writes"}, Series: []figure.Series{{Name: "etcd", X: []float64{1000.9, 2500, 8435}}}},
		{Name: "WHOLE", X: figure.Axis{Label: "Writes"}, Series: []figure.Series{{Name: "etcd", X: []float64{1001, 2500, 8435}}}},
		{Name: "NAMED", X: figure.Axis{Label: "Writes", Names: map[float64]string{0.5: "none"}}, Series: []figure.Series{{Name: "etcd", X: []float64{0.5, 2500, 8435}}}},
	} {
		f.Kind, f.Title, f.Y, f.Series[0].Y = figure.Points, f.Name, figure.Axis{Label: "Rate"}, []float64{1, 2, 3}
		p.Figures = append(p.Figures, Figure{Figure: f})
		p.Figures[len(p.Figures)-1].Main = true
	}
	path := filepath.Join(t.TempDir(), "report.html")
	if err := os.WriteFile(path, []byte(written(t, p)), 0o644); err != nil {
		t.Fatalf("write the page: %v", err)
	}
	b := newBrowser(t)
	b.size(1440, 800)
	b.open(path)
	l := live{t, b}
	for name, want := range map[string]string{"measured": "0 2,000 4,000 6,000 8,000", "whole": "1,001 2,500 8,435", "named": "none 2,500 8,435"} {
		l.want("ticks of "+name+" places", fmt.Sprintf(`[...document.querySelectorAll('#figure-%s .live > svg > text[text-anchor=middle]:not(.upward)')].map(t => t.textContent).filter(t => t !== 'Writes').join(' ')`, name), want)
	}
}
