package control

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/ability/faults"
	"github.com/coreos/dbtester/pkg/mark"
	"github.com/coreos/dbtester/pkg/sleep/slowtest"
)

// A command runs only if control allows it, and is undone, even on a cluster without agents.
func TestCommands(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	r := startEtcd(t)
	made := filepath.Join(t.TempDir(), "made")
	lasting := func(load time.Duration) Options {
		text := r.file(fmt.Sprintf("rate: 50, duration: %v, clients: 6, connections: 6, timeout: 1s, key_size: 16, value_size: 32", load)) +
			fmt.Sprintf("faults:\n- {kind: command, at: 2s, for: 300ms, run: [mkdir, %[1]s], undo: [rmdir, %[1]s]}\n- {kind: command, at: %[2]v, for: 300ms, run: [test, -d, %[1]s], undo: none}\n", made, load-3*time.Second)
		return r.options(r.parse(text), nil)
	}
	if _, err := Run(t.Context(), lasting(7*time.Second)); err == nil || !strings.Contains(err.Error(), "allow it with dbtester control --allow-commands") || !strings.Contains(err.Error(), "test.yaml:") {
		t.Errorf("without the right: %v, want a refusal with the place", err)
	}
	var rec record
	var list []faults.Happened
	for _, load := range []time.Duration{7 * time.Second, 18 * time.Second} { // the second if something stopped this process
		o := lasting(load)
		o.AllowCommands = true
		out, err := Run(t.Context(), o)
		if err != nil {
			t.Fatalf("run: %v", err)
		}
		rec = r.read(out.Folders[0], 0)
		if list, err = faults.Record().Of(rec.run.Records); err != nil {
			t.Fatal(err)
		}
		if len(list) == 2 && list[0].To.Before(list[1].From) {
			break
		}
	}
	if len(list) != 2 {
		t.Fatalf("faults %+v, want two", list)
	}
	if h := list[0]; h.Failed != "" || h.Member != -1 || !strings.HasPrefix(h.Saw, "mkdir ended with exit 0") || !strings.HasPrefix(h.SawOver, "rmdir ended with exit 0") || h.Recovery == nil && rec.hasLevel(t, time.Time{}, h.From) {
		t.Errorf("the command: %+v", h)
	}
	// Once undone, the folder no longer exists, which the second command finds out.
	if h := list[1]; !strings.HasPrefix(h.Failed, "test -d "+made+" ended with exit 1") || h.SawOver != "" {
		t.Errorf("the command that fails: %+v", h)
	}
	if _, err := os.Stat(made); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what the command made is there (%v)", err)
	}
	undos, err := faults.OpenUndo(filepath.Join(rec.dir, faults.FileUndo), false)
	if err != nil {
		t.Fatalf("open the undos: %v", err)
	}
	defer undos.Close()
	if left, err := undos.Pending(); err != nil || len(left) > 0 {
		t.Errorf("undos left: %+v, %v", left, err)
	}
	if !hasMark(rec.run, mark.FaultFailed) || hasMark(rec.run, mark.Keys) {
		t.Errorf("marks %+v, want that of a fault that failed, and none of keys; totals %+v, keys %+v", rec.run.Validity, rec.run.Totals, rec.run.Keys)
	}
}
