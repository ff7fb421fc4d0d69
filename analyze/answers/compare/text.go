package compare

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"

	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/analyze/table"
	"github.com/coreos/dbtester/pkg/files/plaintext"
	"github.com/coreos/dbtester/pkg/stats/abtest"
)

// Invalid is the word for a comparison without a verdict.
const Invalid = "invalid"

// Word returns the verdict, or [Invalid] if a run is invalid.
func (r *Report) Word() string {
	if len(r.Invalid) > 0 {
		return Invalid
	}
	return string(r.Verdict)
}

// Sentence states the verdict with the metrics that decided it.
func (r *Report) Sentence() string {
	var parts []string
	for _, f := range r.Findings {
		if f.Verdict == r.Verdict {
			parts = append(parts, f.Name+" "+changeText(&f))
		}
	}
	because := ""
	if len(parts) > 0 {
		because = ": " + strings.Join(parts, ", ")
	}
	switch r.Word() {
	case Invalid:
		return "There is no verdict: a run is not valid."
	case string(abtest.Inconclusive):
		return "It is not known whether B differs from A" + because + r.moreText() + "."
	case string(abtest.Equivalent):
		return fmt.Sprintf("B is equivalent to A within %s%s.", percentText(100*r.Margin), because)
	}
	return fmt.Sprintf("B is %s than A%s.", r.Verdict, because)
}

// moreText states the number of further runs needed, or that no reasonable number would decide; ""
// if unknown.
func (r *Report) moreText() string {
	more, reach, size, few := 0, 0.0, 0, false
	for _, f := range r.Findings {
		few = few || f.Verdict == abtest.Inconclusive && f.Sample.Size() < abtest.MinPlan
		more = max(more, f.More)
		if f.Reach > reach {
			reach, size = f.Reach, f.Sample.Size()
		}
	}
	kind := "runs of each"
	if r.Interleaved {
		kind = "pairs"
	}
	switch {
	case reach > 0:
		return fmt.Sprintf("; the machine is too noisy for a margin of %s, which would take more than %d %s to decide: these %d can decide a margin of %s", percentText(100*r.Margin), abtest.MaxGroup, kind, size, percentText(round(100*reach)))
	case more > 0:
		return fmt.Sprintf("; about %d more %s would be enough to decide", more, kind)
	case few:
		return fmt.Sprintf("; at least %d %s are needed to estimate how many would be enough", abtest.MinPlan, kind)
	}
	return ""
}

// changeText formats a change in percent with its interval.
func changeText(f *abtest.Finding) string {
	return fmt.Sprintf("%s %s", signed(f.Shift), intervalText(f))
}

func intervalText(f *abtest.Finding) string {
	if math.IsInf(f.Low, 0) || math.IsInf(f.High, 0) {
		return "[too few runs]"
	}
	return fmt.Sprintf("[%s .. %s]", strings.TrimSuffix(signed(f.Low), " %"), signed(f.High))
}

func pText(p float64) string {
	switch {
	case math.IsNaN(p):
		return ""
	case p < .0001:
		return "< 0.0001"
	}
	return fmt.Sprintf("%.4f", p)
}

// header names the columns in lines.
func header() []string {
	return []string{"metric", "A", "B", "change", "95 % interval", "p (Holm)", "p (margin)", "verdict"}
}

// lines formats the metrics, one row each.
func (r *Report) lines() (out [][]string) {
	for i, f := range r.Findings {
		one := &r.rows[i]
		verdict := string(f.Verdict)
		if verdict == "" {
			verdict = "(shown only)"
		}
		out = append(out, []string{fmt.Sprintf("%s, %s", f.Name, one.unit), number(one.a.median()), number(one.b.median()),
			signed(f.Shift), intervalText(&f), pText(f.Adjusted), pText(f.Outside), verdict})
	}
	return out
}

// legend explains the columns in lines.
func (r *Report) legend() string {
	how := "of two groups: exact rank sums"
	if r.Interleaved {
		how = "within pairs: exact signed ranks"
	}
	return fmt.Sprintf("A and B are medians of runs; change is the Hodges-Lehmann estimate of B/A - 1 from logarithms %s. p (Holm) is the chance of such a difference between equal sides, over all deciding metrics; p (margin) is the chance of such a small difference if the sides differed by %s. Each counts if it is at most %g.", how, percentText(100*r.Margin), Alpha)
}

// sides lists the runs on both sides.
func (r *Report) sides() (out []string) {
	for _, s := range []Side{r.A, r.B} {
		var names []string
		for _, one := range s.Runs {
			names = append(names, filepath.Base(one.Folder))
		}
		first := s.Runs[0].Run.Info.Record
		out = append(out, fmt.Sprintf("%s: %s, %d run%s: %s", s.Name, first.Tag, len(s.Runs), run.Plural(len(s.Runs)), strings.Join(names, ", ")))
	}
	return out
}

// differenceLines lists the settings that differ, or states that no difference is known.
func (r *Report) differenceLines() []string {
	if len(r.Differences) == 0 {
		return []string{"no recorded setting"}
	}
	return r.Differences
}

// Text formats the report for a terminal.
func (r *Report) Text() string {
	var b strings.Builder
	for _, s := range r.sides() {
		fmt.Fprintln(&b, s)
	}
	fmt.Fprintln(&b, "differing:")
	for _, d := range r.differenceLines() {
		fmt.Fprintf(&b, "  %s\n", d)
	}
	fmt.Fprintf(&b, "\n%s\n\n%s", r.Sentence(), table.Frame(header(), [][][]string{r.lines()}))
	fmt.Fprintf(&b, "\n%s\n", r.legend())
	for _, c := range r.others {
		fmt.Fprintf(&b, "\n%s\n%s\n\n", table.Frame(otherHeader(c), [][][]string{otherLines(c)}), c.Legend)
	}
	for _, m := range r.Invalid {
		fmt.Fprintf(&b, "INVALID %s\n", m)
	}
	for _, m := range r.Marks {
		fmt.Fprintf(&b, "marked %s\n", m)
	}
	for _, n := range r.Notes {
		fmt.Fprintf(&b, "note: %s\n", n)
	}
	return plaintext.Visible(b.String())
}

// Markdown formats the report for a pull request.
func (r *Report) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "### Compare: %s\n\n%s\n\n", r.Word(), plaintext.Markdown(r.Sentence()))
	for _, s := range r.sides() {
		fmt.Fprintf(&b, "- %s\n", plaintext.Markdown(s))
	}
	for _, d := range r.differenceLines() {
		fmt.Fprintf(&b, "- differing: %s\n", plaintext.Markdown(d))
	}
	b.WriteString("\n" + plaintext.Table(header(), r.lines(), len(header())))
	fmt.Fprintf(&b, "\n%s\n", plaintext.Markdown(r.legend()))
	for _, c := range r.others {
		b.WriteString("\n" + plaintext.Table(otherHeader(c), otherLines(c), len(otherHeader(c))))
		fmt.Fprintf(&b, "\n%s\n", plaintext.Markdown(c.Legend))
	}
	for _, m := range r.Invalid {
		fmt.Fprintf(&b, "- INVALID %s\n", plaintext.Markdown(m))
	}
	for _, m := range r.Marks {
		fmt.Fprintf(&b, "- marked %s\n", plaintext.Markdown(m.String()))
	}
	for _, n := range r.Notes {
		fmt.Fprintf(&b, "- %s\n", plaintext.Markdown(n))
	}
	return b.String()
}
