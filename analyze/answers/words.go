package answers

import (
	"fmt"
	"strings"

	"github.com/dustin/go-humanize/english"

	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/analyze/table"
)

// names joins names: "A", "A and B", "A, B and C".
func names(list []string) string { return english.WordSeries(list, "and") }

// requestsOf names the requests in a load in the plural: "writes".
func requestsOf(r *run.Run) string {
	l := r.Info.Record.Load
	if len(l.Mix) > 0 || l.Operation == "" || !l.Operation.Known() {
		return "requests"
	}
	return fmt.Sprintf("%ss", l.Operation)
}

// requests names the requests in all columns.
func (s *screen) requests() string {
	what := requestsOf(s.columns[0].Runs[0])
	if !s.every(func(r *run.Run) bool { return requestsOf(r) == what }) {
		return "requests"
	}
	return what
}

// times formats a ratio: "1.6 times as many".
func times(ratio float64, as string) string {
	return fmt.Sprintf("%s times as %s", table.Ratio(ratio), as)
}

// change formats a ratio as a change: "18 % more", "2.2 times as many".
func change(ratio float64, more, less, many string) string {
	switch percent := 100 * (ratio - 1); {
	case ratio >= 2:
		return times(ratio, many)
	case percent >= .5:
		return fmt.Sprintf("%.0f %% %s", percent, more)
	case percent <= -.5:
		return fmt.Sprintf("%.0f %% %s", -percent, less)
	}
	return "as " + many
}

// clients formats a client count: "1,000 clients".
func clients(n int) string {
	return fmt.Sprintf("%s client%s", table.Count(int64(n)), run.Plural(n))
}

// pointText names a point in a load within a sentence.
func pointText(g *run.Stage) string {
	if g.Label == run.ClientsText(g.Clients) {
		return clients(g.Clients)
	}
	return g.Label
}

// capital capitalizes the first letter.
func capital(text string) string {
	if text == "" {
		return text
	}
	return strings.ToUpper(text[:1]) + text[1:]
}
