package main

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/coreos/dbtester/analyze"
	"github.com/coreos/dbtester/pkg/files/plaintext"
)

// formatPerfdash is the word for the file that perfdash, the Kubernetes and etcd dashboard, reads
// for each build.
const formatPerfdash = "perfdash"

// perfData is such a file: https://github.com/kubernetes/perf-tests/tree/master/perfdash.
type perfData struct {
	Version string     `json:"version"`
	Items   []perfItem `json:"dataItems"`
}

// perfItem holds numbers in one unit with the labels that dashboard readers can select.
type perfItem struct {
	Data   map[string]float64 `json:"data"`
	Unit   string             `json:"unit"`
	Labels map[string]string  `json:"labels"`
}

// perfMetrics maps metrics in numbers.csv to numbers in the file: the name of the item, and of the
// number in it.
func perfMetrics() map[string][2]string {
	return map[string][2]string{
		"Latency p50": {"Latency", "Perc50"}, "Latency p90": {"Latency", "Perc90"}, "Latency p99": {"Latency", "Perc99"},
		"AVG-THROUGHPUT": {"Throughput", "Average"},
	}
}

// perfdashOf returns latencies and throughput for each database, trial, step and operation.
func perfdashOf(r *analyze.Report) ([]byte, error) {
	rows, err := csv.NewReader(bytes.NewReader(r.CSV())).ReadAll()
	if err == nil && len(rows) == 0 {
		err = errors.New("it is empty")
	}
	if err != nil {
		return nil, fmt.Errorf("read the numbers of the report: %w", err)
	}
	at := map[string]int{}
	for i, name := range rows[0] {
		at[name] = i
	}
	metrics, out, places := perfMetrics(), perfData{Version: "v1", Items: []perfItem{}}, map[string]int{}
	trials := slices.ContainsFunc(rows[1:], func(row []string) bool { return cmp.Or(row[at["trial"]], "1") != "1" })
	for _, row := range rows[1:] {
		name, known := metrics[row[at["metric"]]]
		value, err := strconv.ParseFloat(row[at["value"]], 64)
		if !known || err != nil { // missing numbers have a note instead
			continue
		}
		labels := map[string]string{"Metric": name[0], "Database": plaintext.Line(row[at["database"]])}
		for _, label := range []struct{ name, column string }{{"Operation", "operation"}, {"Step", "step"}, {"Trial", "trial"}} {
			if text := row[at[label.column]]; text != "" && (label.name != "Trial" || trials) {
				labels[label.name] = plaintext.Line(text)
			}
		}
		key := fmt.Sprint(row[at["run"]], labels)
		i, there := places[key]
		if !there {
			i = len(out.Items)
			places[key] = i
			out.Items = append(out.Items, perfItem{Data: map[string]float64{}, Unit: row[at["unit"]], Labels: labels})
		}
		out.Items[i].Data[name[1]] = value
	}
	b, err := json.MarshalIndent(out, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode for perfdash: %w", err)
	}
	return append(b, '\n'), nil
}
