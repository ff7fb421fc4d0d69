package index

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// reports writes the JSON files of reports by folder.
func reports(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const (
	newer = `{"schema_version": 1, "title": "Write | <b>x</b>", "valid": true, "headline": {"verdict": "etcd answered 2.1 times as many writes a second as consul.", "grade": {"letter": "C", "use": "a look", "text": "a doubt below"}, "trust": {"text": "valid, but weakened: shared host; the reasons follow.", "reasons": [{"code": "expected", "weakens": false}, {"code": "shared host", "weakens": true}, {"code": "shared host", "weakens": true}]}},
"runs": [{"tag": "etcd", "started": "2026-11-21T23:10:03Z", "versions": ["3.7.3"], "tool": {"version": "v1.2.0"}, "client": {"name": "c", "cpus": 2, "cpu_model": "Xeon"}, "members": [{"host": {"cpus": 8, "cpu_model": "Epyc"}}, {}]},
{"tag": "consul", "started": "2026-11-21T22:10:03Z", "versions": [], "tool": {"version": "v1.2.0"}, "client": {"name": "c", "cpus": 2, "cpu_model": "Xeon"}, "members": []}]}`
	older = `{"title": "Reads", "valid": false, "table": {"columns": [{"tag": "etcd", "text": "etcd (ran 3.7.3)"}]}}`
)

func TestFind(t *testing.T) {
	dir := reports(t, map[string]string{"b/all-aggregated.json": older, "a b/report/all-aggregated.json": newer, "a b/report/README.md": "", ".hidden/all-aggregated.json": newer, "c/all-aggregated.json": "{"})
	got, err := Find(dir)
	if err == nil || !strings.Contains(err.Error(), filepath.Join("c", "all-aggregated.json")) {
		t.Errorf("the broken report must be an error, got %v", err)
	}
	want := []Entry{
		{Dir: "a b/report", Title: "Write | <b>x</b>", Date: "2026-11-21 22:10", Databases: []string{"etcd 3.7.3", "consul"}, Machines: []string{"2 CPUs Xeon", "8 CPUs Epyc"}, Tools: []string{"v1.2.0"},
			Verdict: "etcd answered 2.1 times as many writes a second as consul.", Trust: "Grade C, a look. Weakened by: shared host.", Valid: true, Placement: Unknown, Link: "a%20b/report/README.md"},
		{Dir: "b", Title: "Reads", Databases: []string{"etcd (ran 3.7.3)"}, Trust: "NOT VALID.", Placement: Unknown},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
}

// The list's text on trust is understandable without the report's lines.
func TestTrust(t *testing.T) {
	lost, late, known := reason{Code: "server lost", Invalid: true, Weakens: true}, reason{Code: "client late", Weakens: true}, reason{Code: "expected"}
	for _, test := range []struct {
		reasons []reason
		valid   bool
		want    string
	}{
		{[]reason{lost, late, lost, known}, false, "NOT VALID: server lost."},
		{[]reason{late, known}, false, "NOT VALID."},
		{[]reason{late, late, known}, true, "Weakened by: client late."},
		{[]reason{known}, true, "Nothing was found that weakens the numbers."},
	} {
		if got := trustOf(test.reasons, test.valid); got != test.want {
			t.Errorf("trustOf(%v, %v) = %q, want %q", test.reasons, test.valid, got, test.want)
		}
	}
}

func TestWrite(t *testing.T) {
	dir := reports(t, map[string]string{"a/all-aggregated.json": newer, "a/report.html": ""})
	entries, err := Find(dir)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time over its own files
		files, err := Write(dir, "My results", entries)
		if err != nil || len(files) != 2 {
			t.Fatalf("write: %v, %q", err, files)
		}
	}
	readme, page := text(t, dir, Readme), text(t, dir, Page)
	for _, want := range []string{"# My results\n", `| [Write \| &lt;b&gt;x&lt;/b&gt;](a/report.html) | 2026-11-21 22:10 | etcd 3.7.3<br>consul |`, "as consul. Grade C, a look. Weakened by: shared host. |\n"} {
		if !strings.Contains(readme, want) {
			t.Errorf("the README has no %q:\n%s", want, readme)
		}
	}
	for _, want := range []string{`<a href="a/report.html">Write | &lt;b&gt;x&lt;/b&gt;</a>`, "<h1>My results</h1>", generator} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %q:\n%s", want, page)
		}
	}
	// Text around the list stays.
	own := strings.Replace(readme, "# My results", "# Mine\n\nwords", 1) + "\nmore words\n"
	put(t, dir, Readme, own)
	if _, err := Write(dir, "My results", entries); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(own, text(t, dir, Readme)); diff != "" {
		t.Errorf("the README (-before +after):\n%s", diff)
	}
}

