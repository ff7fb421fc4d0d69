package config

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/coreos/dbtester/pkg/ability/faults"
)

var update = flag.Bool("update", false, "write the golden files again")

func TestShow(t *testing.T) {
	for name, file := range map[string]string{"show": fullFile, "mixed": mixedFile} {
		t.Run(name, func(t *testing.T) { wantShown(t, file, name+".golden.yaml") })
	}
}

// wantShown shows a file and compares with a golden one.
func wantShown(t *testing.T, file, name string) {
	t.Helper()
	got, err := Show(parse(t, file))
	if err != nil {
		t.Fatalf("show the experiment: %v", err)
	}
	golden := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(golden, got, 0o644); err != nil {
			t.Fatalf("write a file for the test: %v", err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatalf("read the file: %v", err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("shown (-want +got):\n%s", diff)
	}
}

func TestShowIsReadAgain(t *testing.T) {
	for name, file := range map[string]string{
		"full":  fullFile,
		"mixed": mixedFile,
		"short": "hosts: [a]\ndatabases: {zookeeper: , etcd: {options: {flags: ['# no', '~', 'a: b']}}}\n",
		"durations": "hosts: [a]\ntitle: 'null'\nload: {duration: 90s, clients: [1, 2], operation: read-oneshot, same_key: true}\n" +
			"databases: {consul: }\nplots: []\n",
		"profile": "hosts: [a]\nprofile: {cpu: 30s}\ndatabases: {etcd: }\n",
		"starter": string(Starter(testCatalog())),
		"classic": classicFileForTest,
	} {
		t.Run(name, func(t *testing.T) { wantSameAgain(t, name, []byte(file)) })
	}
}

// wantSameAgain shows a file, reads that, and compares.
func wantSameAgain(t *testing.T, name string, file []byte) {
	t.Helper()
	first, _, err := Parse(name, file, testCatalog())
	if err != nil {
		t.Fatalf("parse the experiment: %v", err)
	}
	shown, err := Show(first)
	if err != nil {
		t.Fatalf("show the experiment: %v", err)
	}
	second, warnings, err := Parse("shown", shown, testCatalog())
	if err != nil {
		t.Fatalf("%v\n%s", err, shown)
	}
	for _, w := range warnings {
		if w.Line > 0 && first.Upload == nil {
			t.Error(w)
		}
	}
	options := cmp.Options{cmpopts.EquateEmpty(), cmpopts.IgnoreFields(Experiment{}, "Path", "Classic"), cmpopts.IgnoreUnexported(Experiment{}), cmpopts.IgnoreFields(faults.Fault{}, "Place")}
	if diff := cmp.Diff(first, second, options); diff != "" {
		t.Errorf("read again (-first +second):\n%s\n%s", diff, shown)
	}
	again, err := Show(second)
	if err != nil || string(again) != string(shown) {
		t.Errorf("shown again it differs: %v\n%s", err, cmp.Diff(string(shown), string(again)))
	}
}
