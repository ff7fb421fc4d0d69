package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/coreos/dbtester/pkg/database/all"
)

// TestMachineCommands parses every dbtester command in the output of machine scripts: the agent
// unit, and the commands for machines in a cloud.
func TestMachineCommands(t *testing.T) {
	for name, pattern := range map[string]string{
		"dbtester-agent.service": `(?m)^ExecStart=(/usr/local/bin/dbtester .*)$`,
		"gcloud.txt":             `(?m)^(bin/dbtester .*)$`,
	} {
		found := regexp.MustCompile(pattern).FindAllStringSubmatch(scriptText(t, "testdata", name), -1)
		if len(found) == 0 {
			t.Errorf("%s has no command of dbtester: the test looks in the wrong place", name)
		}
		for _, m := range found {
			if err := parseCommand(shellWords(m[1])[1:]); err != nil {
				t.Errorf("%s: %s: %v", name, m[1], err)
			}
		}
	}
}

// The ports that the scripts open and the documentation lists belong to the agent and to all
// databases.
func TestMachinePorts(t *testing.T) {
	ports := []int{3500}
	for _, d := range all.Registry().All() {
		for _, port := range d.Info.Ports {
			ports = append(ports, port)
		}
	}
	slices.Sort(ports)
	ports = slices.Compact(ports)
	words := make([]string, len(ports))
	for i, port := range ports {
		words[i] = strconv.Itoa(port)
	}
	if want := "\nports=" + strings.Join(words, ",") + "\n"; !strings.Contains(scriptText(t, "machine-server.sh"), want) {
		t.Errorf("machine-server.sh must have the line %q: the ports of the agent and of all databases", want)
	}
	doc := scriptText(t, "..", "docs", "three-machines.md")
	for _, word := range words {
		if !regexp.MustCompile(`(?m)^\|.*\b` + word + `\b`).MatchString(doc) {
			t.Errorf("docs/three-machines.md has no port %s in its table", word)
		}
	}
}

// scriptText is the text of a file by its path from the scripts folder.
func scriptText(t *testing.T, elements ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(append([]string{"..", "..", "scripts"}, elements...)...))
	if err != nil {
		t.Fatalf("read the file: %v", err)
	}
	return string(text)
}

// TestTroubleshooting searches the sources for each message and mark in the first table columns in
// docs/troubleshooting.md, so a changed message is also changed there.
func TestTroubleshooting(t *testing.T) {
	source := goSource(t)
	_, doc, _ := strings.Cut(scriptText(t, "..", "docs", "troubleshooting.md"), "\n## Agents are not reached\n")
	doc, _, _ = strings.Cut(doc, "\n## The report looks wrong\n")
	system := []string{"connection refused", "no route to host", "too many open files"} // messages from the kernel
	seen := 0
	for _, row := range regexp.MustCompile("(?m)^\\| (`[^|]*) \\|").FindAllStringSubmatch(doc, -1) {
		for _, quoted := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[1], -1) {
			for part := range strings.SplitSeq(quoted[1], "...") {
				if seen++; !strings.Contains(source, part) && !slices.Contains(system, part) {
					t.Errorf("docs/troubleshooting.md has %q, which nothing prints", part)
				}
			}
		}
	}
	if seen < 30 {
		t.Errorf("only %d messages were seen: the test looks in the wrong place", seen)
	}
}

// goSource is the text of all Go files in this module but tests.
func goSource(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (path == filepath.Join(root, "results") || slices.Contains([]string{".git", "bin", "test-results", "testdata"}, d.Name())):
			return fs.SkipDir
		case d.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(path)
		b.Write(text)
		return err
	})
	if err != nil {
		t.Fatalf("read the sources: %v", err)
	}
	return b.String()
}
