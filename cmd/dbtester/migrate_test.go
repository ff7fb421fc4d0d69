package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/database/all"
)

// Every available classic file gives the same experiment in the compact form.
func TestMigrate(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(classicDir(), "configs", "*.yaml"))
	if err != nil {
		t.Fatalf("list the files: %v", err)
	}
	if len(files) < 5 && os.Getenv("CI") == "true" {
		t.Fatalf("%d classic files in %s: name their folder in DBTESTER_CLASSIC_DIR", len(files), classicDir())
	}
	files = append(files, filepath.Join("..", "..", "test-configs", "classic-write-local.yaml"))
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			code, out, errs := program(t, "config", "migrate", file)
			if code != exitDone {
				t.Fatalf("migrate: exit code %d\n%s", code, errs)
			}
			migrated := filepath.Join(t.TempDir(), "new.yaml")
			if err := os.WriteFile(migrated, []byte(out), 0o644); err != nil {
				t.Fatal(err)
			}
			if code, _, errs := program(t, "config", "check", migrated); code != exitDone {
				t.Fatalf("the result does not pass the check: exit code %d\n%s\n%s", code, errs, out)
			}
			if diff := cmp.Diff(shownOf(t, file), shownOf(t, migrated)); diff != "" {
				t.Errorf("the experiment differs (-classic +compact):\n%s", diff)
			}
			wantText(t, "comments", out, `(?m)^# The experiment of `+filepath.Base(file)+` in the compact form\.$`, `(?m)^# It does not contain the inputs and outputs of analyze`)
			if strings.Contains(out, "etcd__v3_3") {
				wantText(t, "comments", out, `(?m)^  # v3\.3\.0 was only a label: the built-in server ran.*\n  etcd__v3_3:$`)
			}
			if strings.Contains(out, "consul__") {
				wantText(t, "comments", out, `raft_multiplier is 5`, `(?m)^ +raft_multiplier: 5`)
			}
		})
	}
}

// shownOf is an experiment as config show prints it, without keys found only in classic files:
// paths for analyze, and versions that are labels.
func shownOf(t *testing.T, file string) string {
	t.Helper()
	e, _, err := config.Read(file, all.Registry().All())
	if err != nil {
		t.Fatalf("read %s: %v", file, err)
	}
	e.Inputs, e.Report = nil, config.Report{}
	for i := range e.Databases {
		if d := &e.Databases[i]; d.Name == "etcd" {
			d.Version = ""
		}
	}
	text, err := config.Show(e)
	if err != nil {
		t.Fatalf("show %s: %v", file, err)
	}
	return string(text)
}

// A file runs with another release than it names, and an unavailable release is refused
// before anything starts.
func TestUseVersion(t *testing.T) {
	file := filepath.Join(t.TempDir(), "consul.yaml")
	text := "test_title: x\nall_database_id_list: [consul__v1_0_2]\ndatatbase_id_to_config_client_machine_agent_control:\n  consul__v1_0_2:\n" +
		"    database_description: Consul v1.0.2 (Go 1.9.3)\n    peer_ips: [127.0.0.1]\n    benchmark_steps: {step1_start_database: true, step2_stress_database: false, step3_stop_database: true, step4_upload_logs: false}\n"
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		use, want string
		code      int
	}{
		{"consul=1.16.0", "  release: 1.16.0, instead of the file's release\n", exitDone},
		{"consul__v1_0_2=v1.16.0", "  release: 1.16.0, instead of the file's release\n", exitDone},
		{"consul=1.0.2", "consul 1.0.2 is too old: dbtester runs consul from 1.14.0 on", exitUsage},
		{"consol=1.16.0", `the file has no database "consol" (did you mean "consul"?)`, exitUsage},
		{"consul", `--use-version must be NAME=VERSION, got "consul"`, exitUsage},
	} {
		code, out, errs := program(t, "control", "--dry-run", "--config", file, "--use-version", tt.use)
		if code != tt.code || !strings.Contains(out+errs, tt.want) {
			t.Errorf("--use-version %s: exit code %d, want %d and %q:\n%s%s", tt.use, code, tt.code, tt.want, out, errs)
		}
	}
	if code, _, errs := program(t, "config", "check", "--use-version", "consul=1.0.2", file); code != exitUsage || !strings.Contains(errs, "too old") {
		t.Errorf("config check with a release that cannot be had: %d\n%s", code, errs)
	}
	two := filepath.Join(t.TempDir(), "two.yaml")
	if err := os.WriteFile(two, []byte("title: two\nhosts: [127.0.0.1]\ndatabases: {etcd: , consul: {version: 1.14.0}}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if code, out, errs := program(t, "control", "--dry-run", "--config", two, "--database-id", "etcd", "--use-version", "consul=1.16.0"); code != exitDone {
		t.Errorf("a release of a database that is not to run: exit code %d\n%s%s", code, out, errs)
	}
	code, out, _ := program(t, "config", "migrate", "--use-version", "consul=1.16.0", file)
	if code != exitDone {
		t.Fatalf("migrate: exit code %d", code)
	}
	wantText(t, "migrated file", out, `(?m)^  # version was v1\.0\.2\n  consul__v1_0_2:$`, `(?m)^    version: 1\.16\.0$`, `(?m)^    tag: consul-v1\.0\.2-go1\.9\.3$`)
}
