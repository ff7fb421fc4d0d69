package figure

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/plot/vg"
)

// declaredTitles are the titles on all axes that the program declares: the literals of Axis in the
// reports, and the axes in plots.
func declaredTitles(t *testing.T) (titles []string) {
	t.Helper()
	for _, root := range []string{"..", "../../pkg/metric", "../../pkg/config"} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if literal, is := n.(*ast.CompositeLit); is {
					titles = append(titles, titlesOf(literal)...)
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(titles)
	return slices.Compact(titles)
}

// titlesOf returns the axis titles in a literal: an Axis, or a plot that has one as a text.
func titlesOf(literal *ast.CompositeLit) (titles []string) {
	fields := map[string]string{}
	for _, e := range literal.Elts {
		pair, is := e.(*ast.KeyValueExpr)
		if !is {
			continue
		}
		name, named := pair.Key.(*ast.Ident)
		value, plain := pair.Value.(*ast.BasicLit)
		if named && plain && value.Kind == token.STRING {
			if text, err := strconv.Unquote(value.Value); err == nil {
				fields[name.Name] = text
			}
		}
	}
	if of, is := literal.Type.(*ast.SelectorExpr); is && of.Sel.Name == "Axis" {
		titles = append(titles, Axis{Label: fields["Label"], Unit: fields["Unit"]}.title())
	}
	for _, name := range []string{"Axis", "YAxis"} {
		titles = append(titles, fields[name])
	}
	return slices.DeleteFunc(titles, func(title string) bool { return title == "" })
}

// low returns figures whose plots are as low as possible, with a title on the vertical axis: a
// single plot, panels with one axis, and panels with an axis each.
func low(title string) []Figure {
	single := Figure{Name: "LOW", Title: "Low", Y: Axis{Label: title}, X: Axis{Label: "Time"}}
	for i := range 18 {
		single.Series = append(single.Series, Series{Name: fmt.Sprintf("a database with a long name, statistic %d", i), Key: i + 1, X: []float64{0, 1}, Y: []float64{0, 1000}})
	}
	common := single
	common.Series = slices.Clone(single.Series)
	for i := range common.Series {
		common.Panels = append(common.Panels, fmt.Sprintf("panel %d", i))
		common.Series[i].Panel = i
	}
	one := common
	one.Panels = common.Panels[:1]
	one.Series = common.Series[:1]
	each := common
	each.Y = Axis{}
	for range each.Panels {
		each.PanelY = append(each.PanelY, Axis{Label: title})
	}
	each.PanelY[3].Label = "p99"
	return []Figure{single, common, one, each}
}

// Titles on vertical axes fit beside their plots, and have all their words: those that the program
// declares, and any others.
func TestTitlesOfVerticalAxesFit(t *testing.T) {
	declared := declaredTitles(t)
	for _, want := range []string{"From the sending of a write (ms)", "Changes that came to a watcher (/s)", "Throughput(Requests/Second)", "Throughput (requests/s)"} {
		if !slices.Contains(declared, want) {
			t.Errorf("the program declares the axes %q, want %q among them", declared, want)
		}
	}
	for _, title := range append(declared, strings.Repeat("many words of a title ", 12), strings.Repeat("one-word-", 20)) {
		for _, f := range low(title) {
			p := layout(f)
			for i, lines := range p.axisTitles {
				plot, axis := p.plot, p.Y
				if p.PanelY != nil {
					plot, axis = p.panels[i].plot, p.PanelY[i]
				}
				widest := labelType.widest(lines)
				if widest > plot.height()+slack || len(lines) == 0 || len(lines) > mostTitleLines {
					t.Errorf("%q is %v long in %d lines beside a plot of %v", title, widest, len(lines), plot.height())
				}
				if got, want := strings.Join(strings.Fields(strings.Join(lines, " ")), ""), strings.Join(strings.Fields(axis.title()), ""); got != want {
					t.Errorf("the title has the words %q, want %q", got, want)
				}
				if room := vg.Length(len(lines))*labelType.height() + tickGap; plot.left < margin+room+tickType.width("1,000")+tickGap-slack {
					t.Errorf("%q in %d lines has the plot at %v: it runs into the labels of ticks", title, len(lines), plot.left)
				}
			}
		}
	}
}

// A title that fits has one line.
func TestShortTitleOfVerticalAxis(t *testing.T) {
	for _, f := range low("Latency (ms)") {
		if p := layout(f); len(p.axisTitles[0]) != 1 || p.leastPlot != 0 {
			t.Errorf("the title has the lines %q, want one", p.axisTitles[0])
		}
	}
}

// A title that is much too long is cut, and leaves the plot its place.
func TestEndlessTitleOfVerticalAxis(t *testing.T) {
	for _, f := range low(strings.Repeat("endless ", 10_000)) {
		if p := layout(f); len(p.axisTitles[0]) != mostTitleLines || p.plot.right-p.plot.left < p.width/2 {
			t.Errorf("the title has %d lines beside a plot that is %v wide", len(p.axisTitles[0]), p.plot.right-p.plot.left)
		}
	}
}
