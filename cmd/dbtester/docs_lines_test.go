package main

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// shown defines how to test lines with the same beginning in the shell blocks of a document.
type shown struct {
	begins string
	// by is the test in this folder or in scripts, or the make target, that runs the lines. why is
	// the reason why nothing does, and they are only parsed. Without either TestDocumentsRun runs
	// them.
	by, why string
	// before prepares files that this line needs and others in the document must not have.
	before func(*page)
	// change has texts in the document, each followed by its replacement in the test. HOST1 to
	// HOST3 are loopback addresses.
	change []string
	codes  []int  // exit codes that are as good as 0
	until  string // the line is interrupted once standard error matches this
	want   string // matches the printed text
}

// tested defines how to test the lines of a document. prepare makes the files that they name.
type tested struct {
	prepare func(*page)
	lines   []shown
}

// documented has every document with a shell block. A new line whose beginning is not listed
// here fails TestDocumentLines.
func documented() map[string]tested {
	const cluster = "needs a Kubernetes cluster"
	few := []string{"dbtester analyze", "dbtester analyze --config few.yaml"} // drawing takes long with the race detector
	table := map[string]tested{
		"README.md": {lines: []shown{
			{begins: "make quickstart", why: "builds, and runs what TestQuickstart does"},
			{begins: "curl -fsSL https://", by: "make stranger"},
			{begins: "dbtester-v", by: "make stranger"},
			{begins: "dbtester ", by: "TestReadmeRuns"},
		}},
		"CONTRIBUTING.md": {lines: []shown{{begins: "make ", why: "targets of the Makefile; CI runs verify and test"}}},
		"commands.md": {lines: []shown{
			{begins: "dbtester quickstart", by: "TestQuickstart"},
			{begins: "dbtester ", by: "TestReadmeRuns"},
		}},
		"capacity.md": {(*page).searchFile, []shown{{
			begins: "dbtester capacity --config FILE", codes: []int{exitInvalid}, want: `(?i)capacity`,
			change: []string{"FILE", "FILE --window 100ms --settle 0s --windows 12 --hold 0s --tolerance 50%"},
		}}},
		"ci.md":            ciLines(),
		"compare.md":       compareLines(),
		"consistency.md":   {lines: []shown{{begins: "dbtester consistency LAST --porcupine", by: "TestSampledRun"}}},
		"compatibility.md": {nil, []shown{{begins: "dbtester docs man", change: []string{"/usr/local/share/man/", ""}, want: "manual pages"}, {begins: "dbtester completion"}, {begins: "dbtester config schema", want: `"\$schema"`}}},
		"kubernetes.md": {(*page).kubeFiles, []shown{
			{begins: "make ", why: "writes an image; the tests of tools/kube write one"},
			{begins: "podman ", why: "needs podman"},
			{begins: "kubectl ", why: cluster},
			{begins: "dbtester kube render", change: []string{"bench-manifests.yaml", "/dev/stdout", "zookeeper-manifests.yaml", "/dev/stdout"}, want: "kind: StatefulSet"},
			{begins: "dbtester certs "},
			{begins: "dbtester analyze ", by: "TestReadmeRuns"},
		}},
		"live.md": {lines: []shown{
			{begins: "dbtester control --local --live", by: "TestLive"},
			{begins: "dbtester control --config FILE --live", by: "TestLiveWithCertificates"},
			{begins: "curl --cacert certs/control", by: "TestLiveWithCertificates"},
			{begins: "dbtester agent --agent-port", by: "TestAgentMetricsCallers"},
		}},
		"machines.md": {func(p *page) { p.mkdir("disk"); p.startAgents(p.hosts[:2]) }, []shown{{
			begins: "dbtester check-disk /var/lib/dbtester", codes: []int{exitFailed, exitWorse}, want: "verdict",
			change: []string{"/var/lib/dbtester", "disk --duration 1s", "10.0.0.3,10.0.0.4", "HOST1,HOST2"},
		}}},
		"report.md": {(*page).twoReports, []shown{
			{begins: "dbtester analyze --title", want: "before", change: few},
			{begins: "dbtester index", want: "test-results"},
		}},
		"scale.md": {
			func(p *page) { p.start("certs", "init", "--hosts", p.hosts[0]).exits(exitDone, patience) },
			[]shown{{
				begins: "dbtester agent", codes: []int{exitInterrupted}, until: "agent listens",
				change: []string{"10.0.0.8", "HOST1", "--allow-load", "--allow-load --work-dir work"},
			}},
		},
		"shared.md": {(*page).sharedCluster, []shown{{begins: "dbtester cleanup", change: []string{"results/TITLE/TIME", "results/*/* --yes"}, want: "removed [1-9]"}}},
		"submit.md": {lines: []shown{{begins: "", by: "TestSubmitDocument"}}},
		"sweep.md": {
			func(p *page) { p.recorded("results/RUN", "run") },
			[]shown{{begins: "dbtester analyze --need", change: few, codes: []int{exitWorse, exitInconclusive}, want: "5,000"}},
		},
		"three-machines.md":  machineLines(),
		"troubleshooting.md": troubleLines(),
	}
	maps.Copy(table, questionLines())
	return table
}

