package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/coreos/dbtester/analyze/answers"
	"github.com/coreos/dbtester/analyze/answers/headline"
	"github.com/coreos/dbtester/pkg/files/plaintext"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/sleep/slowtest"
)

// publishedRun unpacks a record in test-results into a folder.
func publishedRun(t *testing.T, name, dir string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	record := filepath.Join("..", "..", "test-results", name, "records", "1")
	archives, err := filepath.Glob(filepath.Join(record, "*.tar.gz"))
	if err != nil || len(archives) == 0 {
		t.Fatalf("%s has no archives: %v", record, err)
	}
	manifest, err := os.ReadFile(filepath.Join(record, results.FileManifest))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, results.FileManifest), manifest, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, archive := range archives {
		if out, err := exec.Command("tar", "-xzf", archive, "-C", dir).CombinedOutput(); err != nil {
			t.Fatalf("unpack %s: %v: %s", archive, err, out)
		}
	}
}

// TestSubmitDocument runs the commands in docs/submit.md, one after another, in a tree with the
// script called by make. They make a report on a published record with its verdict, in the report
// list.
func TestSubmitDocument(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "submit.md"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	publishedRun(t, "quickstart", filepath.Join(dir, "results", "my-first-experiment", "20260102T150405Z"))
	script, err := os.ReadFile(filepath.Join("..", "..", "scripts", "publish-results.sh"))
	if err != nil {
		t.Fatal(err)
	}
	program, err := exec.LookPath("dbtester")
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{"scripts", "bin"} {
		if err := os.Mkdir(filepath.Join(dir, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "scripts", "publish-results.sh"), script, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(program, filepath.Join(dir, "bin", "dbtester")); err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, line := range commandLines(string(text), "sh") {
		words := shellWords(line)
		if len(words) == 0 {
			continue
		}
		if words[0] == "make" { // as the Makefile has it, without a build
			words = append([]string{"scripts/publish-results.sh", "--reports"}, strings.TrimPrefix(words[2], "NAMES="))
		}
		cmd := exec.Command(words[0], words[1:]...)
		if cmd.Dir = dir; words[0] == "scripts/publish-results.sh" {
			cmd.Path = filepath.Join(dir, words[0])
		}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%q: %v\n%s", words, err, out)
		}
		ran++
	}
	if ran != 4 {
		t.Errorf("%d commands ran, want 4", ran)
	}
	list, err := os.ReadFile(filepath.Join(dir, "test-results", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	answer, _ := publishedAnswer(t, "test-results/quickstart")
	if want := answer.Sentence; !strings.Contains(string(list), want) || !strings.Contains(string(list), "### One shared machine\n") {
		t.Errorf("the list has no %q of one shared machine:\n%s", want, list)
	}
	if _, err := os.Stat(filepath.Join(dir, "test-results", "my-machines", "records", "1", "SCRUBBED.txt")); err != nil {
		t.Error(err)
	}
}

// TestSubmitExits checks the output of submit, and its exit codes.
func TestSubmitExits(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	dir := t.TempDir()
	run, killed, to := filepath.Join(dir, "run"), filepath.Join(dir, "killed"), filepath.Join(dir, "a.tar.gz")
	publishedRun(t, "quickstart", run)
	publishedRun(t, "leader-killed", killed)
	manifest, err := os.ReadFile(filepath.Join(killed, results.FileManifest))
	if err != nil {
		t.Fatal(err)
	}
	invalid := strings.ReplaceAll(string(manifest), `"code": "queueing",`, `"code": "queueing", "invalid": true,`)
	if err := os.WriteFile(filepath.Join(killed, results.FileManifest), []byte(invalid), 0o644); err != nil {
		t.Fatal(err)
	}
	code, out, errs := program(t, "submit", run, "--to", to)
	for _, want := range []string{"1 x host name: host-1", "host-1 = vm", "etcd/1-agent.log: the log of an agent", "into " + to + ": look through it"} {
		if code != exitDone || !strings.Contains(out, want) {
			t.Errorf("exit code %d; no %q in:\n%s%s", code, want, out, errs)
		}
	}
	if code, _, errs := program(t, "submit", run, "--to", to); code != exitUsage || !strings.Contains(errs, to) || !strings.Contains(errs, "file already exists") {
		t.Errorf("an existing file: exit code %d, %s", code, errs)
	}
	if code, _, errs := program(t, "submit", run, "--hide", "Update", "--to", filepath.Join(dir, "d.tar.gz")); code != exitUsage || !strings.Contains(errs, "a word that every record has") {
		t.Errorf("a word that cannot be hidden: exit code %d, %s", code, errs)
	}
	if code, _, errs := program(t, "submit", killed, "--to", filepath.Join(dir, "b.tar.gz")); code != exitInvalid || !strings.Contains(errs, "recorded, but not valid") {
		t.Errorf("a run that is not valid: exit code %d, %s", code, errs)
	}
	if _, err := os.Stat(filepath.Join(dir, "b.tar.gz")); err != nil {
		t.Errorf("a run that is not valid is packed with its marks: %v", err)
	}
	if err := os.Remove(filepath.Join(run, "etcd", results.FileIntervals)); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := program(t, "submit", run, "--to", filepath.Join(dir, "c.tar.gz")); code != exitFailed || !strings.Contains(errs, "intervals.csv is missing") {
		t.Errorf("a run without its requests: exit code %d, %s", code, errs)
	}
	if code, _, errs := program(t, "submit", dir); code != exitUsage || !strings.Contains(errs, "is not a result folder") {
		t.Errorf("a folder that is no run: exit code %d, %s", code, errs)
	}
}

// publishedAnswer returns the answer in the report below folder.
func publishedAnswer(t *testing.T, folder string) (answers.Answer, headline.Grade) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", folder, "all-aggregated.json"))
	if err != nil {
		t.Fatal(err)
	}
	var report struct {
		Headline struct {
			Answer answers.Answer
			Grade  headline.Grade
		}
	}
	if err := json.Unmarshal(data, &report); err != nil {
		t.Fatal(err)
	}
	return report.Headline.Answer, report.Headline.Grade
}

// TestReadmeVerdict: the README has the answer and grade of the report below the picture.
func TestReadmeVerdict(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	picture := regexp.MustCompile(`\]\((test-results/[^/)]+)/(?:figures/)?[^/)]+\.svg\)`).FindSubmatch(readme)
	if picture == nil {
		t.Fatal("the README shows no picture of test-results")
	}
	answer, grade := publishedAnswer(t, string(picture[1]))
	line := func(s string) string { return plaintext.Markdown(plaintext.Line(s)) } // as in the README of the report
	for _, want := range []string{"> **" + line(answer.Sentence) + "** " + line(answer.Basis) + "\n", "> " + line(grade.String()) + "\n"} {
		if !bytes.Contains(readme, []byte(want)) {
			t.Errorf("the README must have the line %q of %s", want, picture[1])
		}
	}
}

// TestReadmeDownload: the archive downloaded in the README has a name made by scripts/release.sh,
// for a version in the changelog.
func TestReadmeDownload(t *testing.T) {
	t.Parallel()
	text := func(name string) string {
		data, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	readme := text("README.md")
	found := regexp.MustCompile(`/releases/download/(v[0-9.]+)/(dbtester-(v[0-9.]+)-linux-amd64)\.tar\.gz`).FindStringSubmatch(readme)
	if found == nil || found[1] != found[3] || !strings.Contains(readme, "\n"+found[2]+"/dbtester quickstart\n") {
		t.Fatalf("the README must download an archive and run what is in it, got %q", found)
	}
	if !strings.Contains(text("CHANGELOG.md"), found[1]) || !strings.Contains(text("scripts/release.sh"), "name=dbtester-$VERSION-${target%/*}-${target#*/}\n") {
		t.Errorf("%s is no name of a release of this project", found[2])
	}
}
