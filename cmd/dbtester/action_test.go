package main

import (
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
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/coreos/dbtester/analyze/runtest"
	"github.com/coreos/dbtester/pkg/process/namespacetest"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/sleep/slowtest"
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
			Env, With                map[string]string
		}
	}
}

// Folders of the runner, as on GitHub.
const (
	runnerHome  = "/home/runner"
	runnerTemp  = runnerHome + "/work/_temp"
	runnerFiles = runnerTemp + "/_runner_file_commands"
	actionDir   = runnerHome + "/work/_actions/coreos/dbtester/v9.9.9"
	workspace   = runnerHome + "/repository"
	runnerUser  = 1001
)

// comment is a comment on a pull request, in the form of the GitHub API.
type comment struct {
	ID   int    `json:"id"`
	Body string `json:"body"`
	User struct {
		Type string `json:"type"`
	} `json:"user"`
	Association string `json:"author_association"`
}

// api is the GitHub API for comments on pull request 7 in me/store.
type api struct {
	t        *testing.T
	mu       sync.Mutex
	comments []comment
	calls    []string // that changed something
}

func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if r.Header.Get("Authorization") != "Bearer secret" {
		http.Error(w, "no token", http.StatusUnauthorized)
		return
	}
	id, changes := strings.CutPrefix(r.URL.Path, "/repos/me/store/issues/comments/")
	switch {
	case r.Method == http.MethodGet && r.URL.Path == "/repos/me/store/issues/7/comments":
		page, err := strconv.Atoi(r.URL.Query().Get("page"))
		if err != nil || r.URL.Query().Get("per_page") != "100" {
			a.t.Errorf("comments were requested by %s", r.URL)
		}
		from := min(max(page-1, 0)*100, len(a.comments))
		_ = json.NewEncoder(w).Encode(a.comments[from:min(from+100, len(a.comments))])
	case r.Method == http.MethodPost && r.URL.Path == "/repos/me/store/issues/7/comments":
		a.calls = append(a.calls, "create")
		a.write("Bot", "NONE", a.body(r))
	case r.Method == http.MethodPatch && changes:
		a.calls = append(a.calls, "update "+id)
		n, err := strconv.Atoi(id)
		if err != nil || n < 1 || n > len(a.comments) {
			http.NotFound(w, r)
			return
		}
		a.comments[n-1].Body = a.body(r)
	default:
		http.NotFound(w, r)
	}
}

// write adds a comment.
func (a *api) write(user, association, body string) {
	c := comment{ID: len(a.comments) + 1, Body: body, Association: association}
	c.User.Type = user
	a.comments = append(a.comments, c)
}

func (a *api) body(r *http.Request) string {
	data, err := io.ReadAll(r.Body)
	var sent struct{ Body string }
	if err == nil {
		err = json.Unmarshal(data, &sent)
	}
	if err != nil {
		a.t.Errorf("a comment: %v in %q", err, data)
	}
	return sent.Body
}

// runner runs jobs with the steps of the action in its own root, as on GitHub.
type runner struct {
	t      *testing.T
	root   *namespacetest.Root
	action action
	api    *api
	url    string // the server that has releases and the API
}

// newRunner makes a runner with the programs named in the documentation and those on any Linux, the
// action files, and nothing else.
func newRunner(t *testing.T, releases string) *runner {
	t.Helper()
	r := &runner{t: t, api: &api{t: t, comments: []comment{}}}
	r.root = namespacetest.NewRoot(t, "bash", "env", "curl", "tar", "jq", "gzip", "sha256sum", "grep", "sed", "awk", "cat", "head", "mkdir", "mktemp", "rm", "uname", "dirname")
	r.root.Write("/etc/passwd", fmt.Sprintf("runner:x:%d:%[1]d::%s:/usr/bin/bash\n", runnerUser, runnerHome))
	for _, name := range []string{"action.yml", "scripts/action.sh", "scripts/help.sh"} {
		r.root.Mkdir(filepath.Dir(filepath.Join(actionDir, name)))
		r.root.Add(filepath.Join("..", "..", name), filepath.Join(actionDir, name))
	}
	text, err := os.ReadFile(r.root.Path(actionDir + "/action.yml"))
	if err != nil {
		t.Fatalf("read the action: %v", err)
	}
	if err := yaml.Unmarshal(text, &r.action); err != nil || r.action.Runs.Using != "composite" {
		t.Fatalf("the action: %v, %+v", err, r.action.Runs)
	}
	r.root.Mkdir(workspace)
	mux := http.NewServeMux()
	mux.Handle("/releases/", http.StripPrefix("/releases/", http.FileServer(http.Dir(releases))))
	mux.Handle("/", r.api)
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	r.url = server.URL
	return r
}

