package main

import (
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/coreos/dbtester/pkg/sleep/slowtest"
)

// TestScripts runs testdata/script/*.txtar. Besides testscript's own commands
// they have:
//
//	exits CODE PROGRAM ARGS...   run it and compare its exit code
//	expand FILE                  replace $NAME in it from the environment
//	tree FOLDER FILE             write every path below FOLDER, and its content
//
// A script is skipped by "[fast] skip" in make test-fast.
//
// $HOST1 to $HOST3 are loopback addresses with nothing on the usual ports.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                filepath.Join("testdata", "script"),
		RequireUniqueNames: true,
		Condition: func(name string) (bool, error) {
			if name != "fast" {
				return false, fmt.Errorf("there is no condition %s", name)
			}
			return slowtest.Fast(), nil
		},
		UpdateScripts: flag.Lookup("update").Value.String() == "true",
		Setup: func(env *testscript.Env) error {
			for i, host := range freeHosts(t) {
				env.Setenv(fmt.Sprintf("HOST%d", i+1), host)
			}
			env.Setenv("GORACE", os.Getenv("GORACE"))
			env.Setenv("NO_COLOR", "1")
			env.Setenv("XDG_CONFIG_HOME", filepath.Join(env.WorkDir, ".config"))
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":  scriptExits,
			"expand": scriptExpand,
			"tree":   scriptTree,
		},
	})
}

func scriptExits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM ARGS...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

func scriptExpand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: expand FILE")
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(os.Expand(ts.ReadFile(args[0]), ts.Getenv)), 0o644))
}

func scriptTree(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: tree FOLDER FILE")
	}
	list, err := tree(ts.MkAbs(args[0]))
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(list), 0o644))
}

// tree lists every path below dir, with the hash of every file.
func tree(dir string) (string, error) {
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil || !d.Type().IsRegular() {
			fmt.Fprintf(&b, "%s %v\n", rel, d.Type())
			return err
		}
		data, err := os.ReadFile(path)
		fmt.Fprintf(&b, "%s %x\n", rel, sha256.Sum256(data))
		return err
	})
	return b.String(), err
}
