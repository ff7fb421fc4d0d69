package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/coreos/dbtester/analyze/abilities/cause"
	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/files/linefile"
	"github.com/coreos/dbtester/pkg/mark"
)

// record describes a finished run: a line in the records file. Readers derive the verdict from the
// facts, by their own rules.
type record struct {
	Planted string    `json:"planted"`
	Store   string    `json:"store"`
	Started time.Time `json:"started"`
	// Version is the version that made the run, and Verdict its verdict.
	Version    string `json:"version"`
	Processors int    `json:"processors"`
	Verdict    string `json:"verdict,omitempty"`
	// Failed is why the run has no facts.
	Failed string       `json:"failed,omitempty"`
	Facts  *cause.Facts `json:"facts,omitempty"`
	// Experiment is its text. Runs with another text than the current one do not count.
	Experiment string `json:"experiment"`
}

// readRecords reads the records file, if there is one. Lines that cannot be read are counted, such
// as one that was not written to its end.
func readRecords(path string) (list []record, unread int, err error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	for line := range strings.Lines(string(text)) {
		r := record{Facts: unrecorded()}
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			unread++
			continue
		}
		list = append(list, r)
	}
	return list, unread, nil
}

// keep appends a record to the file.
func (r record) keep(path string) error {
	line, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encode the record of a run: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	// A line that was not written to its end is cut off.
	f, err := linefile.Open(path, nil)
	if err != nil {
		return err
	}
	return errors.Join(f.Append(append(line, '\n')), f.Close())
}

// unrecorded returns facts that are all missing. Facts an older line lacks stay missing.
func unrecorded() *cause.Facts {
	f, missing := &cause.Facts{}, reflect.ValueOf(run.Missing("not recorded by the version that made the run"))
	var set func(reflect.Value)
	set = func(v reflect.Value) {
		switch {
		case v.Type() == missing.Type():
			v.Set(missing)
		case v.Kind() == reflect.Struct:
			for i := range v.NumField() {
				set(v.Field(i))
			}
		}
	}
	set(reflect.ValueOf(f).Elem())
	return f
}

// recordOf reads the facts about a run, and the verdict in its report, from its folder.
func recordOf(dir string) (r record, err error) {
	runs, err := run.FromFolder(dir)
	if err != nil {
		return r, err
	}
	if len(runs) != 1 || len(runs[0].Stages) == 0 {
		return r, errors.New("the run must have one database and a load")
	}
	one := runs[0]
	for _, m := range one.Marks() {
		if m.Code == mark.FaultFailed {
			return r, errors.New(m.Text)
		}
	}
	said := cause.Half{}.Explain([]string{one.Info.Record.Database}, [][]*run.Run{runs})
	if said == nil {
		return r, errors.New("the report does not explain the response times")
	}
	r = record{
		Started: one.Info.Manifest.Started, Version: one.Info.Manifest.Tool.Version, Processors: runtime.NumCPU(),
		Facts: cause.FactsOf(one, one.Stages[run.Largest(one.Stages)]),
	}
	found, err := r.judge()
	if err != nil {
		return r, err
	}
	r.Verdict = found.text
	var report []string
	for _, c := range said.Databases[0].Causes {
		report = append(report, c.Name)
	}
	if facts := slices.Concat(found.named, found.partly); !slices.Equal(slices.Sorted(slices.Values(report)), slices.Sorted(slices.Values(facts))) {
		return r, fmt.Errorf("the report must have what follows from its facts, %q, got %q", facts, report)
	}
	return r, nil
}

// verdict has the named causes, the partly named ones, and others with as large a share whose bounds are
// too wide. unexplained is in percent.
type verdict struct {
	named, partly, listed []string
	unexplained           float64
	text                  string
}

// judge returns the verdict on a record by the rules in this program.
func (r record) judge() (v verdict, err error) {
	entries, why := cause.Ledger(r.Facts)
	if entries == nil {
		return v, fmt.Errorf("the facts give no ledger: %s", why.Missing)
	}
	found := cause.Judge(r.Facts, entries)
	v = verdict{unexplained: found.Unexplained, text: found.String()}
	for _, s := range found.Of(cause.Named) {
		v.named = append(v.named, s.Name)
	}
	for _, s := range found.Of(cause.Partly) {
		v.partly = append(v.partly, s.Name)
	}
	for _, s := range found.Of(cause.None) {
		if s.Share.Value >= s.Partly {
			v.listed = append(v.listed, s.Name)
		}
	}
	return v, nil
}
