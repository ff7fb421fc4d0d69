package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCasesOf(t *testing.T) {
	const events = `{"Action":"start","Package":"p"}
{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"run","Package":"p","Test":"TestA/a_link"}
{"Action":"pass","Package":"p","Test":"TestA/a_link"}
{"Action":"fail","Package":"p","Test":"TestA/a_pipe"}
{"Action":"fail","Package":"p","Test":"TestA"}
{"Action":"skip","Package":"p","Test":"TestB"}
{"Action":"fail","Package":"p"}
`
	got, err := casesOf([]byte(events))
	if err != nil {
		t.Fatal(err)
	}
	want := []tried{{"a link", "pass"}, {"a pipe", "fail"}, {"TestA", "fail"}, {"TestB", "skip"}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(tried{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Every pattern names an existing test, so renaming a test cannot remove it from the list.
func TestSuites(t *testing.T) {
	for _, s := range suites() {
		files, err := filepath.Glob(filepath.Join("../..", s.pkg, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		var tests []string
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range regexp.MustCompile(`(?m)^func (Test\w+)\(`).FindAllSubmatch(text, -1) {
				tests = append(tests, string(m[1]))
			}
		}
		for pattern := range strings.SplitSeq(s.test, "|") {
			pattern := regexp.MustCompile("^" + pattern + "$")
			if !slices.ContainsFunc(tests, pattern.MatchString) {
				t.Errorf("%s has no test %s", s.pkg, pattern)
			}
		}
	}
}
