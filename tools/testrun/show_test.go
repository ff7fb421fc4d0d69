package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// testModule is a module with packages that pass, fail, do not compile and have no tests.
func testModule(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":           "module example.org/m\n\ngo 1.26\n",
		"empty/x.go":       "package empty\n",
		"broken/x.go":      "package broken\n\nvar x int = \"\"\n",
		"broken/x_test.go": "package broken\n\nimport \"testing\"\n\nfunc TestX(*testing.T) {}\n",
		"good/x_test.go": `package good

import (
	"fmt"
	"testing"
)

func TestPasses(t *testing.T) { fmt.Println("a word of a test that passes"); t.Log("quiet") }
func TestSkips(t *testing.T)  { t.Skip("needs the moon: full") }
`,
		"bad/x_test.go": `package bad

import "testing"

func TestPasses(t *testing.T) { t.Log("quiet") }
func TestFails(t *testing.T)  { t.Run("one", func(t *testing.T) { t.Error("one is wrong") }); t.Run("two", func(t *testing.T) { t.Skip("no two") }) }
func TestPanics(t *testing.T) { panic("too much") }
`,
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatalf("make the folder: %v", err)
		}
		if err := os.WriteFile(path, []byte(text), 0o640); err != nil {
			t.Fatalf("write the file: %v", err)
		}
	}
	return dir
}

// The output for a real go test has the failures and no line from tests that passed.
func TestShow(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("go", "test", "-json", "./...")
	cmd.Dir = testModule(t)
	events, _ := cmd.Output() // two packages fail
	var out, skipped, times strings.Builder
	if err := show(strings.NewReader(string(events)), &out, &skipped, &times, func(of string) float64 { return map[string]float64{"example.org/m/bad": 1.25}[of] }); err != nil {
		t.Fatalf("show the events: %v", err)
	}
	for _, want := range []string{
		`(?m)^ok  \texample.org/m/good\t`, `(?m)^FAIL\texample.org/m/bad\t`, `(?m)^FAIL\texample.org/m/broken \[build failed\]`,
		`(?m)^\?   \texample.org/m/empty\t\[no test files\]`, `(?m)^ *--- FAIL: TestFails/one `, `one is wrong`, `panic: too much`, `broken/x.go:3:`,
	} {
		if !regexp.MustCompile(want).MatchString(out.String()) {
			t.Errorf("no %q in the output:\n%s", want, out.String())
		}
	}
	for _, no := range []string{"quiet", "a word of", "=== RUN", "moon", "\nPASS"} {
		if strings.Contains(out.String(), no) {
			t.Errorf("%q is in the output:\n%s", no, out.String())
		}
	}
	const want = "example.org/m/bad TestFails/two: no two\nexample.org/m/good TestSkips: needs the moon: full\n"
	if lines := strings.SplitAfter(skipped.String(), "\n"); len(lines) != 3 || !strings.Contains(want, lines[0]) || !strings.Contains(want, lines[1]) {
		t.Errorf("skipped:\n%swant\n%s", skipped.String(), want)
	}
	for _, want := range []string{`(?m)^\d+\.\d\texample.org/m/good\t0\.0$`, `(?m)^\d+\.\d\texample.org/m/bad\t1\.2$`} {
		if !regexp.MustCompile(want).MatchString(times.String()) {
			t.Errorf("no %q in the times:\n%s", want, times.String())
		}
	}
}

// A crash is shown, with the tests that it ended, also if test2json ascribes it to one that passed.
func TestShowCrash(t *testing.T) {
	var out strings.Builder
	if err := show(strings.NewReader(`{"Action":"run","Package":"p","Test":"TestPasses"}
{"Action":"output","Package":"p","Test":"TestPasses","Output":"quiet\n"}
{"Action":"pass","Package":"p","Test":"TestPasses"}
{"Action":"run","Package":"p","Test":"TestWaits"}
{"Action":"pause","Package":"p","Test":"TestWaits"}
{"Action":"run","Package":"p","Test":"TestHangs"}
{"Action":"output","Package":"p","Test":"TestPasses","Output":"SIGQUIT: quit\n"}
{"Action":"output","Package":"p","Test":"TestPasses","Output":"goroutine 1 [select]:\n"}
{"Action":"output","Package":"p","Output":"FAIL\tp\t0.1s\n"}
{"Action":"fail","Package":"p","Elapsed":0.1}
`), &out, io.Discard, io.Discard, func(string) float64 { return 0 }); err != nil {
		t.Fatalf("show the events: %v", err)
	}
	const want = "SIGQUIT: quit\ngoroutine 1 [select]:\nFAIL\tp\t0.1s\np ended while tests were running: TestHangs\n"
	if out.String() != want {
		t.Errorf("shown:\n%swant\n%s", out.String(), want)
	}
}
