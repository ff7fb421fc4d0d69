package member_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/member"
	"github.com/coreos/dbtester/pkg/process"
	"github.com/coreos/dbtester/pkg/sleep/slowtest"
)

// holdings are the resources of this process.
type holdings struct{ goroutines, files, children, paths int }

func holdingsOf(t *testing.T, dir string) (h holdings) {
	t.Helper()
	h.goroutines = runtime.NumGoroutine()
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatalf("list the open files: %v", err)
	}
	h.files = len(fds)
	lists, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil {
		t.Fatalf("list the threads: %v", err)
	}
	for _, list := range lists {
		pids, _ := os.ReadFile(list) // for a thread that has ended
		h.children += len(strings.Fields(string(pids)))
	}
	err = filepath.WalkDir(dir, func(string, os.DirEntry, error) error {
		h.paths++
		return nil
	})
	if err != nil {
		t.Fatalf("list the files: %v", err)
	}
	return h
}

// A thousand members that start and stop leave no goroutine, open file, process or file.
func TestThousandCycles(t *testing.T) {
	slowtest.Skip(t)
	o := options(t, database.Plan{
		Commands: []database.Command{{Name: "sleep", Path: "sleep", Args: []string{"600"}}},
		Files:    []database.File{{Path: "etc/conf", Content: "x"}}, DataDirs: []string{"data"},
	})
	cycle := func() {
		m, err := member.Start(t.Context(), o)
		if err != nil {
			t.Fatalf("start the member: %v", err)
		}
		if err := os.WriteFile(filepath.Join(o.Dir, "data", "row"), []byte("x"), 0o600); err != nil {
			t.Fatalf("write a file for the test: %v", err)
		}
		if err := m.Stop(t.Context(), process.DefaultDeadlines()); err != nil {
			t.Fatalf("stop the member: %v", err)
		}
		if len(m.Pids()) > 0 {
			t.Fatalf("processes %v run after the stop", m.Pids())
		}
	}
	for range 10 { // makes the objects the runtime makes once
		cycle()
	}
	before := holdingsOf(t, o.Dir)
	for range 1000 {
		cycle()
	}
	after := holdingsOf(t, o.Dir)
	more := func() bool {
		return after.goroutines > before.goroutines || after.files > before.files || after.children > before.children || after.paths > before.paths
	}
	for deadline := time.Now().Add(patience); more() && time.Now().Before(deadline); after = holdingsOf(t, o.Dir) {
		time.Sleep(10 * time.Millisecond) // goroutines end a little after they signal it
	}
	if more() {
		t.Errorf("after a thousand cycles %+v, before them %+v", after, before)
	}
}