// of returns the runner for a part of the test.
func (r *runner) of(t *testing.T) *runner {
	one := *r
	one.t = t
	return &one
}

// job is one job with the action. The maps hold texts that expressions name.
type job struct {
	*runner
	inputs, event, outputs map[string]string
	artifacts              map[string]string // folders in the root, by name
}

// job returns a job for a pull request from a branch.
func (r *runner) job(inputs map[string]string) *job {
	j := &job{runner: r, inputs: map[string]string{}, outputs: map[string]string{}, artifacts: map[string]string{}}
	j.event = map[string]string{
		"github.event_name": "pull_request", "github.event.pull_request.number": "7", "github.token": "secret",
		"github.event.pull_request.head.repo.full_name": "me/store", "github.repository": "me/store",
	}
	for name, input := range r.action.Inputs {
		j.inputs[name] = j.expand(input.Default)
	}
	j.inputs["version"], j.inputs["releases"], j.inputs["comment"] = "v9.9.9", r.url+"/releases", "true"
	for name, value := range inputs {
		if _, known := j.inputs[name]; !known {
			r.t.Fatalf("the action has no input %s", name)
		}
		j.inputs[name] = value
	}
	return j
}

// value returns the value of an operand in an expression.
func (j *job) value(operand string) string {
	operand = strings.TrimSpace(operand)
	if text, is := strings.CutPrefix(operand, "'"); is {
		return strings.TrimSuffix(text, "'")
	}
	if input, is := strings.CutPrefix(operand, "inputs."); is {
		return j.inputs[input]
	}
	if output, is := strings.CutPrefix(operand, "steps.compare.outputs."); is {
		return j.outputs[output]
	}
	value, known := j.event[operand]
	if !known {
		j.t.Fatalf("the test does not know %s", operand)
	}
	return value
}

// expand replaces the expressions in a text.
func (j *job) expand(text string) string {
	return regexp.MustCompile(`\$\{\{[^}]*\}\}`).ReplaceAllStringFunc(text, func(expression string) string {
		return j.value(strings.Trim(expression, "${} "))
	})
}

// runs reports whether the condition of a step holds. Without always() a step does not run after a
// failure.
func (j *job) runs(condition string, failed bool) bool {
	if !strings.Contains(condition, "always()") && failed {
		return false
	}
	for term := range strings.SplitSeq(condition, "&&") {
		term = strings.TrimSpace(term)
		if term == "" || term == "always()" {
			continue
		}
		a, b, equal := strings.Cut(term, "==")
		if !equal {
			a, b, _ = strings.Cut(term, "!=")
		}
		if (j.value(a) == j.value(b)) != equal {
			return false
		}
	}
	return true
}

// read reads a file in the root; a missing one is empty.
func (r *runner) read(path string) string {
	data, err := os.ReadFile(r.root.Path(path))
	if err != nil && !os.IsNotExist(err) {
		r.t.Fatalf("read a file of the root: %v", err)
	}
	return string(data)
}

