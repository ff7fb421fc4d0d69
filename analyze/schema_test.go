package analyze

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/analyze/runtest"
	"github.com/coreos/dbtester/pkg/results"
)

// The published schema equals that in the program, and reports of every kind obey it.
func TestSchema(t *testing.T) {
	data, err := Schema()
	if err != nil {
		t.Fatalf("make the schema: %v", err)
	}
	path := filepath.Join("..", "docs", "report.schema.json")
	if *update {
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatalf("write the schema: %v", err)
		}
	}
	published, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("read the published schema: %v", err)
	}
	if diff := cmp.Diff(string(data), string(published)); diff != "" {
		t.Errorf("%s, write anew with -update (-program +published):\n%s", path, diff)
	}
	var s schema
	if err := json.Unmarshal(published, &s); err != nil {
		t.Fatalf("read the schema: %v", err)
	}
	mixed := runtest.NewFixture(t, filepath.Join(t.TempDir(), "mixed"))
	mixed.Mixed("mix")
	mixed.Write()
	for name, folders := range map[string][]string{
		"two databases": {runtest.TwoDatabases(t)}, "a mix": {mixed.Dir}, "trials": trialFolders(t),
	} {
		d, err := newDocument(t.Context(), Options{Folders: folders, Out: t.TempDir()})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		text, err := d.json()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var report any
		if err := json.Unmarshal(text, &report); err != nil {
			t.Fatalf("%s: decode: %v", name, err)
		}
		for _, problem := range s.check("report", report) {
			t.Errorf("%s: %s", name, problem)
		}
	}
	for _, wrong := range []string{`{"schema_version": "one"}`, `{"unknown": 1}`, `{"marks": [{"code": 1}]}`, `[]`} {
		var report any
		if err := json.Unmarshal([]byte(wrong), &report); err != nil {
			t.Fatal(err)
		}
		if len(s.check("report", report)) == 0 {
			t.Errorf("%s obeys the schema", wrong)
		}
	}
}

// check returns where a value breaks the schema.
func (s *schema) check(at string, v any) (problems []string) {
	if !slices.ContainsFunc(typesOf(v), func(kind string) bool { return len(s.Type) == 0 || slices.Contains(s.Type, kind) }) {
		return []string{fmt.Sprintf("%s is %v, want %s", at, v, strings.Join(s.Type, " or "))}
	}
	switch v := v.(type) {
	case []any:
		for i, one := range v {
			problems = append(problems, s.Items.check(fmt.Sprintf("%s[%d]", at, i), one)...)
		}
	case map[string]any:
		for _, name := range s.Required {
			if _, known := v[name]; !known {
				problems = append(problems, at+" lacks "+name)
			}
		}
		for name, one := range v {
			switch of := s.Properties[name]; {
			case of != nil:
				problems = append(problems, of.check(at+"."+name, one)...)
			case s.Additional == false:
				problems = append(problems, at+" has "+name)
			}
		}
	}
	return problems
}

func typesOf(v any) []string {
	switch v := v.(type) {
	case nil:
		return []string{"null"}
	case bool:
		return []string{"boolean"}
	case string:
		return []string{"string"}
	case float64:
		if v == math.Trunc(v) {
			return []string{"integer", "number"}
		}
		return []string{"number"}
	case []any:
		return []string{"array"}
	}
	return []string{"object"}
}

// trialFolders are two trials in one experiment with two databases.
func trialFolders(t *testing.T) (dirs []string) {
	t.Helper()
	for n := 1; n <= 2; n++ {
		f := runtest.NewFixture(t, filepath.Join(t.TempDir(), fmt.Sprintf("trial-%d", n)))
		f.M.Trial, f.M.Trials, f.M.RunID = n, 2, fmt.Sprintf("run-%d", n)
		f.M.Config = json.RawMessage(`{}`)
		for _, tag := range []string{"etcd", "consul"} {
			f.Alike = true
			f.Database(tag, 2e6)
		}
		dirs = append(dirs, f.Write())
	}
	return dirs
}