// machineLines are the lines in three-machines.md.
func machineLines() tested {
	return tested{(*page).threeMachines, []shown{
		{begins: "make build", by: "make stranger"},
		{begins: "sha256sum bin/dbtester", by: "make stranger"},
		{begins: "bin/dbtester certs init", by: "make stranger"},
		{begins: "ssh 10.0.0.2 mkdir", by: "make stranger"},
		{begins: "scp -r bin/dbtester", by: "make stranger"},
		{begins: "sudo setup/machine-server.sh", by: "make stranger"},
		{begins: "rm -r setup", by: "make stranger"},
		{begins: "systemctl ", why: "needs a machine that systemd started"},
		{begins: "journalctl ", why: "needs a machine that systemd started"},
		{begins: "sudo scripts/machine-client.sh", by: "make stranger"},
		{begins: "dbtester config check three.yaml", want: "three.yaml: ok"},
		{begins: "dbtester control --config three.yaml --dry-run", want: "by agent 10.0.0.2:3500"},
		{begins: "dbtester control --config three.yaml", by: "make stranger"},
		{begins: "dbtester analyze RUN1 RUN2 RUN3", by: "make stranger"},
		{begins: "DRY_RUN=1 scripts/gcloud.sh", by: "TestGcloud"},
		{begins: "scripts/gcloud.sh", by: "TestGcloud"},
	}}
}

// troubleLines are the lines in troubleshooting.md.
func troubleLines() tested {
	return tested{(*page).troubles, []shown{
		{begins: "dbtester agent --check", change: []string{"--check", "--check --agent-port HOST1:0 --work-dir work --cache cache --token token"}, want: "usable +yes"},
		{begins: "dbtester config check FILE", want: "FILE: ok"},
		{begins: "dbtester control --config FILE --dry-run", want: "by agent "},
		{begins: "dbtester certs show certs", want: "10.0.0.2"},
		{begins: "dbtester install --list", change: []string{"--list", "--list --cache cache"}, want: "no releases in cache"},
	}}
}

// how finds how to test line: the longest beginning counts. It returns -1 for an untested line.
func (d tested) how(line string) int {
	found := -1
	for i, s := range d.lines {
		if strings.HasPrefix(line, s.begins) && (found < 0 || len(s.begins) > len(d.lines[found].begins)) {
			found = i
		}
	}
	return found
}

