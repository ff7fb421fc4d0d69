package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"go.yaml.in/yaml/v4"
)

// action holds the parts of action.yml that the test reads.
type action struct {
	Inputs map[string]struct {
		Default  string
		Required bool
	}
	Runs struct {
		Using string
		Steps []struct {
			ID, Shell, Run, Uses, If string
			Env                      map[string]string
		}
	}
}

// github represents a runner of GitHub, its releases and its API.
type github struct {
	t        *testing.T
	dir      string // of the job: its home, its folder and its temporary folder
	url      string
	inputs   map[string]string
	outputs  map[string]string // of the step compare
	program  []byte
	broken   bool // the checksum of the release
	mu       sync.Mutex
	comments []string
}

// archive packs the program as a release.
func (g *github) archive(name string) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	if err := w.WriteHeader(&tar.Header{Name: name + "/dbtester", Mode: 0o755, Size: int64(len(g.program))}); err != nil {
		g.t.Fatalf("pack the release: %v", err)
	}
	for _, write := range []func() error{func() error { _, err := w.Write(g.program); return err }, w.Close, z.Close} {
		if err := write(); err != nil {
			g.t.Fatalf("pack the release: %v", err)
		}
	}
	return b.Bytes()
}

func (g *github) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := "dbtester-v9.9.9-linux-" + runtime.GOARCH
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case r.URL.Path == "/releases/v9.9.9/"+name+".tar.gz":
		_, _ = w.Write(g.archive(name))
	case r.URL.Path == "/releases/v9.9.9/SHA256SUMS":
		sum := sha256.Sum256(g.archive(name))
		if g.broken {
			sum[0]++
		}
		fmt.Fprintf(w, "%x  %s.tar.gz\n", sum, name)
	case r.Header.Get("Authorization") != "Bearer secret":
		http.Error(w, "no token", http.StatusUnauthorized)
	case r.Method == http.MethodGet && r.URL.Path == "/repos/me/store/issues/7/comments":
		list := []map[string]any{{"id": 1, "body": "a comment of a person"}}
		for i, body := range g.comments {
			list = append(list, map[string]any{"id": 10 + i, "body": body})
		}
		_ = json.NewEncoder(w).Encode(list)
	case r.Method == http.MethodPost && r.URL.Path == "/repos/me/store/issues/7/comments":
		g.comments = append(g.comments, g.body(r))
	case r.Method == http.MethodPatch && r.URL.Path == "/repos/me/store/issues/comments/10":
		g.comments[0] = g.body(r)
	default:
		http.NotFound(w, r)
	}
}

func (g *github) body(r *http.Request) string {
	data, err := io.ReadAll(r.Body)
	var sent struct{ Body string }
	if err == nil {
		err = json.Unmarshal(data, &sent)
	}
	if err != nil {
		g.t.Errorf("a comment: %v in %q", err, data)
	}
	return sent.Body
}

// value replaces the expressions of a step.
func (g *github) value(text string) string {
	return regexp.MustCompile(`\$\{\{ *([a-z_.-]+) *\}\}`).ReplaceAllStringFunc(text, func(expression string) string {
		name := strings.Trim(expression, "${} ")
		if input, is := strings.CutPrefix(name, "inputs."); is {
			return g.inputs[input]
		}
		if output, is := strings.CutPrefix(name, "steps.compare.outputs."); is {
			return g.outputs[output]
		}
		switch name {
		case "github.event.pull_request.number":
			return "7"
		case "github.token":
			return "secret"
		}
		g.t.Fatalf("the test does not know %s", expression)
		return ""
	})
}

// lines reads a file of a step's outputs; a missing file has none.
func (g *github) lines(name string) []string {
	data, err := os.ReadFile(filepath.Join(g.dir, name))
	if err != nil {
		return nil
	}
	return strings.Fields(string(data))
}

// step runs one step in an environment without any of the test's variables.
func (g *github) step(run string, env map[string]string) (string, error) {
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		g.t.Fatalf("find the action: %v", err)
	}
	cmd := exec.Command("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", run)
	cmd.Dir = filepath.Join(g.dir, "work")
	cmd.Env = []string{
		"PATH=" + strings.Join(append(g.lines("path"), "/usr/bin", "/bin"), ":"), "HOME=" + filepath.Join(g.dir, "home"), "RUNNER_TEMP=" + filepath.Join(g.dir, "temp"),
		"GITHUB_ACTION_PATH=" + root, "GITHUB_PATH=" + filepath.Join(g.dir, "path"), "GITHUB_OUTPUT=" + filepath.Join(g.dir, "output"),
		"GITHUB_STEP_SUMMARY=" + filepath.Join(g.dir, "summary"), "GITHUB_REPOSITORY=me/store", "GITHUB_API_URL=" + g.url,
	}
	for name, value := range env {
		cmd.Env = append(cmd.Env, name+"="+g.value(value))
	}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// job runs the steps of the action in turn, as a runner does, until one fails.
