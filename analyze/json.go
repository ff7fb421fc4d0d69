package analyze

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/coreos/dbtester/analyze/answers/headline"
	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/analyze/table"
	"github.com/coreos/dbtester/pkg/results"
)

// SchemaVersion is the version of the JSON file, which docs/report.schema.json describes. It
// increases when a field changes its meaning or is removed.
const SchemaVersion = 1

// reportJSON is a report for programs.
type reportJSON struct {
	SchemaVersion int                `json:"schema_version" doc:"version of this layout"`
	Title         string             `json:"title"`
	Description   string             `json:"description,omitempty"`
	Valid         bool               `json:"valid" doc:"false if a mark makes a number invalid"`
	Headline      *headline.Headline `json:"headline" doc:"the first screen: verdict, trust, settings that differ, seven numbers of each database over all trials"`
	Runs          []runJSON          `json:"runs" doc:"one for each column of the table, in their order"`
	Marks         []run.Mark         `json:"marks"`
	Errors        []columnErrors     `json:"errors"`
	Table         *table.Table       `json:"table" doc:"every number: one column for each trial of a database"`
	Series        []seriesJSON       `json:"series" doc:"the load by second, one for each column of the table"`
}

// runJSON is one database in one run, with its settings, machines and results.
type runJSON struct {
	Column    string       `json:"column" doc:"the tag of the table's column"`
	Label     string       `json:"label,omitempty" doc:"the name given to the run with --label"`
	RunID     string       `json:"run_id" doc:"empty for classic files"`
	Title     string       `json:"title"`
	Started   string       `json:"started" doc:"UTC, RFC 3339; empty for classic files"`
	Trial     int          `json:"trial" doc:"from 1 to trials; 0 for classic files"`
	Trials    int          `json:"trials"`
	Seed      uint64       `json:"seed"`
	Tool      results.Tool `json:"tool" doc:"the dbtester that ran"`
	Client    results.Host `json:"client" doc:"the machine of the client"`
	Local     bool         `json:"local" doc:"the agents ran inside the client's process"`
	Database  string       `json:"database"`
	Tag       string       `json:"tag" doc:"the database's folder in the run"`
	Versions  []string     `json:"versions" doc:"what the running members reported, each once"`
	Members   []memberJSON `json:"members"`
	Generator []memberJSON `json:"generators,omitempty" doc:"the machines that issued the load; absent if the client issued it"`
	Load      results.Load `json:"load" doc:"the load as manifest.json has it"`
	Steps     []stepJSON   `json:"steps"`
	Operation []string     `json:"operations" doc:"the operations of the load"`
}

type memberJSON struct {
	Addr string        `json:"addr"`
	Host *results.Host `json:"host,omitempty"`
}

type stepJSON struct {
	Index       int     `json:"index"`
	Label       string  `json:"label" doc:"the name in by_step and step, empty if the steps are alike"`
	Clients     int     `json:"clients"`
	Connections int     `json:"connections"`
	Rate        float64 `json:"rate" doc:"requests due per second, 0 in a closed loop"`
	RateEnd     float64 `json:"rate_end" doc:"the rate at the step's end, 0 if it did not change"`
	Start       string  `json:"start" doc:"UTC, RFC 3339"`
	End         string  `json:"end" doc:"empty if the run was killed"`
}

// seriesJSON is the load of one column over time.
type seriesJSON struct {
	Column     string     `json:"column"`
	StartUnix  int64      `json:"start_unix" doc:"the unix second of the first value"`
	BinSeconds int64      `json:"bin_seconds" doc:"seconds that a value covers: more than 1 in long runs"`
	Clients    []int      `json:"clients"`
	Throughput []*float64 `json:"throughput" doc:"requests that ended ok per second, all phases; null in seconds without a record"`
	Latency    []*float64 `json:"mean_latency_ms" doc:"mean latency of these requests; null if there are none"`
}