// Files by others are not overwritten.
func TestWriteRefuses(t *testing.T) {
	for name, want := range map[string]string{Readme: "has no place for the list", Page: "was not written by dbtester index"} {
		dir := reports(t, map[string]string{"a/all-aggregated.json": older, name: "something"})
		entries, err := Find(dir)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Write(dir, "t", entries); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
		if got := text(t, dir, name); got != "something" {
			t.Errorf("%s was overwritten: %s", name, got)
		}
	}
}

func text(t *testing.T, dir, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func put(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// The list of published results names them all: dbtester index test-results rewrites it.
func TestPublishedResultsAreListed(t *testing.T) {
	dir := filepath.Join("..", "..", "..", "test-results")
	entries, err := Find(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) < 3 {
		t.Errorf("only %d reports were found: the test looks in the wrong place", len(entries))
	}
	readme := text(t, dir, Readme)
	for _, e := range entries {
		if e.Link == "" || !strings.Contains(readme, "("+e.Link+")") {
			t.Errorf("%s has no link to %q; run: dbtester index test-results", filepath.Join(dir, Readme), e.Link)
		}
	}
}

// Texts in reports, and folder names, are shown and not interpreted.
func TestHostileText(t *testing.T) {
	const hostile = "<script>alert(1)</script>|\n# h ``` ](http://evil) --> \x1b[2J\u202e"
	quoted, err := json.Marshal(hostile)
	if err != nil {
		t.Fatal(err)
	}
	report := strings.ReplaceAll(`{"title": X, "valid": true, "headline": {"verdict": X, "trust": {"text": X}},
"runs": [{"tag": X, "started": "2026-11-21T23:10:03Z", "versions": [X], "tool": {"version": X}, "client": {"name": X, "cpus": 2, "cpu_model": X}, "members": []}]}`, "X", string(quoted))
	dir := reports(t, map[string]string{"a)(b <i>|`\x1b/all-aggregated.json": report, "a)(b <i>|`\x1b/README.md": "", "c/all-aggregated.json": older})
	entries, err := Find(dir)
	if err != nil || len(entries) != 2 {
		t.Fatalf("find: %v, %d entries", err, len(entries))
	}
	if _, err := Write(dir, hostile, entries); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{Readme, Page} {
		got := text(t, dir, name)
		for _, bad := range []string{"<script", "<i>", "\x1b", "\u202e"} {
			if strings.Contains(got, bad) {
				t.Errorf("%s has %q:\n%s", name, bad, got)
			}
		}
		if !strings.Contains(got, `\u202e`) && !strings.Contains(got, `\\u202e`) {
			t.Errorf("%s does not show the text:\n%s", name, got)
		}
	}
	readme := text(t, dir, Readme)
	if strings.Contains(readme, "\n# h") {
		t.Errorf("a text makes a heading:\n%s", readme)
	}
	rows := 0
	for line := range strings.Lines(readme) {
		if strings.HasPrefix(line, "|") {
			if rows++; strings.Count(strings.ReplaceAll(line, `\|`, ""), "|") != 7 {
				t.Errorf("a text breaks the row %q", line)
			}
		}
	}
	if rows != 4 || !strings.Contains(readme, "](a%29%28b%20%3Ci%3E%7C%60%1B/README.md)") {
		t.Errorf("want four rows and the link, got %d:\n%s", rows, readme)
	}
}