func (g *github) job(a action) (string, error) {
	for _, dir := range []string{"work", "home", "temp"} {
		if err := os.MkdirAll(filepath.Join(g.dir, dir), 0o755); err != nil {
			g.t.Fatalf("make a folder: %v", err)
		}
	}
	for name, input := range a.Inputs {
		if _, given := g.inputs[name]; !given {
			g.inputs[name] = g.value(input.Default)
		}
	}
	for _, s := range a.Runs.Steps {
		if s.Run == "" { // the upload of the report
			continue
		}
		out, err := g.step(s.Run, s.Env)
		if err != nil {
			return out, err
		}
		for _, line := range g.lines("output") {
			name, value, _ := strings.Cut(line, "=")
			g.outputs[name] = value
		}
	}
	return "", nil
}

// theAction reads action.yml, and the program instead of a release.
func theAction(t *testing.T) (a action, program []byte) {
	t.Helper()
	for _, tool := range []string{"curl", "jq", "tar"} {
		if _, err := exec.LookPath(tool); err != nil {
			if os.Getenv("CI") == "true" {
				t.Fatalf("%s is needed: apt-get install -y %s", tool, tool)
			}
			t.Skipf("%s is not on this machine", tool)
		}
	}
	text, err := os.ReadFile(filepath.Join("..", "..", "action.yml"))
	if err != nil {
		t.Fatalf("read the action: %v", err)
	}
	if err := yaml.Unmarshal(text, &a); err != nil || a.Runs.Using != "composite" {
		t.Fatalf("the action: %v, %+v", err, a.Runs)
	}
	path, err := exec.LookPath("dbtester")
	if err != nil {
		t.Fatalf("find the program: %v", err)
	}
	return a, []byte("#!/bin/sh\nexec '" + path + "' \"$@\"\n") // the tests' own is large
}

// TestAction runs the steps of action.yml with a file server instead of the releases, in separate
// folders and an environment without any of the test's variables.
func TestAction(t *testing.T) {
	t.Parallel()
	a, program := theAction(t)
	slow, fast := recordedRuns(t, "a", 4, 3*time.Millisecond, nil), recordedRuns(t, "b", 4, 2*time.Millisecond, nil)
	sides := func(a, b []string) string {
		return "--metric p50 " + strings.Join(a, " ") + " --to " + strings.Join(b, " ")
	}
	for _, tt := range []struct {
		name, args, failOn string
		broken             bool
		verdict, fails     string
	}{
		{"better", sides(slow, fast), "worse,invalid", false, "better", ""},
		{"worse", sides(fast, slow), "worse,invalid", false, "worse", "dbtester compare: worse"},
		{"worse, allowed", sides(fast, slow), "invalid", false, "worse", ""},
		{"undecided is neutral", sides(fast[:1], slow[:1]), "worse,invalid", false, "inconclusive", ""},
		{"undecided, forbidden", sides(fast[:1], slow[:1]), "worse,inconclusive", false, "inconclusive", "dbtester compare: inconclusive"},
		{"a wrong argument", "--nonsense", "worse", false, "error", "dbtester compare: error"},
		{"a changed release", sides(slow, fast), "worse", true, "", "is not the file that SHA256SUMS names"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := &github{t: t, dir: t.TempDir(), outputs: map[string]string{}, program: program, broken: tt.broken}
			server := httptest.NewServer(g)
			defer server.Close()
			g.url = server.URL
			g.inputs = map[string]string{"args": tt.args, "version": "v9.9.9", "releases": server.URL + "/releases", "fail-on": tt.failOn, "comment": "true"}
			for range 2 { // the second time updates the comment
				out, err := g.job(a)
				if (err != nil) != (tt.fails != "") || !strings.Contains(out, tt.fails) {
					t.Errorf("the job ended with %v, want %q:\n%s", err, tt.fails, out)
				}
			}
			if g.outputs["verdict"] != tt.verdict {
				t.Errorf("verdict %q, want %q", g.outputs["verdict"], tt.verdict)
			}
			if tt.verdict == "" {
				return
			}
			if len(g.comments) != 1 || !strings.HasPrefix(g.comments[0], "<!-- dbtester compare -->\n") {
				t.Errorf("comments %q, want one that was updated", g.comments)
			}
			if summary := strings.Join(g.lines("summary"), " "); tt.verdict != "error" && !strings.Contains(summary, "Compare: "+tt.verdict) {
				t.Errorf("summary: %s", summary)
			}
			if _, err := os.Stat(filepath.Join(g.dir, "work", "dbtester-compare", "junit.xml")); (err == nil) != (tt.verdict != "error") {
				t.Errorf("junit.xml: %v", err)
			}
		})
	}
}
