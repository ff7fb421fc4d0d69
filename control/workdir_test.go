package control

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/process/namespacetest"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/sleep/slowtest"
)

// long is a load that ends soon, but lasts long enough for tests to disturb it.
const long = "load: {rate: 200, duration: 2s, clients: 6, key_size: 32, value_size: 64, timeout: 1s}\n"

// mustBeFailed fails the test unless a run ended with an error containing all words, recorded
// beside a whole load.
func (r *rig) mustBeFailed(out *Outcome, err error, words ...string) record {
	r.t.Helper()
	if err == nil {
		r.t.Fatal("the run succeeded, want an error")
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			r.t.Errorf("error %q does not say %q", err, word)
		}
	}
	rec := r.read(out.Folders[0], 0)
	if rec.manifest.State != results.StateFailed || rec.run.State != results.StateFailed || rec.run.Error == "" {
		r.t.Errorf("the manifest is %s, the run is %s with error %q, want both failed", rec.manifest.State, rec.run.State, rec.run.Error)
	}
	if rec.run.Totals == nil || rec.run.Totals.Offered != 400 {
		r.t.Errorf("totals are %+v, want the whole load", rec.run.Totals)
	}
	for i, a := range r.agents {
		if s := r.status(i); s.State != pb.State_STATE_IDLE {
			r.t.Errorf("agent %d is %v, want it idle", i+1, s.State)
		}
		if pids := a.servers(r.t); len(pids) > 0 {
			r.t.Errorf("member %d still runs: pids %v", i+1, pids)
		}
	}
	return rec
}

// Removing a work directory during a run costs the records of that member, and the run reports it.
func TestWorkDirRemovedInLoad(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	for name, remove := range map[string]func(*testing.T, string) string{
		"the work directory": func(t *testing.T, dir string) string {
			if err := os.RemoveAll(dir); err != nil {
				t.Errorf("remove the work directory: %v", err)
			}
			return "was removed or replaced while the agent ran"
		},
		"the session's": func(t *testing.T, dir string) string {
			sessions, err := filepath.Glob(filepath.Join(dir, "fake-*"))
			if err != nil || len(sessions) != 1 {
				t.Errorf("sessions %q, %v, want one", sessions, err)
			}
			for _, s := range sessions {
				if err := os.RemoveAll(s); err != nil {
					t.Errorf("remove the session's directory: %v", err)
				}
			}
			return "the session's records are lost"
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			var want string
			out, err := r.run(r.experiment(long+"databases: {fake: {}}"), once(loading, func() { want = remove(t, r.agents[1].workDir) }))
			rec := r.mustBeFailed(out, err, "member 2", want)
			for i, m := range rec.run.Members {
				if whole := i != 1; whole != (len(m.Files) == memberFiles) {
					t.Errorf("member %d has the files %q", i+1, m.Files)
				}
			}
		})
	}
}

// The run error names the full disk as the cause.
func TestDiskFull(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	if !namespacetest.Again(t, syscall.CLONE_NEWNS, 0) {
		return
	}
	r := newRig(t)
	disk := r.agents[1]
	disk.workDir = t.TempDir()
	mountDisk(t, disk.workDir)
	r.serve(disk)
	out, err := r.run(r.experiment(long+"databases: {fake: {}}"), once(loading, func() { fillDisk(t, disk.workDir) }))
	rec := r.mustBeFailed(out, err, "member 2", "the session was not recorded", "no space left on device")
	checkFiles(t, rec.dir, rigSize)
}

// A work directory that becomes read-only can neither be written nor cleaned, and the run reports
// both.
func TestWorkDirReadOnly(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	if !namespacetest.Again(t, 0, 1000) {
		return
	}
	r := newRig(t)
	protect := func() {
		err := filepath.WalkDir(r.agents[1].workDir, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				err = os.Chmod(path, 0o555)
			}
			return err
		})
		if err != nil {
			t.Errorf("protect the work directory: %v", err)
		}
	}
	t.Cleanup(func() {
		_ = filepath.WalkDir(r.agents[1].workDir, func(path string, d fs.DirEntry, _ error) error { return os.Chmod(path, 0o755) })
	})
	out, err := r.run(r.experiment(long+"databases: {fake: {}}"), once(loading, protect))
	rec := r.mustBeFailed(out, err, "permission denied")
	checkFiles(t, rec.dir, rigSize)
	_, err = r.run(r.experiment(small+"databases: {fake: {}}"), nil)
	if err == nil || !strings.Contains(err.Error(), "permission denied") {
		t.Errorf("the next run: %v, want the work directory's trouble", err)
	}
}
