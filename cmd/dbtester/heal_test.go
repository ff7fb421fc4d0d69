package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/ability/faults"
	"github.com/coreos/dbtester/pkg/database/all"
	"github.com/coreos/dbtester/pkg/results"
)

// Recorded undos are printed. They are run only with permission, with the same undo in a file of
// the user, and with a yes.
func TestHeal(t *testing.T) {
	dir := t.TempDir()
	made := filepath.Join(dir, "made")
	folder, err := results.Create(filepath.Join(dir, "results"), "heal", time.Unix(1000, 0), "")
	if err != nil {
		t.Fatal(err)
	}
	if err := folder.WriteManifest(&results.Manifest{Databases: []*results.DatabaseRun{{Tag: "etcd"}}}); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(folder.Path("etcd"), 0o755); err != nil {
		t.Fatal(err)
	}
	undos, err := faults.OpenUndo(filepath.Join(folder.Path("etcd"), faults.FileUndo), true)
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range []faults.Undo{
		{ID: "1-1", Run: []string{"mkdir", made}, Argv: []string{"rmdir", made}},
		{ID: "1-1", Run: []string{"mkdir", made}, Argv: []string{"rmdir", made}, Done: "rmdir ended with exit 0"},
		{ID: "1-2", Run: []string{"mkdir", made}, Argv: []string{"rmdir", made}},
	} {
		if err := undos.Note(u); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(made, 0o755); err != nil {
		t.Fatal(err)
	}
	file := func(name, undo string) string {
		path := filepath.Join(dir, name)
		text := fmt.Sprintf("title: heal\nload: {rate: 10, duration: 60s}\nfaults: [{kind: command, at: 10s, for: 1s, run: [mkdir, %[1]s], undo: [%[2]s, %[1]s]}]\ndatabases: {etcd: {tag: etcd, endpoints: ['127.0.0.1:2379']}}\n", made, undo)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	mine, other := file("mine.yaml", "rmdir"), file("other.yaml", "ls")
	heal := func(answer string, args ...string) (string, error) {
		var out bytes.Buffer
		a := &app{streams: streams{strings.NewReader(answer), &out, &out}, registry: all.Registry()}
		cmd := newHeal(a)
		cmd.SetArgs(append([]string{folder.Dir()}, args...))
		cmd.SetOut(&out)
		cmd.SetErr(&out)
		cmd.SilenceUsage = true
		err := cmd.ExecuteContext(t.Context())
		return out.String(), err
	}
	there := func(when string, want bool) {
		t.Helper()
		if _, err := os.Stat(made); (err == nil) != want {
			t.Errorf("%s: %v, want the folder there: %v", when, err, want)
		}
	}
	if out, err := heal(""); err == nil || !strings.Contains(err.Error(), "still in progress") {
		t.Errorf("while the run goes on: %v\n%s", err, out)
	}
	if err := undos.Close(); err != nil {
		t.Fatal(err)
	}
	out, err := heal("")
	if err != nil || strings.Count(out, "undone by: rmdir "+made) != 1 || !strings.Contains(out, "nothing was run") {
		t.Errorf("without the right: %v\n%s", err, out)
	}
	if _, err := heal("", "--allow-commands"); err == nil {
		t.Error("without an experiment file it must be refused")
	}
	if out, err := heal("yes\n", "--allow-commands", "--config", other); err == nil || !strings.Contains(err.Error(), "is none of the experiment file") {
		t.Errorf("with another file: %v\n%s", err, out)
	}
	if out, err := heal("no\n", "--allow-commands", "--config", mine); err == nil {
		t.Errorf("after a no: %s", out)
	}
	there("before a yes", true)
	if out, err := heal("yes\n", "--allow-commands", "--config", mine); err != nil || !strings.Contains(out, "rmdir ended with exit 0") {
		t.Errorf("after a yes: %v\n%s", err, out)
	}
	there("after a yes", false)
	if out, err := heal(""); err != nil || !strings.Contains(out, "no command of this run is left") {
		t.Errorf("once healed: %v\n%s", err, out)
	}
}