// The JSON has separate fields for the database, time and machines of a run, and has the load by
// second.
func TestJSONNamesWhatRan(t *testing.T) {
	d, err := newDocument(t.Context(), Options{Folders: trialFolders(t), Out: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	text, err := d.json()
	if err != nil {
		t.Fatal(err)
	}
	var got reportJSON
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatalf("decode: %v", err)
	}
	if got.SchemaVersion != SchemaVersion || len(got.Runs) != 4 || len(got.Series) != 4 || len(got.Table.Columns) != 4 || len(got.Headline.Columns) != 2 {
		t.Fatalf("version %d, %d runs, %d series, %d columns, %d in the headline", got.SchemaVersion, len(got.Runs), len(got.Series), len(got.Table.Columns), len(got.Headline.Columns))
	}
	last := got.Runs[3]
	if last.Column != "consul #2" || last.RunID != "run-2" || last.Started != "2027-01-15T07:59:50Z" || last.Trial != 2 || last.Tool.Version != "v1.0.0" || last.Client.Name != "client" ||
		len(last.Steps) != 2 || last.Steps[0].Clients != 10 || !slices.Equal(last.Operation, []string{"write"}) || len(last.Members) != 2 || last.Members[0].Host.Name != "one" {
		t.Errorf("the last run is %+v", last)
	}
	s := got.Series[0]
	if s.StartUnix != runtest.Begin || s.BinSeconds != 1 || len(s.Throughput) != 9 || *s.Throughput[1] != 495 || len(s.Latency) != 9 || len(s.Clients) != 9 {
		t.Errorf("the series is %+v", s)
	}
}

// A load that lasts hours has no more values than one that lasts an hour.
func TestSeriesAreBounded(t *testing.T) {
	r := tabulatedRun(t)
	r.Load.Seconds = r.Load.Seconds[:0]
	for i := range int64(10_000) {
		one := secondOf(i)
		r.Load.Seconds = append(r.Load.Seconds, one)
	}
	s := seriesOf(r)
	if len(s.Throughput) > mostValues || s.BinSeconds != 3 || *s.Throughput[0] != 100 || *s.Latency[0] != 2 {
		t.Errorf("%d values of %d s, first %v", len(s.Throughput), s.BinSeconds, *s.Throughput[0])
	}
}

// Labels and a title name the compared runs; dates distinguish runs on several days.
func TestLabelsAndTitle(t *testing.T) {
	one := runtest.NewFixture(t, filepath.Join(t.TempDir(), "one"))
	one.Database("etcd", 2e6)
	two := runtest.NewFixture(t, filepath.Join(t.TempDir(), "two"))
	two.M.Title = "Another title"
	two.Database("etcd", 2e6)
	two.Database("consul", 2e6)
	folders := []string{one.Write(), two.Write()}
	d, err := newDocument(t.Context(), Options{Folders: folders, Labels: map[string]string{folders[0]: "before/after", folders[1]: "now"}, Title: "Side by side", Out: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	var tags []string
	for _, c := range d.Table.Columns {
		tags = append(tags, c.Tag)
	}
	if diff := cmp.Diff([]string{"before/after", "now etcd", "now consul"}, tags); diff != "" || d.Title != "Side by side" {
		t.Errorf("title %q, columns (-want +got):\n%s", d.Title, diff)
	}
	if text := d.Text(); !strings.Contains(text, "2027-01-15 07:59") {
		t.Errorf("columns of several runs must have a date:\n%s", text)
	}
	d, err = newDocument(t.Context(), Options{Folders: folders, Out: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if want := "Write 6K keys and Another title"; d.Title != want {
		t.Errorf("title %q, want %q", d.Title, want)
	}
	if text := tabulate(t, folders[1]).Text(); strings.Contains(text, "2027-01-15") {
		t.Errorf("columns of one run need no date:\n%s", text)
	}
	if _, err := os.Stat(filepath.Join(folders[0], results.FileManifest)); err != nil {
		t.Error(err)
	}
}

// tabulatedRun is one run in a report.
func tabulatedRun(t *testing.T) *run.Run {
	t.Helper()
	d, err := newDocument(t.Context(), Options{Folders: []string{runtest.TwoDatabases(t)}})
	if err != nil {
		t.Fatal(err)
	}
	return d.runs[0]
}

func secondOf(i int64) run.Second {
	return run.Second{Unix: 1000 + i, Clients: 10, OK: 100, Latency: run.Sums{Count: 100, Sum: 200}}
}
