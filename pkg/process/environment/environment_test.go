package environment

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// This process is a Go program with a limit.
func TestOwn(t *testing.T) {
	t.Parallel()
	f, err := Of("test", os.Getpid())
	if err != nil || f.Command != "test" || f.OpenFiles == 0 || f.JVM != "" || f.Compiler != runtime.Version() {
		t.Errorf("%+v (%v), want a limit and the compiler %s", f, err, runtime.Version())
	}
}

// process writes a folder like one in /proc whose executable is path.
func process(t *testing.T, limits, path string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "limits"), []byte(limits), 0o600); err != nil {
		t.Fatalf("write a file for the test: %v", err)
	}
	if err := os.Symlink(path, filepath.Join(dir, "exe")); err != nil {
		t.Fatalf("make a link for the test: %v", err)
	}
	return dir
}

const header = "Limit                     Soft Limit           Hard Limit           Units     \n"

// A JVM is described by the file of its runtime, which Java 8 has further up.
func TestJava(t *testing.T) {
	t.Parallel()
	for _, below := range []string{"bin", "jre/bin"} {
		home := t.TempDir()
		release := "IMPLEMENTOR=\"Debian\"\nJAVA_RUNTIME_VERSION=\"17.0.15+6\"\nJAVA_VERSION=\"17.0.15\"\n"
		if err := os.WriteFile(filepath.Join(home, "release"), []byte(release), 0o600); err != nil {
			t.Fatalf("write a file for the test: %v", err)
		}
		proc := process(t, header+"Max open files            1024                 524288               files     \n", filepath.Join(home, below, "java"))
		f, err := of(proc, "zookeeper")
		if want := (Facts{Command: "zookeeper", OpenFiles: 524288, JVM: "17.0.15+6 (Debian)"}); err != nil || f != want {
			t.Errorf("%+v (%v), want %+v", f, err, want)
		}
		if got, want := f.String(), "zookeeper: JVM 17.0.15+6 (Debian), at most 524,288 open files"; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	f, err := of(process(t, header+"Max open files unlimited unlimited files\n", filepath.Join(t.TempDir(), "bin", "java")), "zookeeper")
	if want := (Facts{Command: "zookeeper", OpenFiles: Unlimited}); err == nil || f != want {
		t.Errorf("%+v and error %v of a runtime without the file, want %+v and an error", f, err, want)
	}
}

// A program in another language has no compiler, which is no error.
func TestOtherProgram(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(program, []byte("#!/bin/sh\n"), 0o600); err != nil {
		t.Fatalf("write a file for the test: %v", err)
	}
	f, err := of(process(t, header+"Max open files 10 20 files\n", program), "db")
	if want := (Facts{Command: "db", OpenFiles: 20}); err != nil || f != want {
		t.Errorf("%+v (%v), want %+v", f, err, want)
	}
	if got := (Facts{Command: "db"}).String(); got != "db: not known" {
		t.Errorf("%q of no facts", got)
	}
}

func TestBrokenFiles(t *testing.T) {
	t.Parallel()
	for _, limits := range []string{"", header, "Max open files 10\n", "Max open files 10 many files\n"} {
		if n, err := parseLimits([]byte(limits)); err == nil {
			t.Errorf("%d of %q, want an error", n, limits)
		}
	}
	if version, err := parseRelease([]byte("JAVA_VERSION=\"1.8.0_292\"\n")); err != nil || version != "1.8.0_292" {
		t.Errorf("%q (%v), want the version without a maker", version, err)
	}
	for _, release := range []string{"", "no lines of names", "IMPLEMENTOR=\"x\"\n"} {
		if version, err := parseRelease([]byte(release)); err == nil {
			t.Errorf("%q of %q, want an error", version, release)
		}
	}
	if _, err := of(filepath.Join(t.TempDir(), "none"), "db"); err == nil || !strings.Contains(err.Error(), "find the environment of db: ") {
		t.Errorf("error %v of a process that is gone", err)
	}
}
