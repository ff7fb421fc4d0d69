package submission

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/coreos/dbtester/pkg/files/pattern"
	"github.com/coreos/dbtester/pkg/process/logfile"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/results/declared"
	"github.com/coreos/dbtester/pkg/results/logrule"
)

// columns maps column names to treatments. Cells in other columns are treated as text.
var columns = map[string]treatment{
	"BOOT-ID": asMachine, "NETWORK-NAMESPACE": asNetwork, "DEVICE": asDevice, "DATABASE-ENDPOINT": asAddress,
	"CGROUP":  func(n *names, s string) string { return n.of(kindPath, s) },
	"PROGRAM": asWord, "STATE": asWord, "INTERFACE": asWord,
	"phase": asWord, "operation": asWord, "class": asWord, "kind": asWord, "outcome": asWord, "end": asWord,
}

// closed lists columns with a fixed set of texts.
var closed = []string{"phase", "operation", "class", "outcome", "end"}

// table treats a CSV file.
func (p *packer) table(data []byte) ([]byte, error) {
	r := csv.NewReader(bytes.NewReader(data))
	r.FieldsPerRecord, r.ReuseRecord = -1, true
	var out bytes.Buffer
	w := csv.NewWriter(&out)
	header, err := r.Read()
	if errors.Is(err, io.EOF) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	header = slices.Clone(header) // the reader reuses its memory
	for i, name := range header {
		if !columnName().MatchString(name) {
			return nil, fmt.Errorf("column %d has no name of a column", i+1)
		}
	}
	if err := w.Write(header); err != nil {
		return nil, err
	}
	seen := map[string]string{} // treated cells by column and text
	for {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		for i, cell := range row {
			if !plain(cell) {
				column := nameOf(header, i)
				if row[i] = p.cell(seen, column, cell); row[i] != cell && slices.Contains(closed, column) {
					return nil, fmt.Errorf("the %s %q is also the name of a machine or a user, or is hidden: without it the record could not be read", column, cell)
				}
			}
		}
		if err := w.Write(row); err != nil {
			return nil, err
		}
	}
	w.Flush()
	return out.Bytes(), w.Error()
}

// columnName matches valid column names.
var columnName = pattern.New(`^[A-Za-z][A-Za-z0-9_()/.-]{0,60}$`)

// nameOf returns the name of a column, or "".
func nameOf(header []string, i int) string {
	if i < len(header) {
		return header[i]
	}
	return ""
}

// cell treats a cell; seen caches the results.
func (p *packer) cell(seen map[string]string, column, cell string) string {
	key := column + "\x00" + cell
	treated, known := seen[key]
	if !known {
		treat := columns[column]
		if treat == nil {
			treat = asText
		}
		treated = treat(p.names, cell)
		seen[key] = treated
	}
	return treated
}

// histogramLine matches a line in a histogram log.
var histogramLine = pattern.New(`^(?:Tag=[A-Za-z0-9:+_-]*,)?[0-9.]+,[0-9.]+,[0-9.]+,[A-Za-z0-9+/=]+$`)

// histograms treats a histogram log, whose lines have one of three forms.
func (p *packer) histograms(data []byte) ([]byte, error) {
	var out bytes.Buffer
	n := 0
	for line := range strings.Lines(string(data)) {
		n++
		text := strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(text, "#"):
			text = p.names.text(text)
		case strings.HasPrefix(text, `"StartTimestamp"`), histogramLine().MatchString(text):
		default:
			return nil, fmt.Errorf("line %d is no line of a log of histograms", n)
		}
		out.WriteString(text + "\n")
	}
	return out.Bytes(), nil
}

// events treats an event file, with one JSON object per line.
func (p *packer) events(data []byte) ([]byte, error) {
	var out bytes.Buffer
	n := 0
	for line := range strings.Lines(string(data)) {
		n++
		event, err := p.scrubJSON([]byte(line))
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		text, err := json.Marshal(event)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		out.Write(append(text, '\n'))
	}
	return out.Bytes(), nil
}

// log reduces a member log to the parts that match the driver's rules. Reports count these events
// and read nothing else.
func (p *packer) log(record *results.DatabaseRun, data []byte) ([]byte, error) {
	rules, err := compileRules(record.LogRules)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	lines := bufio.NewReaderSize(bytes.NewReader(data), 16<<10) // as logrule reads lines
	for {
		line, more, err := lines.ReadLine()
		if errors.Is(err, io.EOF) {
			return out.Bytes(), nil
		}
		if err != nil {
			return nil, err
		}
		if _, cut := logfile.ParseCut(line); cut {
			out.Write(append(slices.Clone(line), '\n'))
		} else if found := rules.all.Match(line); len(found) > 0 {
			if reduced := p.names.text(rules.matched(line)); slices.Equal(rules.all.Match([]byte(reduced)), found) {
				out.WriteString(reduced + "\n")
			} else {
				p.lostLines[string(line)] = true
			}
		}
		for more && err == nil { // discard the rest of a long line
			_, more, err = lines.ReadLine()
		}
	}
}

// logRules are a driver's rules, compiled together, and their expressions one by one.
type logRules struct {
	all   *logrule.Matcher
	parts [][2]*regexp.Regexp // pattern and value; the value may be nil
}

// compileRules leaves out invalid rules, as reports do.
func compileRules(rules []declared.LogRule) (logRules, error) {
	var c logRules
	var good []declared.LogRule
	for _, r := range rules {
		if _, err := logrule.Compile([]declared.LogRule{r}, nil); err != nil {
			continue
		}
		good = append(good, r)
		part := [2]*regexp.Regexp{regexp.MustCompile(r.Pattern)}
		if r.Value != "" {
			part[1] = regexp.MustCompile(r.Value)
		}
		c.parts = append(c.parts, part)
	}
	var err error
	c.all, err = logrule.Compile(good, nil)
	return c, err
}

// matched returns only the parts of a line that rules match.
func (c logRules) matched(line []byte) string {
	var parts []string
	for _, one := range c.parts {
		if !one[0].Match(line) {
			continue
		}
		parts = append(parts, string(one[0].Find(line)))
		if one[1] != nil {
			if value := one[1].Find(line); value != nil {
				parts = append(parts, string(value))
			}
		}
	}
	return strings.Join(slices.Compact(parts), " ")
}

// treat returns the packed contents of a file, according to its form.
func (p *packer) treat(f form, record *results.DatabaseRun, data []byte) ([]byte, error) {
	switch f {
	case formTable:
		return p.table(data)
	case formHistograms:
		return p.histograms(data)
	case formEvents:
		return p.events(data)
	case formLog:
		return p.log(record, data)
	}
	return nil, fmt.Errorf("no form %q of a file", f)
}