// shell runs a script in the workspace, as an ordinary user in its own environment.
func (r *runner) shell(script string, env ...string) (string, error) {
	cmd := r.root.Command(runnerUser, "/usr/bin/bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script)
	cmd.Dir = workspace
	path := strings.Join(append(strings.Fields(r.read(runnerFiles+"/path")), "/usr/bin"), ":")
	cmd.Env = append([]string{
		"CI=true", "PATH=" + path, "HOME=" + runnerHome, "RUNNER_TEMP=" + runnerTemp, "GITHUB_WORKSPACE=" + workspace, "GITHUB_ACTION_PATH=" + actionDir,
		"GITHUB_PATH=" + runnerFiles + "/path", "GITHUB_OUTPUT=" + runnerFiles + "/output", "GITHUB_STEP_SUMMARY=" + runnerFiles + "/summary",
		"GITHUB_REPOSITORY=me/store", "GITHUB_API_URL=" + r.url,
	}, env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// run runs the steps in turn, and returns the output from the one that failed.
func (j *job) run() (failed string, err error) {
	for _, dir := range []string{runnerTemp, filepath.Join(workspace, j.inputs["output"])} {
		if err := os.RemoveAll(j.root.Path(dir)); err != nil {
			j.t.Fatalf("clean the runner: %v", err)
		}
	}
	j.root.Mkdir(runnerFiles)
	for _, s := range j.action.Runs.Steps {
		switch {
		case !j.runs(s.If, err != nil):
		case strings.HasPrefix(s.Uses, "actions/upload-artifact@"):
			j.artifacts[j.expand(s.With["name"])] = filepath.Join(workspace, j.expand(s.With["path"]))
		case s.Uses != "" || s.Shell != "bash":
			j.t.Fatalf("the test does not know the step %+v", s)
		default:
			var env []string
			for name, value := range s.Env {
				env = append(env, name+"="+j.expand(value))
			}
			out, e := j.shell(s.Run, env...)
			if e != nil && err == nil {
				failed, err = out, e
			}
			for line := range strings.Lines(j.read(runnerFiles + "/output")) {
				name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
				j.outputs[name] = value
			}
		}
	}
	return failed, err
}

// wants runs the job, with the expected verdict and the text with which it fails; "" means that it
// passes.
func (j *job) wants(verdict, fails string) {
	j.t.Helper()
	out, err := j.run()
	if (err != nil) != (fails != "") || !strings.Contains(out, fails) {
		j.t.Errorf("the job ended with %v, want %q:\n%s", err, fails, out)
	}
	if j.outputs["verdict"] != verdict {
		j.t.Errorf("verdict %q, want %q:\n%s", j.outputs["verdict"], verdict, out)
	}
}

// release packs the program of this test as the release v9.9.9, and serves a changed archive and
// incomplete sums too.
func release(t *testing.T) (folder string) {
	t.Helper()
	folder = t.TempDir()
	program, err := os.Executable()
	if err != nil {
		t.Fatalf("find the program: %v", err)
	}
	good := filepath.Join(folder, "v9.9.9")
	cmd := exec.Command(filepath.Join("..", "..", "scripts", "release.sh"), good)
	cmd.Env = append(os.Environ(), "BINARY="+program, "VERSION=v9.9.9", "COMMIT="+strings.Repeat("0", 40), "EPOCH=1700000000", "TARGETS=linux/"+runtime.GOARCH)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("make a release: %v\n%s", err, out)
	}
	sums, err := os.ReadFile(filepath.Join(good, "SHA256SUMS"))
	if err != nil {
		t.Fatalf("read the sums: %v", err)
	}
	for dir, text := range map[string]string{"changed": string(sums), "unnamed": "", "none": "<html>"} {
		dir = filepath.Join(folder, dir, "v9.9.9")
		err := os.MkdirAll(dir, 0o755)
		for name, text := range map[string]string{"SHA256SUMS": text, "dbtester-v9.9.9-linux-" + runtime.GOARCH + ".tar.gz": "changed"} {
			if err == nil {
				err = os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644)
			}
		}
		if err != nil {
			t.Fatalf("make a wrong release: %v", err)
		}
	}
	return folder
}

// TestAction runs the steps in action.yml as an ordinary user in a separate root file system. The
// root has the programs needed by the steps and the action files. Its network has nothing but a
// server for a release, packed by scripts/release.sh, and for the GitHub API.
func TestAction(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	defer func() {
		if t.Skipped() && os.Getenv("CI") == "true" {
			t.Error("skipped under CI")
		}
	}()
	if !namespacetest.Again(t, syscall.CLONE_NEWNS|syscall.CLONE_NEWNET, 0) {
		return
	}
	for _, tool := range []string{"curl", "jq", "tar"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not on this machine", tool)
		}
	}
	r := newRunner(t, release(t))
	t.Run("runs", func(t *testing.T) { r.of(t).makesRuns() })
	t.Run("gate", func(t *testing.T) { r.of(t).gates() })
	t.Run("comments", func(t *testing.T) { r.of(t).commentsOnce() })
	t.Run("releases", func(t *testing.T) { r.of(t).verifies() })
}

