package main

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/database/all"
)

// TestReadmeCommands parses every command in the documentation: dbtester knows the command
// and its flags, the Makefile has the target, and a script its flags.
func TestReadmeCommands(t *testing.T) {
	makefile, err := os.ReadFile(filepath.Join("..", "..", "Makefile"))
	if err != nil {
		t.Fatalf("read the file: %v", err)
	}
	seen := 0
	for _, doc := range documents(t) {
		for _, line := range append(commandLines(doc.text, "sh"), jobLines(doc.text)...) {
			words := shellWords(line)
			var err error
			switch {
			case len(words) == 0:
				continue
			case path.Base(words[0]) == "dbtester":
				err = parseCommand(words[1:])
			case words[0] == "make":
				err = findTargets(string(makefile), words[1:])
			case path.Ext(words[0]) == ".sh":
				err = findScript(words)
			default:
				continue
			}
			if seen++; err != nil {
				t.Errorf("%s: %s: %v", doc.name, line, err)
			}
		}
	}
	if len(documents(t)) > 0 && seen < 3 {
		t.Errorf("only %d commands were seen: the test looks in the wrong place", seen)
	}
}

// TestReadmeFiles reads every complete experiment file in the documentation.
func TestReadmeFiles(t *testing.T) {
	catalog := all.Registry().All()
	for _, doc := range documents(t) {
		for _, text := range blocks(doc.text, "yaml") {
			if !strings.HasPrefix(text, "title:") {
				continue
			}
			if _, _, err := config.Parse(doc.name, []byte(text), catalog); err != nil {
				t.Errorf("%v\n%s", err, text)
			}
		}
	}
}

type document struct{ name, text string }

// documents returns the README, CONTRIBUTING.md and the pages in docs, which are named from there.
// A tree without a README is only used for building.
func documents(t *testing.T) (list []document) {
	t.Helper()
	root := filepath.Join("..", "..")
	files := []string{"README.md", "CONTRIBUTING.md"}
	for _, pattern := range []string{"docs/*.md", "docs/*/*.md"} {
		more, err := fs.Glob(os.DirFS(root), pattern)
		if err != nil {
			t.Fatalf("list the files: %v", err)
		}
		files = append(files, more...)
	}
	for _, file := range files {
		data, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			if os.Getenv("CI") == "true" {
				t.Errorf("read the file: %v", err)
			}
			continue
		}
		name := strings.TrimPrefix(file, "docs/")
		if name == "README.md" { // two files have this name
			name = file
		}
		list = append(list, document{name, string(data)})
	}
	return list
}

// blocks are the fenced blocks in a language.
func blocks(markdown, language string) (list []string) {
	fence := regexp.MustCompile("(?ms)^```" + language + "\n(.*?)^```")
	for _, match := range fence.FindAllStringSubmatch(markdown, -1) {
		list = append(list, match[1])
	}
	return list
}

// commandLines are the single commands in the shell blocks of a document.
func commandLines(markdown, language string) (list []string) {
	for _, block := range blocks(markdown, language) {
		block = strings.ReplaceAll(block, "\\\n", " ")
		for line := range strings.Lines(block) {
			line = strings.TrimPrefix(strings.TrimSpace(line), "$ ")
			list = append(list, regexp.MustCompile(`&&|\|\|?|;|&(?: |$)`).Split(line, -1)...)
		}
	}
	return list
}

// jobLines are the dbtester and make commands in the steps of a YAML job.
func jobLines(markdown string) (list []string) {
	for _, block := range blocks(markdown, "yaml") {
		block = regexp.MustCompile(`>-\n\s+`).ReplaceAllString(block, "")
		block = regexp.MustCompile(`\n\s+(--)`).ReplaceAllString(block, " $1")
		for _, match := range regexp.MustCompile(`(?m)^\s*(?:- )?run: (.*)$`).FindAllStringSubmatch(block, -1) {
			list = append(list, match[1])
		}
	}
	return list
}

// shellWords are the words of a simple command, without settings before it, redirections, pipes,
// and comments.
func shellWords(line string) (words []string) {
	for _, word := range regexp.MustCompile(`'[^']*'|"[^"]*"|\S+`).FindAllString(line, -1) {
		switch {
		case strings.HasPrefix(word, "#"), word == "|":
			return words
		case len(words) == 0 && (word == "sudo" || strings.Contains(word, "=")), strings.HasPrefix(word, ">"), strings.HasPrefix(word, "<"):
			continue
		}
		words = append(words, strings.Trim(word, `'"`))
	}
	return words
}

