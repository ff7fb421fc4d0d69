package main

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/database/all"
)

// TestDocumentFragments reads the parts of experiment files in documents, completed with the
// omitted parts. TestReadmeFiles reads complete files, and a test in pkg/config those in
// workloads.md.
func TestDocumentFragments(t *testing.T) {
	catalog := all.Registry().All()
	missing := [][2]string{
		{"hosts", "hosts: [127.0.0.1, 127.0.0.2, 127.0.0.3, 127.0.0.4, 127.0.0.5]\n"},
		{"load", "load: {duration: 1m}\n"},
		{"databases", "databases: {etcd: }\n"},
	}
	seen := 0
	for _, doc := range documents(t) {
		for _, block := range blocks(doc.text, "yaml") {
			of := keys(block)
			if slices.Contains([]string{"title", "apiVersion", "name"}, of[0]) && !strings.HasPrefix(block, "#") || doc.name == "workloads.md" {
				continue
			}
			for _, text := range alternatives(block) {
				of := keys(text)
				for _, m := range missing {
					if !slices.Contains(of, m[0]) && (m[0] != "hosts" || !strings.Contains(text, "endpoints:")) {
						text += m[1]
					}
				}
				seen++
				if _, _, err := config.Parse(doc.name, []byte(text), catalog); err != nil {
					t.Errorf("%v\n%s", err, text)
				}
			}
		}
	}
	if len(documents(t)) > 0 && seen < 15 {
		t.Errorf("%d parts were seen: the test looks in the wrong place", seen)
	}
}

// keys are the top-level keys in a YAML text.
func keys(text string) (list []string) {
	for _, m := range regexp.MustCompile(`(?m)^(\w+):`).FindAllStringSubmatch(text, -1) {
		list = append(list, m[1])
	}
	return list
}

// alternatives are the lines in a block that shows one key several times, else the block.
func alternatives(block string) []string {
	if of := keys(block); len(of) < 2 || of[0] != of[1] {
		return []string{block}
	}
	return slices.Collect(strings.Lines(block))
}