// makesRuns is a job that compares by real runs.
func (r *runner) makesRuns() {
	t := r.t
	r.root.Write(workspace+"/compare.yaml", "title: compare\nhosts: [127.0.0.1]\nload: {requests: 200, clients: 2}\ndatabases:\n  etcd: {options: {log_level: error}}\n")
	r.root.Write(workspace+"/branch", "#!/usr/bin/bash\nexec dbtester serve etcd \"$@\"\n")
	if err := os.Chmod(r.root.Path(workspace+"/branch"), 0o755); err != nil {
		t.Fatalf("make a program: %v", err)
	}
	j := r.job(map[string]string{"args": "--local --config compare.yaml\n--b-exec ./branch --pairs 2 --results runs", "fail-on": ""})
	out, err := j.run()
	// Two pairs decide nothing, and a busy machine may make a run invalid.
	if verdict := j.outputs["verdict"]; err != nil || verdict != "inconclusive" && verdict != "invalid" {
		t.Errorf("the job ended with %v and the verdict %q:\n%s", err, verdict, out)
	}
	runs, err := filepath.Glob(r.root.Path(workspace + "/runs/[ab]/*/*/manifest.json"))
	if err != nil || len(runs) != 4 {
		t.Errorf("runs %q, %v, want 4", runs, err)
	}
	if summary := r.read(runnerFiles + "/summary"); !strings.Contains(summary, "Compare: "+j.outputs["verdict"]) {
		t.Errorf("summary: %s", summary)
	}
	if len(r.api.comments) != 1 || !strings.Contains(r.api.comments[0].Body, "Compare: "+j.outputs["verdict"]) {
		t.Errorf("comments %+v, want one with the verdict", r.api.comments)
	}
	if j.artifacts["dbtester-compare"] != workspace+"/dbtester-compare" {
		t.Errorf("artifacts %q", j.artifacts)
	}
	for _, name := range []string{"comment.md", "compare.md", "compare.png", "junit.xml"} {
		if r.read(workspace+"/dbtester-compare/"+name) == "" {
			t.Errorf("the report has no %s", name)
		}
	}
}

// sides copies recorded runs into the root, and returns arguments that compare them.
func (r *runner) sides(a, b []string) string {
	args := "--metric p50"
	for i, side := range [][]string{a, b} {
		if i == 1 {
			args += " --to"
		}
		for _, folder := range side {
			to := "recorded/" + filepath.Base(folder)
			if err := os.CopyFS(r.root.Path(filepath.Join(workspace, to)), os.DirFS(folder)); err != nil && !os.IsExist(err) {
				r.t.Fatalf("copy a run: %v", err)
			}
			args += " " + to
		}
	}
	return args
}

// gates has a job for each verdict.
func (r *runner) gates() {
	t := r.t
	slow, fast := recordedRuns(t, "slow", 4, 3*time.Millisecond, nil), recordedRuns(t, "fast", 4, 2*time.Millisecond, nil)
	invalid := recordedRuns(t, "invalid", 4, 3*time.Millisecond, func(_ *runtest.Fixture, run *results.DatabaseRun) {
		run.Validity = []results.Mark{{Code: "server lost", Invalid: true, Text: "member 1"}}
	})
	for _, tt := range []struct{ name, args, failOn, verdict, fails string }{
		{"better", r.sides(slow, fast), "worse,invalid", "better", ""},
		{"worse", r.sides(fast, slow), "worse, invalid", "worse", "dbtester compare: worse"},
		{"worse, allowed", r.sides(fast, slow), "invalid", "worse", ""},
		{"undecided is neutral", r.sides(fast[:1], slow[:1]), "worse,invalid", "inconclusive", ""},
		{"undecided, forbidden", r.sides(fast[:1], slow[:1]), "worse,inconclusive", "inconclusive", "dbtester compare: inconclusive"},
		{"not valid", r.sides(invalid, slow), "worse,invalid", "invalid", "dbtester compare: invalid"},
		{"not valid, allowed", r.sides(invalid, slow), "", "invalid", ""},
		{"a wrong argument", "--nonsense", "", "error", "dbtester compare: error"},
		{"a wrong word", r.sides(slow, fast), "worst", "", `fail-on must have the words worse, invalid and inconclusive, got 'worst'`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			j := r.of(t).job(map[string]string{"args": tt.args, "fail-on": tt.failOn})
			j.wants(tt.verdict, tt.fails)
			if summary := r.read(runnerFiles + "/summary"); tt.verdict != "" && tt.verdict != "error" && !strings.Contains(summary, "Compare: "+tt.verdict) {
				t.Errorf("summary: %s", summary)
			}
			if report := r.read(workspace + "/dbtester-compare/junit.xml"); (report != "") != (tt.verdict != "" && tt.verdict != "error") {
				t.Errorf("junit.xml: %s", report)
			}
			if _, uploaded := j.artifacts["dbtester-compare"]; uploaded != (tt.verdict != "") {
				t.Errorf("artifacts %q", j.artifacts)
			}
		})
	}
}

