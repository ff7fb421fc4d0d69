package digest_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/coreos/dbtester/pkg/results/digest"
)

// folder writes files, by their paths, and returns their folder.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for file, text := range files {
		write(t, filepath.Join(dir, file), text)
	}
	return dir
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// of returns a folder's digests, without files whose names begin with "made".
func of(t *testing.T, dir string) map[string]digest.Digest {
	t.Helper()
	all, err := digest.OfFolder(dir, func(file string) bool { return !strings.HasPrefix(file, "made") })
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestCheck(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{"a.csv": "12", "logs/1-a.log": "line\n", "logs/2-a.log": "", "made.csv": "x", ".hidden": "x", "b.csv": "b", "c.csv": "c"})
	var s digest.Set
	s.Renew("", of(t, dir))
	if len(s.ByFile) != 5 || len(s.Changes) > 0 || s.ByFile["a.csv"] != digest.OfData([]byte("12")) || s.ByFile["a.csv"].Bytes != 2 {
		t.Fatalf("digests %+v, want those of five files", s)
	}
	if list := s.Check(dir); len(list) > 0 || !s.Intact(dir, "a.csv") {
		t.Errorf("files that are as recorded: %+v", list)
	}
	write(t, filepath.Join(dir, "a.csv"), "1")
	write(t, filepath.Join(dir, "b.csv"), "B")
	write(t, filepath.Join(dir, "new.csv"), "not recorded")
	if err := os.Remove(filepath.Join(dir, "logs/1-a.log")); err != nil {
		t.Fatal(err)
	}
	s.ByFile["../a.csv"] = digest.Digest{}
	var got []string
	for _, d := range s.Check(dir) {
		got = append(got, d.File)
		if missing := d.File == "logs/1-a.log"; errors.Is(d.Err, fs.ErrNotExist) != missing {
			t.Errorf("%s is missing: %v, want %v", d.File, d.Err, missing)
		}
	}
	if diff := cmp.Diff([]string{"../a.csv", "a.csv", "b.csv", "logs/1-a.log"}, got); diff != "" {
		t.Errorf("files that differ (-want +got):\n%s", diff)
	}
}

func TestRenew(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{"a.csv": "12", "b.csv": "b", "c.csv": "c", "d.csv": "d"})
	var s digest.Set
	s.Renew("", of(t, dir))
	write(t, filepath.Join(dir, "a.csv"), "1")
	write(t, filepath.Join(dir, "b.csv"), "B")
	write(t, filepath.Join(dir, "e.csv"), "e")
	if err := os.Remove(filepath.Join(dir, "c.csv")); err != nil {
		t.Fatal(err)
	}
	s.Renew("a script", of(t, dir))
	want := []digest.Change{{By: "a script", Changed: []string{"b.csv"}, Shortened: []string{"a.csv"}, Removed: []string{"c.csv"}, Added: []string{"e.csv"}}}
	if diff := cmp.Diff(want, s.Changes); diff != "" || len(s.Check(dir)) > 0 {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	if text := s.Changes[0].String(); text != "changed b.csv; shortened a.csv; removed c.csv; added e.csv" || s.Changes[0].Files() != 4 {
		t.Errorf("%d files: %s", s.Changes[0].Files(), text)
	}
	if s.Renew("nothing", of(t, dir)); len(s.Changes) != 1 {
		t.Errorf("nothing changed: %+v", s.Changes)
	}
	var late digest.Set
	if late.Renew("collect", of(t, dir)); len(late.Changes) != 1 || late.Changes[0].Files() != 0 {
		t.Errorf("digests that were made late: %+v, want it said without a list", late.Changes)
	}
}

// Amend renews only some files: damage to the others still shows.
func TestAmend(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{"a.csv": "12", "b.csv": "b"})
	var s digest.Set
	s.Renew("", of(t, dir))
	write(t, filepath.Join(dir, "a.csv"), "1")
	write(t, filepath.Join(dir, "late.csv"), "2")
	write(t, filepath.Join(dir, "b.csv"), "bb")
	if err := s.Amend("collect", dir, []string{"late.csv", "b.csv", "nothing.csv"}); err != nil {
		t.Fatal(err)
	}
	want := []digest.Change{{By: "collect", Changed: []string{"b.csv"}, Added: []string{"late.csv"}}}
	if diff := cmp.Diff(want, s.Changes); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	if list := s.Check(dir); len(list) != 1 || list[0].File != "a.csv" {
		t.Errorf("files that differ: %+v, want the one that was damaged before", list)
	}
}

// TestLargest: a file larger than any record has only its size, and is not read.
func TestLargest(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{"a.csv": ""})
	if err := os.Truncate(filepath.Join(dir, "a.csv"), digest.Largest+1); err != nil {
		t.Fatal(err)
	}
	if got, want := of(t, dir)["a.csv"], (digest.Digest{Bytes: digest.Largest + 1}); got != want {
		t.Errorf("digest %+v, want %+v", got, want)
	}
}
