package submission

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/coreos/dbtester/pkg/ability/all"
	"github.com/coreos/dbtester/pkg/ability/capacity"
	"github.com/coreos/dbtester/pkg/ability/consistency"
	"github.com/coreos/dbtester/pkg/ability/locks"
	"github.com/coreos/dbtester/pkg/ability/profile"
	"github.com/coreos/dbtester/pkg/files/pattern"
	"github.com/coreos/dbtester/pkg/observation"
	"github.com/coreos/dbtester/pkg/process/logfile"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/results/declared"
	"github.com/coreos/dbtester/pkg/results/logrule"
)

// rule defines how to pack one of a database's files. treat returns the packed contents. If treat is
// nil, the file is left out and why is the reason; without a reason, the file does not belong to a
// record.
type rule struct {
	treat func(p *packer, record *results.DatabaseRun, data []byte) ([]byte, error)
	why   string
	// log marks member logs. A log that the manifest does not list may have a private name, so it
	// gets a new one.
	log bool
}

// numbered matches the names of member files.
var numbered = pattern.New(`^\d+-(.+)$`)

// folders matches the subfolders of a database's folder that hold records.
var folders = pattern.New(`^(?:\.|` + capacity.Dir + `(?:/hold-\d+)?|` + results.DirGenerators + `/\d+|` + results.DirLogs + `|` + profile.Dir + `)$`)

// rule returns the rule for a file, by its path below the database's folder. Unknown files are left
// out.
func (p *packer) rule(file string) rule {
	dir, name := path.Dir(file), path.Base(file)
	member := ""
	if m := numbered().FindStringSubmatch(name); m != nil {
		member = m[1]
	}
	switch {
	case !folders().MatchString(dir):
		return rule{}
	case dir == results.DirLogs && member != "":
		return rule{treat: (*packer).log, log: true}
	case slices.Contains([]string{results.FileIntervals, results.FileProgress, results.FileMembers, results.FileErrors, results.FileProbes, results.FileFaults, results.FileClock,
		capacity.File, results.FileDisk, results.FileClient, locks.FileTurns}, name), member == results.FileServer, member == results.FileDatabase:
		return rule{treat: (*packer).table}
	case slices.Contains([]string{results.FileLatency, results.FileMinutes, results.FileTotal, results.FileMembersLatency}, name):
		return rule{treat: (*packer).histograms}
	case slices.ContainsFunc(observed(), func(g observation.Group) bool { return name == g.File() }):
		return rule{treat: (*packer).table}
	case slices.ContainsFunc(observed(), func(g observation.Group) bool { return name == g.Log() }):
		return rule{treat: (*packer).histograms}
	case name == results.FileEvents:
		return rule{treat: (*packer).events}
	case name == consistency.FileWitness:
		return rule{why: "requests whose answers exclude each other, which the manifest counts"}
	case name == consistency.FileHistory:
		return rule{why: "each request on a few keys, which the manifest counts"}
	case member == results.FileAgentLog, name == results.FileAgentLog:
		return rule{why: "the log of an agent"}
	case name == results.FileControlLog:
		return rule{why: "the log of control"}
	case dir == profile.Dir && member == "cpu.pprof":
		return rule{why: "a profile, which has paths"}
	case slices.Contains([]string{results.FileClassicSummary, results.FileClassicPercentile, results.FileClassicAll, results.FileClassicTimeseries,
		results.FileClassicByKey, results.FileClientInterpolated}, name), member == results.FileServerInterpolated:
		return rule{why: "analyze makes it again"}
	}
	return rule{}
}

// observed returns the groups of values that abilities observe.
func observed() (groups []observation.Group) {
	for _, a := range all.Abilities() {
		groups = append(groups, a.Observes...)
	}
	return groups
}

// unlistedName is the archive path of a member log that the manifest does not list; n counts such
// logs from 0.
func unlistedName(file string, n int) string {
	number, _, _ := strings.Cut(path.Base(file), "-")
	return fmt.Sprintf("%s/%s-unlisted-%d.log", results.DirLogs, number, n+1)
}

// listed reports whether a driver named the log: either the manifest lists it, or the manifest has
// lost its member's list.
func listed(record *results.DatabaseRun, file string) bool {
	number, _, _ := strings.Cut(path.Base(file), "-")
	n, _ := strconv.Atoi(number)
	lost := n >= 1 && n <= len(record.Members) && len(record.Members[n-1].Files) == 0
	return lost || slices.ContainsFunc(record.Members, func(m results.Member) bool { return slices.Contains(m.Files, file) })
}

// packedName is a file's path in the archive. Names in it are replaced, except in the part that
// selects the rule.
func (p *packer) packedName(file string) string {
	if p.rule(file).treat == nil {
		return p.names.word(file)
	}
	dir, name := path.Split(file)
	if m := numbered().FindStringSubmatch(name); m != nil && m[1] != results.FileServer && m[1] != results.FileDatabase {
		name = strings.TrimSuffix(name, m[1]) + p.names.word(m[1]) // a log named by a driver
	}
	return p.names.word(dir) + name
}

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
func (p *packer) table(_ *results.DatabaseRun, data []byte) ([]byte, error) {
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

// nameOf returns a column's name; "" if it has none.
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
func (p *packer) histograms(_ *results.DatabaseRun, data []byte) ([]byte, error) {
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
func (p *packer) events(_ *results.DatabaseRun, data []byte) ([]byte, error) {
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

// log reduces a member's log to the parts that match the driver's rules. Reports count these events
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