// commentsOnce has jobs for pull request 7 after 100 other comments, one of them by a stranger and
// similar to ours: one comment stays for each name. Jobs for forks and pushes write no comment.
func (r *runner) commentsOnce() {
	t := r.t
	slow, fast := recordedRuns(t, "slow", 4, 3*time.Millisecond, nil), recordedRuns(t, "fast", 4, 2*time.Millisecond, nil)
	better, worse := r.sides(slow, fast), r.sides(fast, slow)
	r.api.comments, r.api.calls = []comment{}, nil
	r.api.write("User", "NONE", "<!-- dbtester-compare -->\nmine")
	for range 100 {
		r.api.write("User", "OWNER", "a comment of a person")
	}
	other := map[string]string{"args": better, "name": "second"}
	fork, push := r.job(map[string]string{"args": better}), r.job(map[string]string{"args": better})
	fork.event["github.event.pull_request.head.repo.full_name"], push.event["github.event_name"] = "stranger/store", "push"
	for _, j := range []*job{r.job(map[string]string{"args": worse, "fail-on": ""}), r.job(map[string]string{"args": better}), r.job(other), push, fork} {
		if out, err := j.run(); err != nil {
			t.Fatalf("the job ended with %v:\n%s", err, out)
		}
	}
	if want := []string{"create", "update 102", "create"}; !slices.Equal(r.api.calls, want) {
		t.Errorf("calls %q, want %q", r.api.calls, want)
	}
	if got := r.api.comments[101].Body; !strings.HasPrefix(got, "<!-- dbtester-compare -->\n### Compare: better") {
		t.Errorf("the comment is %q, want the second verdict", got)
	}
	// The second workflow in docs/ci.md has the report from the job of the fork and a number.
	out, err := r.shell(actionDir+"/scripts/action.sh comment", "OUTPUT="+fork.artifacts["dbtester-compare"], "TOKEN=secret", "PULL_REQUEST=7")
	if n := len(r.api.calls); err != nil || r.api.calls[n-1] != "update 102" || n != 4 {
		t.Errorf("the comment of a fork: %v, calls %q:\n%s", err, r.api.calls, out)
	}
	r.root.Mkdir(workspace + "/fork")
	if err := os.Symlink("/proc/self/environ", r.root.Path(workspace+"/fork/comment.md")); err != nil {
		t.Fatalf("make a link: %v", err)
	}
	for want, env := range map[string][]string{
		"PULL_REQUEST must be a number, got '7/../8'": {"OUTPUT=dbtester-compare", "PULL_REQUEST=7/../8"},
		"fork/comment.md must be a file, and no link": {"OUTPUT=fork", "PULL_REQUEST=7"},
		"none/comment.md must be a file, and no link": {"OUTPUT=none", "PULL_REQUEST=7"},
		"the name of a comparison must have letters":  {"OUTPUT=dbtester-compare", "PULL_REQUEST=7", "NAME=a --> b"},
	} {
		if out, err := r.shell(actionDir+"/scripts/action.sh comment", append(env, "TOKEN=secret")...); err == nil || !strings.Contains(out, want) {
			t.Errorf("%q: %v, want %q:\n%s", env, err, want, out)
		}
	}
	if n := len(r.api.calls); n != 4 {
		t.Errorf("calls %q, want none that failed", r.api.calls)
	}
}

// verifies has jobs whose release differs from its sums, or is missing.
func (r *runner) verifies() {
	for name, text := range map[string]string{
		"changed": "is not the file that SHA256SUMS names", "unnamed": "is not the file that SHA256SUMS names", "none": "is not the file that SHA256SUMS names",
		"nowhere": "cannot download",
	} {
		j := r.job(map[string]string{"args": "--help", "releases": r.url + "/releases/" + name})
		j.wants("", text)
		if path := r.read(runnerFiles + "/path"); path != "" {
			r.t.Errorf("%s: a program is in the path: %s", name, path)
		}
	}
}
