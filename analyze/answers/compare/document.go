package compare

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/coreos/dbtester/analyze/abilities"
	"github.com/coreos/dbtester/pkg/files/openjson"
	"github.com/coreos/dbtester/pkg/stats/abtest"
)

// document is the report as JSON. Shares and changes are in percent; a bound or p-value that does
// not exist is null.
type document struct {
	Verdict       string         `json:"verdict"`
	Sentence      string         `json:"sentence"`
	Interleaved   bool           `json:"interleaved"`
	Alpha         float64        `json:"alpha"`
	MarginPercent float64        `json:"margin_percent"`
	Differences   []string       `json:"differences"`
	Invalid       []string       `json:"invalid"`
	Marks         []Marked       `json:"marks"`
	Notes         []string       `json:"notes"`
	A             []documentRun  `json:"a"`
	B             []documentRun  `json:"b"`
	Metrics       []documentLine `json:"metrics"`
	// others are the comparisons by abilities, each with its own key.
	others []*abilities.Comparison
}

// MarshalJSON encodes a document with the comparisons by abilities.
func (d document) MarshalJSON() ([]byte, error) {
	type plain document
	others := map[string]json.RawMessage{}
	for _, c := range d.others {
		data, err := openjson.Encode(c.Document)
		if err != nil {
			return nil, fmt.Errorf("encode %s: %w", c.Key, err)
		}
		others[c.Key] = data
	}
	return openjson.Marshal(plain(d), others)
}

type documentRun struct {
	Folder    string    `json:"folder"`
	Tag       string    `json:"tag"`
	LoadStart time.Time `json:"load_start"`
}

type documentLine struct {
	Name           string         `json:"name"`
	Unit           string         `json:"unit"`
	HigherIsBetter bool           `json:"higher_is_better"`
	Decides        bool           `json:"decides"`
	Verdict        abtest.Verdict `json:"verdict,omitempty"`
	A              []float64      `json:"a"`
	B              []float64      `json:"b"`
	MedianA        float64        `json:"median_a"`
	MedianB        float64        `json:"median_b"`
	ChangePercent  *float64       `json:"change_percent"`
	LowPercent     *float64       `json:"low_percent"`
	HighPercent    *float64       `json:"high_percent"`
	P              *float64       `json:"p"`
	PHolm          *float64       `json:"p_holm"`
	PMargin        *float64       `json:"p_margin"`
	More           int            `json:"more_needed,omitempty"`
	// Reach is the margin that these runs can decide, if the machine is too noisy for the requested
	// margin.
	Reach *float64 `json:"decidable_margin_percent,omitempty"`
}

// finite returns a pointer to v, or nil for numbers that JSON cannot represent.
func finite(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

func (r *Report) document() document {
	d := document{
		Verdict: r.Word(), Sentence: r.Sentence(), Interleaved: r.Interleaved, Alpha: Alpha, MarginPercent: 100 * r.Margin,
		Differences: nonNil(r.Differences), Invalid: nonNil(r.Invalid), Marks: append([]Marked{}, r.Marks...), Notes: nonNil(r.Notes), Metrics: []documentLine{}, others: r.others,
	}
	for _, one := range r.A.Runs {
		d.A = append(d.A, documentRun{one.Folder, one.Run.Info.Record.Tag, one.Run.Info.Record.LoadStart})
	}
	for _, one := range r.B.Runs {
		d.B = append(d.B, documentRun{one.Folder, one.Run.Info.Record.Tag, one.Run.Info.Record.LoadStart})
	}
	for i, f := range r.Findings {
		one := &r.rows[i]
		d.Metrics = append(d.Metrics, documentLine{
			Name: f.Name, Unit: one.unit, HigherIsBetter: f.HigherIsBetter, Decides: f.Decides, Verdict: f.Verdict,
			A: one.a.list(), B: one.b.list(), MedianA: one.a.median(), MedianB: one.b.median(),
			ChangePercent: finite(Percent(f.Shift)), LowPercent: boundPercent(f.Low), HighPercent: boundPercent(f.High),
			P: finite(f.P), PHolm: finite(f.Adjusted), PMargin: finite(f.Outside), More: f.More,
		})
		if f.Reach > 0 {
			d.Metrics[i].Reach = finite(100 * f.Reach)
		}
	}
	return d
}

// boundPercent returns nil for an infinite bound.
func boundPercent(shift float64) *float64 {
	if math.IsInf(shift, 0) {
		return nil
	}
	return finite(Percent(shift))
}

func nonNil(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

// JSON returns the report as JSON.
func (r *Report) JSON() (string, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(r.document()); err != nil {
		return "", fmt.Errorf("encode json: %w", err)
	}
	return b.String(), nil
}

// CSV returns the report as CSV, one line per metric.
func (r *Report) CSV() (string, error) {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	lines := [][]string{{"METRIC", "UNIT", "DECIDES", "MEDIAN-A", "MEDIAN-B", "CHANGE-PERCENT", "LOW-PERCENT", "HIGH-PERCENT", "P", "P-HOLM", "P-MARGIN", "VERDICT", "MORE-NEEDED", "MARKS"}}
	var marks []string
	for _, m := range r.Marks {
		marks = append(marks, m.String())
	}
	for _, m := range r.document().Metrics {
		text := func(v *float64) string {
			if v == nil {
				return ""
			}
			return fmt.Sprint(*v)
		}
		lines = append(lines, []string{m.Name, m.Unit, fmt.Sprint(m.Decides), fmt.Sprint(m.MedianA), fmt.Sprint(m.MedianB),
			text(m.ChangePercent), text(m.LowPercent), text(m.HighPercent), text(m.P), text(m.PHolm), text(m.PMargin), string(m.Verdict), fmt.Sprint(m.More), strings.Join(marks, "; ")})
	}
	if err := w.WriteAll(lines); err != nil {
		return "", fmt.Errorf("encode csv: %w", err)
	}
	return b.String(), nil
}

// Benchstat returns the values from all runs in Go's benchmark format, one line per run and step:
// `benchstat -col side FILE` compares them.
func (r *Report) Benchstat() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Unit requests/s better=higher\n")
	for _, s := range []Side{r.A, r.B} {
		fmt.Fprintf(&b, "side: %s\n", s.Name)
		for _, one := range s.Runs {
			for i := range r.rows {
				m := &r.rows[i]
				if i == 0 || m.label != r.rows[i-1].label {
					fmt.Fprintf(&b, "%sBenchmarkLoad%s 1", strings.Repeat("\n", min(i, 1)), benchstatName(m.label))
				}
				column, unit := m.a, m.unit
				if s.Name == r.B.Name {
					column = m.b
				}
				if unit == "ms" {
					unit = m.definition.name + "-ms"
				}
				fmt.Fprintf(&b, " %g %s", column.values[one.Run], unit)
			}
			fmt.Fprintln(&b)
		}
	}
	return b.String()
}

// benchstatName makes a step label usable in a benchmark name.
func benchstatName(label string) string {
	if label == "" {
		return ""
	}
	return "/" + strings.ReplaceAll(label, " ", "_")
}