// parseCommand parses a command line as dbtester does, and runs nothing.
func parseCommand(args []string) error {
	cmd, rest, err := testRoot(args).Find(args)
	if err != nil {
		return err
	}
	cmd.InitDefaultHelpFlag()
	if cmd.DisableFlagParsing {
		return nil
	}
	if err := cmd.ParseFlags(rest); err != nil {
		return flagError(cmd, err)
	}
	return validArgs(cmd)
}

// testRoot is the command tree with the commands that cobra adds for a command line.
func testRoot(args []string) *cobra.Command {
	root := newRoot(&app{registry: all.Registry()})
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd(args...)
	return root
}

func validArgs(cmd *cobra.Command) error {
	if help, err := cmd.Flags().GetBool("help"); err == nil && help {
		return nil
	}
	return cmd.ValidateArgs(cmd.Flags().Args())
}

// findTargets searches for the requested make targets; settings are no targets.
func findTargets(makefile string, words []string) error {
	for _, word := range words {
		if strings.HasPrefix(word, "-") || strings.Contains(word, "=") {
			continue
		}
		if !regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(word) + `:`).MatchString(makefile) {
			return fmt.Errorf("the Makefile has no target %q", word)
		}
	}
	return nil
}

// findScript searches for a script in the project and, in the comment at its top, for the given
// flags and verbs.
func findScript(words []string) error {
	text, err := os.ReadFile(filepath.Join("..", "..", "scripts", path.Base(words[0])))
	if err != nil {
		return err
	}
	usage := regexp.MustCompile(`(?m)^#.*$`).FindAllString(string(text), -1)
	verb := len(words) == 2 && !strings.HasPrefix(words[1], "-")
	for _, word := range words[1:] {
		if (verb || strings.HasPrefix(word, "--")) && !slices.ContainsFunc(usage, func(line string) bool {
			return slices.Contains(strings.Fields(line), word)
		}) {
			return fmt.Errorf("%s does not explain %q", path.Base(words[0]), word)
		}
	}
	return nil
}

// Wrong lines in documents are found.
func TestParseCommand(t *testing.T) {
	for line, good := range map[string]bool{
		"dbtester quickstart":                                true,
		"dbtester control --local --config FILE # and so on": true,
		"dbtester control --config=FILE -c FILE":             true,
		"dbtester analyze RUN1 RUN2 > table.txt":             true,
		"HOME=/tmp dbtester version":                         true,
		"dbtester config init my.yaml":                       true,
		"dbtester help control":                              true,
		"dbtester completion bash":                           true,
		"dbtester":                                           true,
		"dbtester start":                                     false,
		"dbtester control --confg FILE":                      false,
		"dbtester quickstart now":                            false,
		"dbtester config check":                              false,
		"dbtester config start FILE":                         false,
		"dbtester control --requests many":                   false,
	} {
		words := shellWords(line)
		if i := slices.Index(words, "dbtester"); i != 0 {
			t.Errorf("%s: words %q", line, words)
			continue
		}
		if err := parseCommand(words[1:]); (err == nil) != good {
			t.Errorf("%s: %v", line, err)
		}
	}
	job := "```yaml\nsteps:\n  - run: make build\n  - run: >-\n      dbtester compare --local\n      --confg FILE >>\"$OUT\"\n```\n"
	if got := jobLines(job); len(got) != 2 || got[0] != "make build" || strings.Join(shellWords(got[1]), " ") != "dbtester compare --local --confg FILE" {
		t.Errorf("a job's commands are %q, want both, the second on one line", got)
	}
	if findTargets("build: x\n\t...\n", []string{"-s", "build", "GO=go"}) != nil || findTargets("build: x\n", []string{"bild"}) == nil {
		t.Error("targets")
	}
	for line, good := range map[string]bool{
		"sudo ./machine-server.sh --listen 10.0.0.2:3500 --dry-run": true,
		"sudo ./machine-server.sh --port 3500":                      false,
		"DRY_RUN=1 scripts/gcloud.sh create":                        true,
		"scripts/gcloud.sh destroy":                                 false,
		"scripts/machine-router.sh":                                 false,
	} {
		if err := findScript(shellWords(line)); (err == nil) != good {
			t.Errorf("%s: %v", line, err)
		}
	}
}