// json returns the machine-readable report: values, units, sample counts, definitions and marks.
// Each series is one line.
func (d *document) json() ([]byte, error) {
	all := reportJSON{
		SchemaVersion: SchemaVersion, Title: d.Title, Description: d.Description, Valid: d.Valid(), Headline: d.Headline, Runs: []runJSON{},
		Marks: nonNil(d.Marks), Errors: nonNil(d.errors), Table: d.Table, Series: []seriesJSON{},
	}
	for _, r := range d.runs {
		all.Runs = append(all.Runs, runOf(r))
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(all); err != nil {
		return nil, fmt.Errorf("encode json: %w", err)
	}
	text := bytes.TrimSuffix(b.Bytes(), []byte("[]\n}\n"))
	for i, r := range d.runs {
		one, err := json.Marshal(seriesOf(r))
		if err != nil {
			return nil, fmt.Errorf("encode json: %w", err)
		}
		text = fmt.Appendf(text, "%s\n    %s", []string{"[", ","}[min(i, 1)], one)
	}
	return embeddable(append(text, "\n  ]\n}\n"...)), nil
}

// embeddable escapes text that would end or change a script element or a CDATA section
// around JSON. Such text occurs only in strings, whose values stay the same.
func embeddable(text []byte) []byte {
	for from, to := range map[string]string{"</": `<\/`, "<!--": `<\u0021--`, "]]>": `]]\u003e`} {
		text = bytes.ReplaceAll(text, []byte(from), []byte(to))
	}
	return text
}

func runOf(r *run.Run) runJSON {
	record := r.Info.Record
	one := runJSON{
		Column: r.Info.Tag, Label: r.Info.Label, Database: record.Database, Tag: record.Tag,
		Versions: nonNil(run.Distinct(r.Info.Versions())), Members: []memberJSON{}, Load: record.Load, Steps: []stepJSON{}, Operation: []string{},
	}
	if m := r.Info.Manifest; m != nil {
		one.RunID, one.Title, one.Started = m.RunID, m.Title, timeText(m.Started)
		one.Trial, one.Trials, one.Seed, one.Tool, one.Client, one.Local = m.Trial, m.Trials, m.Seed, m.Tool, m.Client, m.Local
	}
	for _, m := range record.Members {
		one.Members = append(one.Members, memberJSON{m.Addr, m.Host})
	}
	for _, g := range record.Generators {
		one.Generator = append(one.Generator, memberJSON{g.Addr, g.Host})
	}
	for _, s := range record.Steps {
		label := ""
		if r.Staged() {
			label = r.StepLabel(s)
		}
		one.Steps = append(one.Steps, stepJSON{s.Index, label, s.Clients, s.Connections, s.Rate, s.RateEnd, timeText(s.Start), timeText(s.End)})
	}
	if record.Load.Operation != "" {
		one.Operation = append(one.Operation, string(record.Load.Operation))
	}
	for _, share := range record.Load.Mix {
		one.Operation = append(one.Operation, string(share.Operation))
	}
	one.Operation = run.Distinct(one.Operation)
	return one
}

func timeText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

// mostValues bounds the length of a series.
const mostValues = 3600

// seriesOf returns the load by second, or by longer intervals in long runs.
func seriesOf(r *run.Run) seriesJSON {
	s := seriesJSON{Column: r.Info.Tag, BinSeconds: 1, Clients: []int{}, Throughput: []*float64{}, Latency: []*float64{}}
	seconds := r.Load.PerSecond()
	if len(seconds) == 0 {
		return s
	}
	s.StartUnix = seconds[0].Unix
	length := seconds[len(seconds)-1].Unix - s.StartUnix + 1
	s.BinSeconds = (length + mostValues - 1) / mostValues
	n := int((length + s.BinSeconds - 1) / s.BinSeconds)
	ok, count, sum, of := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
	s.Clients = make([]int, n)
	for _, one := range seconds {
		at := (one.Unix - s.StartUnix) / s.BinSeconds
		ok[at] += one.OK
		of[at]++
		count[at] += one.Latency.Count
		sum[at] += one.Latency.Sum
		s.Clients[at] = one.Clients
	}
	share := func(v, n float64) *float64 {
		if n == 0 {
			return nil
		}
		v /= n
		return &v
	}
	for i := range n {
		s.Throughput = append(s.Throughput, share(ok[i], of[i]))
		s.Latency = append(s.Latency, share(sum[i], count[i]))
	}
	return s
}

// nonNil makes an empty list encode as [].
func nonNil[T any](list []T) []T { return slices.Clip(append([]T{}, list...)) }
