package control

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/coreos/dbtester/agent"
	"github.com/coreos/dbtester/control/fleet/salvage"
	"github.com/coreos/dbtester/pkg/databasetest/matrix"
	"github.com/coreos/dbtester/pkg/process/namespacetest"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/sleep/slowtest"
)

// mountDisk gives a folder its own small disk, until the test ends.
func mountDisk(t *testing.T, dir string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatalf("make a folder: %v", err)
	}
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=4m"); err != nil {
		t.Skipf("a small disk can't be made here: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
}

// filler is the file that fills a disk.
const filler = "filler"

// fillDisk fills the disk below dir.
func fillDisk(t *testing.T, dir string) {
	t.Helper()
	f, err := os.Create(filepath.Join(dir, filler))
	if err != nil {
		t.Errorf("make a file: %v", err)
		return
	}
	defer f.Close()
	for block := make([]byte, 4096); err == nil; {
		_, err = f.Write(block)
	}
	if !errors.Is(err, unix.ENOSPC) {
		t.Errorf("fill the disk: %v", err)
	}
}

// TestDisks: a run on a full or read-only disk reports that and leaves nothing, and the next one
// works once the disk does.
func TestDisks(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	if !namespacetest.Again(t, syscall.CLONE_NEWNS, 0) {
		return
	}
	table := matrix.New(t, "disks", "Full and read-only disks")
	for _, tc := range []struct {
		step, done string
		usual      bool // also without make matrix
		disk       func(*rig) string
		broken     func(*testing.T, string)
		mended     func(*testing.T, string)
		want       []string
	}{
		{"before the run", "fill the disk of the results", false, resultsOf, fillDisk, emptyDisk, []string{"no space left on device"}},
		{"loading", "fill the disk of the results", true, resultsOf, fillDisk, emptyDisk, []string{"no space left on device"}},
		{"before the run", "fill the disk of an agent", false, secondOf, fillDisk, emptyDisk, []string{"member 2", "no space left on device"}},
		{"loading", "fill the disk of an agent", false, secondOf, fillDisk, emptyDisk, []string{"member 2", "no space left on device"}},
		{"before the run", "mount the disk of the results read-only", true, resultsOf, makeReadOnly, makeWritable, []string{"read-only file system"}},
	} {
		if !tc.usual && !matrix.Whole() {
			continue
		}
		t.Run(tc.done+" "+tc.step, func(t *testing.T) {
			r := newRig(t)
			dir := tc.disk(r)
			report := func(Update) {}
			if tc.step == "loading" {
				report = once(loading, func() { tc.broken(t, dir) })
			} else {
				tc.broken(t, dir)
			}
			_, err := r.run(r.experiment(long+"databases: {fake: {}}"), report)
			for _, want := range tc.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("the error %v does not say %q", err, want)
				}
			}
			tc.mended(t, dir)
			r.mustHaveStopped()
			// Agents that keep unwritten records are as free as others.
			r.mustRun(r.experiment(small+"databases: {fake: {}}"), nil)
			table.Add(t, matrix.Row{Step: tc.step, Done: tc.done, Ended: r.named(err), Next: "complete"})
		})
	}
	t.Run("start an agent on a read-only disk", func(t *testing.T) {
		dir := t.TempDir()
		mountDisk(t, dir)
		makeReadOnly(t, dir)
		_, err := agent.New(agent.Options{Registry: registry(), WorkDir: filepath.Join(dir, "work")})
		if err == nil || !strings.Contains(err.Error(), "read-only file system") {
			t.Errorf("the agent starts with the error %v, want that its disk is read-only", err)
		}
		table.Add(t, matrix.Row{Step: "before the run", Done: "start an agent on a read-only disk", Ended: "refused: " + strings.ReplaceAll(err.Error(), dir, "DIR"), Next: "not of this agent"})
	})
}

// resultsOf puts the result folders on a separate disk.
func resultsOf(r *rig) string {
	mountDisk(r.t, r.results)
	return r.results
}

// secondOf serves the second agent from its own disk.
func secondOf(r *rig) string {
	a := r.agents[1]
	a.workDir = r.t.TempDir()
	mountDisk(r.t, a.workDir)
	r.serve(a)
	return a.workDir
}

func emptyDisk(t *testing.T, dir string) {
	t.Helper()
	if err := os.Remove(filepath.Join(dir, filler)); err != nil {
		t.Errorf("empty the disk: %v", err)
	}
}

func makeReadOnly(t *testing.T, dir string) {
	t.Helper()
	if err := unix.Mount("", dir, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		t.Fatalf("make the disk read-only: %v", err)
	}
}

func makeWritable(t *testing.T, dir string) {
	t.Helper()
	if err := unix.Mount("", dir, "", unix.MS_REMOUNT, ""); err != nil {
		t.Fatalf("make the disk writable: %v", err)
	}
}

// named returns the text of err with the names of their owners in place of folders and addresses.
func (r *rig) named(err error) string {
	if err == nil {
		return "complete"
	}
	names := []string{r.results, "RESULTS"}
	for i, a := range r.agents {
		names = append(names, a.workDir, "WORKDIR", a.addr, "ADDRESS "+string(rune('1'+i)))
	}
	return "failed: " + strings.NewReplacer(append(names, "\n", "; ")...).Replace(err.Error())
}

// TestResultsReadOnly: result folders that become read-only during a load end the run with that
// error, and the next one works.
func TestResultsReadOnly(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	if !namespacetest.Again(t, 0, 1000) {
		return
	}
	table := matrix.New(t, "readonly", "Folders that become read-only")
	r := newRig(t)
	mode := func(mode fs.FileMode) {
		err := filepath.WalkDir(r.results, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				err = os.Chmod(path, mode)
			}
			return err
		})
		if err != nil {
			t.Errorf("change the folders: %v", err)
		}
	}
	t.Cleanup(func() { mode(0o755) })
	out, err := r.run(r.experiment(long+"databases: {fake: {}}"), once(loading, func() { mode(0o555) }))
	if err == nil || !strings.Contains(err.Error(), "permission denied") {
		t.Errorf("error %v, want that the folders are read-only", err)
	}
	mode(0o755)
	r.mustCollect(out)
	r.mustBeIdle()
	r.mustRun(r.experiment(small+"databases: {fake: {}}"), nil)
	table.Add(t, matrix.Row{Step: "loading", Done: "make the folders of the results read-only", Ended: r.named(err), Next: "complete"})
}

// mustCollect fetches all member records, none of which could be written.
func (r *rig) mustCollect(out *Outcome) {
	r.t.Helper()
	folder, err := results.Open(out.Folders[0])
	if err != nil {
		r.t.Fatalf("open the result folder: %v", err)
	}
	for i, m := range r.databases(out)[0].Members {
		if len(m.Files) > 0 {
			r.t.Errorf("member %d has the files %q in a folder that could not be written", i+1, m.Files)
		}
	}
	if err := salvage.Run(r.t.Context(), salvage.Options{Folder: folder, Connect: r.connect, Report: func(text string) { r.t.Log(text) }}); err != nil {
		r.t.Errorf("collect: %v", err)
	}
	for i, m := range r.databases(out)[0].Members {
		if len(m.Files) != memberFiles || len(m.Exit) != 1 {
			r.t.Errorf("member %d has the files %q and the exits %q, want %d files and one exit", i+1, m.Files, m.Exit, memberFiles)
		}
	}
}
