package scrape

import (
	"bytes"
	"math"
	"strconv"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/metric"
	"github.com/coreos/dbtester/pkg/results"
)

// wanted maps the raw names in the source to the wanted metrics.
type wanted map[string]wantedMetric

type wantedMetric struct {
	database.ReportedMetric
	kind metric.Kind
}

func newWanted(list []database.ReportedMetric) wanted {
	w := wanted{}
	for _, m := range list {
		if m.Unit == 0 {
			m.Unit = 1
		}
		w[m.Raw] = wantedMetric{m, metric.OfDatabase().Must(m.Name).Kind}
	}
	return w
}

// parsePrometheus sets the wanted metrics from Prometheus' text format. It parses only the lines of
// these metrics, because a member has about a thousand others, and a full parser takes thirty times
// as long. It skips lines it does not understand. A number with labels is a different metric from
// one without, except for the bounds of a histogram and for sums over labels.
func (w wanted) parsePrometheus(data []byte, into *results.DatabaseSample) {
	found := false
	for len(data) > 0 {
		var line []byte
		line, data, _ = bytes.Cut(data, []byte{'\n'})
		line = bytes.TrimLeft(line, " \t")
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		end := bytes.IndexAny(line, "{ \t")
		if end < 0 {
			continue
		}
		m, ok := w[string(line[:end])]
		if !ok {
			continue
		}
		rest := bytes.TrimLeft(line[end:], " \t")
		found = true
		labelled := len(rest) > 0 && rest[0] == '{'
		switch {
		case m.kind == metric.Histogram:
			addBucket(into, m, rest)
		case labelled && m.Labelled:
			m.add(into, rest)
		case len(rest) > 0 && !labelled && !m.Labelled:
			m.set(into, firstWord(rest))
		}
	}
	for name, b := range into.Histograms {
		if b.Check() != nil {
			delete(into.Histograms, name)
		}
	}
	for _, m := range w {
		if found && m.Labelled && into.Values.Get(m.Name) == metric.Unknown {
			into.Values.Set(m.Name, 0)
		}
	}
}

// addBucket adds a line such as {le="0.001"} 4 to the histogram, whose bounds ascend.
func addBucket(into *results.DatabaseSample, m wantedMetric, rest []byte) {
	bound, ok := bytes.CutPrefix(rest, []byte(`{le="`))
	if !ok {
		return
	}
	bound, count, ok := bytes.Cut(bound, []byte(`"`))
	if !ok {
		return
	}
	if count = bytes.TrimLeft(count, ", \t"); len(count) == 0 || count[0] != '}' {
		return // has other labels
	}
	b := into.Histograms[m.Name]
	le, okBound := number(bound)
	n, okCount := number(firstWord(count[1:]))
	if !okBound || !okCount {
		le, n = math.NaN(), math.NaN() // not a valid histogram
	}
	b.Bounds, b.Counts = append(b.Bounds, le*m.Unit), append(b.Counts, n)
	into.Histograms[m.Name] = b
}

// add adds a line such as {To="b"} 4 to a sum over labels.
func (m wantedMetric) add(into *results.DatabaseSample, rest []byte) {
	end := bytes.LastIndexByte(rest, '}') // the value of a label may have one
	if v, ok := counted(firstWord(rest[end+1:])); ok && end > 0 {
		into.Values.Set(m.Name, max(0, into.Values.Get(m.Name))+v*m.Unit)
	}
}

// parsePairs sets the wanted metrics from lines that have a name and a value, as ZooKeeper's mntr
// prints them.
func (w wanted) parsePairs(data []byte, into *results.DatabaseSample) {
	for line := range bytes.Lines(data) {
		name, value, ok := bytes.Cut(line, []byte{'\t'})
		if !ok {
			continue
		}
		if m, ok := w[string(name)]; ok && m.kind != metric.Histogram {
			m.set(into, bytes.TrimSpace(value))
		}
	}
}

// set sets the metric, or adds to it, if the value is a nonnegative number or one of its words.
func (m wantedMetric) set(into *results.DatabaseSample, text []byte) {
	if m.Words != nil {
		if v, ok := m.Words[string(text)]; ok {
			into.Values.Set(m.Name, v)
		}
		return
	}
	if v, ok := counted(text); ok {
		if v *= m.Unit; m.Added {
			v += max(0, into.Values.Get(m.Name))
		}
		into.Values.Set(m.Name, v)
	}
}

// counted parses a count: a number that is finite and not negative.
func counted(text []byte) (float64, bool) {
	v, ok := number(text)
	return v, ok && v >= 0 && !math.IsInf(v, 0)
}

func number(text []byte) (float64, bool) {
	v, err := strconv.ParseFloat(string(text), 64)
	return v, err == nil
}

// firstWord returns the text up to the next space or tab.
func firstWord(text []byte) []byte {
	text = bytes.TrimLeft(text, " \t")
	if end := bytes.IndexAny(text, " \t\r"); end >= 0 {
		text = text[:end]
	}
	return text
}
