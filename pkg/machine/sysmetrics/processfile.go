package sysmetrics

import (
	"errors"
	"fmt"

	"github.com/coreos/dbtester/pkg/metric"
)

// processSource reads a process metrics source.
type processSource struct {
	metric.Source
	first    int // index of its first metric among tree metrics
	thread   int // index among the sources with [metric.Source.Threads]
	readings []metric.Reading
}

// processFile is read once per sample for all its sources.
type processFile struct {
	name    string
	sources []*processSource
}

// The tree itself needs two files per process, and reads them first.
const (
	fileStat   = "stat"
	fileStatus = "status"
)

// treeMetric is summed over the processes in a tree.
type treeMetric struct {
	metric.Metric
	source *processSource
	index  int // index in the list of all metrics
}

// processFiles groups sources by file: stat, status, then the others in order.
func processFiles(sources []metric.Source, all *metric.List) (files []processFile, metrics []treeMetric, threads []*processSource) {
	files = []processFile{{name: fileStat}, {name: fileStatus}}
	at := map[string]int{fileStat: 0, fileStatus: 1}
	for _, s := range sources {
		if s.File == "" || s.Scope() != metric.Process {
			continue
		}
		p := &processSource{Source: s, first: len(metrics), readings: make([]metric.Reading, len(s.Metrics))}
		if s.Threads {
			p.thread = len(threads)
			threads = append(threads, p)
		}
		for _, m := range s.Metrics {
			index, _ := all.Index(m.Name)
			metrics = append(metrics, treeMetric{m, p, index})
		}
		i, known := at[s.File]
		if !known {
			i = len(files)
			at[s.File] = i
			files = append(files, processFile{name: s.File})
		}
		files[i].sources = append(files[i].sources, p)
	}
	return files, metrics, threads
}

// parse returns the readings, which are valid until the next call.
func (s *processSource) parse(data []byte) ([]metric.Reading, error) {
	return s.readings, parse(&s.Source, data, "", s.readings)
}

// parse sets all readings of a source; it sets them to unknown if it fails.
func parse(s *metric.Source, data []byte, of string, into []metric.Reading) error {
	forget(into)
	err := s.Parse(data, of, into)
	if err != nil {
		forget(into)
	}
	return err
}

func forget(readings []metric.Reading) {
	for i := range readings {
		readings[i] = metric.Reading{Value: metric.Unknown}
	}
}

// threadCount returns the readings as the counts of a thread, or nil if one is unknown.
func threadCount(readings []metric.Reading) []float64 {
	c := make([]float64, len(readings))
	for i, r := range readings {
		if r.Value < 0 {
			return nil
		}
		c[i] = r.Value
	}
	return c
}

// take sets process values from one of its files.
func (p *proc) take(file processFile, data []byte) error {
	var problems []error
	for _, s := range file.sources {
		readings, err := s.parse(data)
		if err != nil {
			problems = append(problems, fmt.Errorf("%s of pid %d: %w", s.File, p.id.pid, err))
		}
		if s.Threads {
			p.threads[s.thread].first = threadCount(readings)
			if err != nil {
				p.forget(s)
			}
			continue
		}
		for i, r := range readings {
			p.values[s.first+i].set(s, s.Metrics[i].Kind, r)
		}
	}
	return errors.Join(problems...)
}

func (v *value) set(s *processSource, kind metric.Kind, r metric.Reading) {
	v.unknown = r.Value < 0
	switch {
	case v.unknown:
	case kind == metric.Counter && s.Inclusive:
		v.waited.update(r.Value)
	case kind == metric.Counter:
		v.own = r.Value
		v.waited.update(r.Waited)
	default:
		v.own = r.Value
	}
}

// miss makes the metrics in a file unknown.
func (p *proc) miss(file processFile) {
	for _, s := range file.sources {
		p.forget(s)
	}
}

// forget makes the metrics from a source unknown.
func (p *proc) forget(s *processSource) {
	if s.Threads {
		p.threads[s.thread].first = nil
	}
	for i := range s.Metrics {
		p.values[s.first+i].unknown = true
	}
}
