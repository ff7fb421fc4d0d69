package main

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/coreos/dbtester/pkg/install"
	"github.com/coreos/dbtester/pkg/machine/diskcheck"
	"github.com/coreos/dbtester/pkg/machine/roundtrip"
	"github.com/coreos/dbtester/pkg/yamlfile"
)

// docs/pipes.md names every field in the JSON that commands print.
func TestPipesDocument(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "pipes.md"))
	if err != nil {
		t.Fatalf("read the document: %v", err)
	}
	seen := 0
	for _, value := range []any{diskcheck.Report{}, diskcheck.Times{}, roundtrip.Times{}, checkedFile{}, checkedDatabase{}, yamlfile.Problem{}, install.Release{}} {
		for _, name := range jsonNames(reflect.TypeOf(value)) {
			if name == "warning" && reflect.TypeOf(value) == reflect.TypeFor[yamlfile.Problem]() {
				continue // for warnings, which are on standard error
			}
			if seen++; !strings.Contains(string(text), "`"+name+"`") {
				t.Errorf("the document does not describe the field %s of %T", name, value)
			}
		}
	}
	if seen < 40 {
		t.Errorf("%d fields were seen: the test looks in the wrong place", seen)
	}
}

// The lines for DuckDB and pandas in docs/pipes.md name columns that the records have.
func TestPipesColumns(t *testing.T) {
	root := filepath.Join("..", "..")
	text, err := os.ReadFile(filepath.Join(root, "docs", "pipes.md"))
	if err != nil {
		t.Fatalf("read the document: %v", err)
	}
	for _, c := range []struct{ kind, file, names string }{
		{"sql", filepath.Join(root, "test-results", "quickstart", "numbers.csv"), "run trial database step metric unit value"},
		{"python", filepath.Join(root, "pkg", "results", "testdata", "format1", "zookeeper-3.9.5", "intervals.csv"), "second phase ok failed"},
	} {
		records, err := os.ReadFile(c.file)
		if err != nil {
			t.Fatalf("read records: %v", err)
		}
		header, _, _ := strings.Cut(string(records), "\n")
		lines := strings.Join(blocks(string(text), c.kind), "\n")
		for _, name := range strings.Fields(c.names) {
			if !strings.Contains(","+header+",", ","+name+",") {
				t.Errorf("%s has no column %s", c.file, name)
			}
			if !regexp.MustCompile(`\b` + name + `\b`).MatchString(lines) {
				t.Errorf("the lines for %s do not read %s: the test looks for the wrong columns", c.kind, name)
			}
		}
	}
}

// jsonNames are the names of the fields in JSON.
func jsonNames(of reflect.Type) (names []string) {
	for _, f := range reflect.VisibleFields(of) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name != "" && name != "-" {
			names = append(names, name)
		}
	}
	return names
}

// In no format can names from files and servers control a terminal or leave their cells.
func TestListingHostile(t *testing.T) {
	const hostile = "=1+1\x1b[2J|\u009b2J\u202e<b>\n,\""
	l := listing{header: []string{"a", "b"}, rows: [][]string{{hostile, "1"}}, value: []string{hostile}}
	for _, word := range usualFormats() {
		var b bytes.Buffer
		if err := l.print(&b, format{word: word}); err != nil {
			t.Fatalf("%s: %v", word, err)
		}
		if strings.ContainsAny(b.String(), "\x1b\u009b\u202e") {
			t.Errorf("%s has characters that a terminal obeys: %q", word, b.String())
		}
	}
}
