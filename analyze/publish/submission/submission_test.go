package submission

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/coreos/dbtester/analyze"
	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/analyze/table"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/sleep/slowtest"
)

// unpack unpacks an archive into a new folder and returns its file paths.
func unpack(t *testing.T, archive string) (dir string, files []string) {
	t.Helper()
	f, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	packed, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	for all := tar.NewReader(packed); ; {
		header, err := all.Next()
		if errors.Is(err, io.EOF) {
			return dir, files
		}
		if err != nil {
			t.Fatal(err)
		}
		if header.Typeflag == tar.TypeDir { // in records that were published by a script
			continue
		}
		if header.Typeflag != tar.TypeReg || !filepath.IsLocal(header.Name) {
			t.Fatalf("%s must be a file inside the archive's folder", header.Name)
		}
		data, err := io.ReadAll(all)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, header.Name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		files = append(files, header.Name)
	}
}

// published returns a copy of a record from test-results, unpacked.
func published(t *testing.T, name string) string {
	t.Helper()
	from := filepath.Join("..", "..", "..", "test-results", name, "records", "1")
	manifest, err := os.ReadFile(filepath.Join(from, results.FileManifest))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, results.FileManifest), manifest, 0o644); err != nil {
		t.Fatal(err)
	}
	archives, err := filepath.Glob(filepath.Join(from, "*.tar.gz"))
	if err != nil {
		t.Fatal(err)
	}
	for _, archive := range archives {
		unpacked, _ := unpack(t, archive)
		if err := os.CopyFS(dir, os.DirFS(unpacked)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// pack packs a run and returns the folder with its record, unpacked.
func pack(t *testing.T, o Options) (*Packed, string) {
	t.Helper()
	if o.To == "" {
		o.To = filepath.Join(t.TempDir(), "run.tar.gz")
	}
	packed, err := Pack(o)
	if err != nil {
		t.Fatal(err)
	}
	dir, files := unpack(t, packed.File)
	for _, file := range files {
		if !strings.HasPrefix(file, packed.Folder+"/") {
			t.Errorf("%s is not in the folder %s", file, packed.Folder)
		}
	}
	return packed, filepath.Join(dir, packed.Folder)
}

// numbers are the rows in the table of a run, with the names of its databases.
func numbers(t *testing.T, dir string) (rows []string) {
	t.Helper()
	runs, err := run.FromFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range table.New(runs).Rows {
		if row.Name == "LEADER" { // names an address
			continue
		}
		text, err := json.Marshal(row.Cells)
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, row.Name+": "+string(text))
	}
	if screen, err := analyze.FirstScreen(t.Context(), analyze.Options{Folders: []string{dir}}); err != nil {
		t.Fatal(err)
	} else if rows = append(rows, screen.Verdict); len(rows) < 50 {
		t.Errorf("only %d rows of %s were compared", len(rows), dir)
	}
	return rows
}

// A real record with three databases and killed members gives the same numbers after packing, and
// its archive has no log by dbtester, no argument and no path.
func TestPublishedRecord(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	run := published(t, "leader-killed")
	edit(t, filepath.Join(run, results.FileManifest), `"code": "queueing",`, `"code": "queueing", "invalid": true,`)
	before := files(t, run)
	packed, again := pack(t, Options{Run: run})
	if diff := cmp.Diff(before, files(t, run)); diff != "" {
		t.Errorf("the run itself was changed (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff(numbers(t, run), numbers(t, again)); diff != "" {
		t.Errorf("numbers (-of the run +of the archive):\n%s", diff)
	}
	if len(packed.Invalid) == 0 || !strings.Contains(packed.Account, "NOT VALID") {
		t.Errorf("the account must say that the run is not valid, of which the marks are %q:\n%s", packed.Invalid, packed.Account)
	}
	for _, want := range []string{"etcd/1-agent.log: the log of an agent", "etcd/client-control.log: the log of control", " x host name: host-1", "etcd/logs/1-etcd.log: "} {
		if !strings.Contains(packed.Account, want) {
			t.Errorf("the account has no %q:\n%s", want, packed.Account)
		}
	}
	if len(packed.Pseudonyms) > 20 {
		t.Errorf("a record of one machine has %d names: %v", len(packed.Pseudonyms), packed.Pseudonyms)
	}
	t.Logf("pseudonyms: %v", packed.Pseudonyms)
	removed := regexp.MustCompile(`(?s)"removed": \[.*?\]`) // those that packing left out
	for name, text := range files(t, again) {
		text = removed.ReplaceAllString(text, "")
		for _, bad := range []string{"/tmp/tmp", "root@", "--data-dir", "agent.log\"", `"name": "vm"`, "96e9db65"} {
			if strings.Contains(text, bad) && name != FileAccount {
				t.Errorf("%s has %q", name, bad)
			}
		}
	}
}

// files are the contents of all files below a folder by their paths.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		all[filepath.ToSlash(name)] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// The same run gives the same bytes, and a packed run can be packed again.
func TestSameBytes(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	run := published(t, "quickstart")
	var first []byte
	// The names of the packing machine change nothing if the records do not contain them.
	for _, o := range []Options{{Run: run}, {Run: run, Hosts: []string{"build-7.ci.example.net"}, Users: []string{"somebody"}}} {
		packed, again := pack(t, o)
		if len(packed.Pseudonyms) == 0 || packed.Pseudonyms[0] != (Pseudonym{"vm", "host-1"}) || slices.ContainsFunc(packed.Pseudonyms, func(p Pseudonym) bool { return p.Name == "somebody" }) {
			t.Errorf("the record's own names come first, and no other: %v", packed.Pseudonyms)
		}
		data, err := os.ReadFile(packed.File)
		if err != nil {
			t.Fatal(err)
		}
		if first != nil && !bytes.Equal(first, data) {
			t.Error("the second archive has other bytes")
		}
		if first != nil {
			break
		}
		first = data
		twice, third := pack(t, Options{Run: again})
		if diff := cmp.Diff(files(t, again)[results.FileManifest], files(t, third)[results.FileManifest]); diff != "" && !strings.Contains(diff, "sha256") {
			t.Errorf("a manifest that is packed again changes (-once +twice):\n%s", diff)
		}
		if len(twice.Pseudonyms) > 0 {
			t.Errorf("a packed record still has names: %v", twice.Pseudonyms)
		}
	}
}

// An existing file is not replaced.
func TestExisting(t *testing.T) {
	t.Parallel()
	to := filepath.Join(t.TempDir(), "mine.tar.gz")
	if err := os.WriteFile(to, []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Pack(Options{Run: published(t, "quickstart"), To: to}); !errors.Is(err, os.ErrExist) || !strings.Contains(err.Error(), to) {
		t.Errorf("got %v, want an error that names %s", err, to)
	}
	if data, err := os.ReadFile(to); err != nil || string(data) != "mine" {
		t.Errorf("the file has %q, %v", data, err)
	}
}

// Runs that must not be published are refused, with every reason, and nothing is written.
func TestRefused(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change func(t *testing.T, run string)
		want   []string
	}{
		"interrupted": {func(t *testing.T, run string) {
			edit(t, filepath.Join(run, results.FileManifest), `"state": "complete"`, `"state": "interrupted"`)
		}, []string{"the run is interrupted", "etcd: the run is interrupted"}},
		"lost rows": {func(t *testing.T, run string) {
			path := filepath.Join(run, "etcd", results.FileIntervals)
			edit(t, path, strings.Split(read(t, path), "\n")[5]+"\n", "")
		}, []string{"etcd: intervals.csv has ", "rows were lost, repeated or changed"}},
		"no histograms": {func(t *testing.T, run string) {
			if err := os.Remove(filepath.Join(run, "etcd", results.FileTotal)); err != nil {
				t.Fatal(err)
			}
		}, []string{"latency-total.hlog is missing"}},
		"changed totals": {func(t *testing.T, run string) {
			offerMore(t, run)
		}, []string{"the totals of the manifest do not add up: 9"}},
		"no manifest": {func(t *testing.T, run string) {
			if err := os.Remove(filepath.Join(run, results.FileManifest)); err != nil {
				t.Fatal(err)
			}
		}, []string{"no such file"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run, to := published(t, "quickstart"), filepath.Join(t.TempDir(), "run.tar.gz")
			tt.change(t, run)
			_, err := Pack(Options{Run: run, To: to})
			if err == nil {
				t.Fatal("it was packed")
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the error has no %q:\n%v", want, err)
				}
			}
			if left, _ := filepath.Glob(to + "*"); len(left) > 0 {
				t.Errorf("%q was written", left)
			}
		})
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// edit replaces a text everywhere in a file, which must have it. offerMore makes a manifest claim
// that more requests were due.
func offerMore(t *testing.T, run string) {
	t.Helper()
	path := filepath.Join(run, results.FileManifest)
	offered := regexp.MustCompile(`"offered": `).FindString(read(t, path))
	edit(t, path, offered, offered+"9")
}

func edit(t *testing.T, path, from, to string) {
	t.Helper()
	text := read(t, path)
	if from == "" || !strings.Contains(text, from) {
		t.Fatalf("%s has no %q", path, from)
	}
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(text, from, to)), 0o644); err != nil {
		t.Fatal(err)
	}
}