// TestDocumentLines: a test runs every line in a shell block or there is a reason against it, and
// every listed line exists.
func TestDocumentLines(t *testing.T) {
	table := documented()
	for _, doc := range documents(t) {
		if fences := regexp.MustCompile("(?m)^\\s*```(sh|bash|shell|console)\\b").FindAllString(doc.text, -1); len(fences) != len(blocks(doc.text, "sh")) {
			t.Errorf("%s has %d blocks of commands and %d that begin with ```sh at the beginning of a line: tests see only these", doc.name, len(fences), len(blocks(doc.text, "sh")))
		}
		used := map[int]bool{}
		for _, line := range shellLines(doc.text) {
			i := table[doc.name].how(line)
			if used[i] = true; i < 0 {
				t.Errorf("%s: nothing runs %q: list in documented how it is tested, or why not", doc.name, line)
			}
		}
		for i, s := range table[doc.name].lines {
			if !used[i] {
				t.Errorf("%s has no line that begins with %q", doc.name, s.begins)
			}
		}
	}
	tests := testNames(t)
	makefile, stranger := scriptText(t, "..", "Makefile"), scriptText(t, "stranger.sh")
	for name, d := range table {
		for _, s := range d.lines {
			target, made := strings.CutPrefix(s.by, "make ")
			switch {
			case s.by == "":
			case made && findTargets(makefile, []string{target}) != nil, !made && !slices.Contains(tests, s.by):
				t.Errorf("%s: %q is run by %s, which is not there", name, s.begins, s.by)
			case target == "stranger" && !strings.Contains(stranger, name+" '"+s.begins):
				t.Errorf("%s: scripts/stranger.sh does not run %q", name, s.begins)
			}
		}
	}
}

// shellLines are the commands in the shell blocks of a document.
func shellLines(markdown string) (lines []string) {
	for _, block := range blocks(markdown, "sh") {
		for line := range strings.Lines(strings.ReplaceAll(block, "\\\n", " ")) {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
				lines = append(lines, line)
			}
		}
	}
	return lines
}

// testNames are the tests in this folder and in scripts.
func testNames(t *testing.T) (names []string) {
	t.Helper()
	for _, pattern := range []string{"*_test.go", filepath.Join("..", "..", "scripts", "*_test.go")} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatalf("list the tests: %v", err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatalf("read the test: %v", err)
			}
			for _, m := range regexp.MustCompile(`(?m)^func (Test\w+)\(t `).FindAllSubmatch(text, -1) {
				names = append(names, string(m[1]))
			}
		}
	}
	return names
}

// TestDocumentSpans parses the commands that documents name in their sentences: each must
// exist with its flags.
func TestDocumentSpans(t *testing.T) {
	span := regexp.MustCompile("`((?:sudo )?(?:bin/)?dbtester [a-z][^`]*|make [a-z][^`]*|scripts/[a-z-]+\\.sh[^`]*)`")
	makefile := scriptText(t, "..", "Makefile")
	seen := 0
	for _, doc := range documents(t) {
		for _, m := range span.FindAllStringSubmatch(doc.text, -1) {
			words := shellWords(m[1])
			var err error
			switch {
			case words[0] == "make":
				err = findTargets(makefile, words[1:])
			case strings.HasPrefix(words[0], "scripts/"):
				err = findScript(words)
			default:
				err = parseFlags(words[1:])
			}
			if seen++; err != nil {
				t.Errorf("%s: %s: %v", doc.name, m[1], err)
			}
		}
	}
	if seen < 100 {
		t.Errorf("%d commands were seen: the test looks in the wrong place", seen)
	}
}

// TestHelpExamples parses the examples in the help of commands, and in their manual pages.
func TestHelpExamples(t *testing.T) {
	seen := 0
	for commands := []*cobra.Command{testRoot(nil)}; len(commands) > 0; commands = append(commands[1:], commands[0].Commands()...) {
		for line := range strings.Lines(commands[0].Example) {
			words := shellWords(strings.TrimSpace(line))
			if len(words) == 0 {
				continue
			}
			if seen++; words[0] != "dbtester" {
				t.Errorf("%s: %q is no command of dbtester", commands[0].CommandPath(), line)
			} else if err := parseCommand(words[1:]); err != nil {
				t.Errorf("%s: %s: %v", commands[0].CommandPath(), line, err)
			}
		}
	}
	if seen < 5 {
		t.Errorf("%d examples were seen: the test looks in the wrong place", seen)
	}
}

// parseFlags finds a command and reads its flags. Arguments may be missing, also for the last flag.
func parseFlags(args []string) error {
	cmd, rest, err := testRoot(args).Find(args)
	if err != nil || cmd.DisableFlagParsing {
		return err
	}
	cmd.InitDefaultHelpFlag()
	if err := cmd.ParseFlags(rest); err != nil && !strings.HasPrefix(err.Error(), "flag needs an argument") {
		return err
	}
	return nil
}
