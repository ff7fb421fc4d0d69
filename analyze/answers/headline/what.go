package headline

import (
	"fmt"
	"slices"
	"strings"

	"github.com/coreos/dbtester/analyze/answers"
	"github.com/coreos/dbtester/analyze/run"
)

// whatOf describes the members, the load, the trials and the date in one line.
func whatOf(columns []answers.Column) string {
	first := columns[0].Runs[0]
	same := func(of func(*run.Run) string) string {
		text := of(first)
		for _, c := range columns {
			if of(c.Runs[0]) != text {
				return ""
			}
		}
		return text
	}
	parts := []string{
		same(func(r *run.Run) string {
			if n := len(r.Info.Record.Members); n > 0 {
				return fmt.Sprintf("%d member%s", n, run.Plural(n))
			}
			return ""
		}),
		same(func(r *run.Run) string { return r.Info.Record.Load.Describe() }),
		same(payloadText),
		trialsText(columns),
	}
	if m := first.Info.Manifest; m != nil && !m.Started.IsZero() {
		parts = append(parts, m.Started.UTC().Format("2006-01-02"))
	}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), " · ")
}

// payloadText formats key and value sizes.
func payloadText(r *run.Run) string {
	l := r.Info.Record.Load
	switch {
	case l.KeySize == 0:
		return ""
	case l.ValueSizeMax > l.ValueSize:
		return fmt.Sprintf("keys of %d bytes, values of %d to %d", l.KeySize, l.ValueSize, l.ValueSizeMax)
	case l.ValueSize == 0:
		return fmt.Sprintf("keys of %d bytes", l.KeySize)
	}
	return fmt.Sprintf("keys of %d bytes, values of %d", l.KeySize, l.ValueSize)
}

func trialsText(columns []answers.Column) string {
	switch most := mostTrials(columns); {
	case most == 1 && len(columns) == 1:
		return "one run"
	case most == 1:
		return "one run each"
	case len(columns) == 1:
		return fmt.Sprintf("%d trials", most)
	default:
		return fmt.Sprintf("%d trials each", most)
	}
}
