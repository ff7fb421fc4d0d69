package main

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/coreos/dbtester/pkg/install"
	"github.com/coreos/dbtester/pkg/machine/diskcheck"
	"github.com/coreos/dbtester/pkg/machine/roundtrip"
	"github.com/coreos/dbtester/pkg/yamlfile"
)

// docs/pipes.md names every field of the JSON that commands print.
func TestPipesDocument(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "pipes.md"))
	if err != nil {
		t.Fatalf("read the document: %v", err)
	}
	seen := 0
	for _, value := range []any{diskcheck.Report{}, diskcheck.Times{}, roundtrip.Times{}, checkedFile{}, checkedDatabase{}, yamlfile.Problem{}, install.Release{}} {
		for _, name := range jsonNames(reflect.TypeOf(value)) {
			if name == "warning" && reflect.TypeOf(value) == reflect.TypeFor[yamlfile.Problem]() {
				continue // of warnings, which are on standard error
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

// jsonNames are the names of a struct's fields in JSON.
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
