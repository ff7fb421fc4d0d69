package main

import (
	"bytes"
	"context"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/coreos/dbtester/analyze/runtest"
	"github.com/coreos/dbtester/pkg/database/all"
	"github.com/coreos/dbtester/pkg/remotestorage"
	"github.com/coreos/dbtester/pkg/remotestorage/storagetest"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/sleep/slowtest"
)

// program runs one command line in this process and returns its exit code and outputs.
func program(t *testing.T, args ...string) (code int, out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	a := &app{streams: streams{strings.NewReader(""), &o, &e}, registry: all.Registry(), self: []string{"dbtester", "serve"}, last: &lastWords{}}
	code = a.execute(t.Context(), args)
	return code, o.String(), e.String()
}

// stores are the remote store kinds, each with an environment.
func stores(t *testing.T) map[string]*storagetest.Emulator {
	t.Helper()
	gs, s3 := storagetest.GCS(t), storagetest.S3(t)
	for _, e := range []*storagetest.Emulator{gs, s3} {
		for name, value := range e.Env {
			t.Setenv(name, value)
		}
	}
	return map[string]*storagetest.Emulator{"gs": gs, "s3": s3, "file": {Scheme: "file", Bucket: t.TempDir()}}
}

// sentRun uploads a recorded run and returns its address.
func sentRun(t *testing.T, e *storagetest.Emulator, run string) string {
	t.Helper()
	b, err := remotestorage.Open(t.Context(), e.URL(""), remotestorage.Options{})
	if err != nil {
		t.Fatalf("open the store: %v", err)
	}
	defer b.Close()
	if _, err := remotestorage.Upload(t.Context(), b, remotestorage.Folder{Dir: run, Name: "some title/20260102T150405Z", Last: results.FileManifest}, nil); err != nil {
		t.Fatalf("upload the run: %v", err)
	}
	return e.URL("some title/20260102T150405Z")
}

// A run in a store is copied completely, and the copies are removed.
func TestFetchRuns(t *testing.T) {
	slowtest.Skip(t)
	if !apart(t) {
		return
	}
	run, temp := runtest.TwoDatabases(t), t.TempDir()
	t.Setenv("TMPDIR", temp)
	for name, e := range stores(t) {
		t.Run(name, func(t *testing.T) {
			var errs bytes.Buffer
			a := streams{err: &errs}
			address := sentRun(t, e, run)
			got, err := a.fetchRuns(t.Context(), fetchFlags{most: remotestorage.Bounds{Objects: 100, Bytes: 1 << 30}}, []string{run, address, address + "/"})
			if err != nil {
				t.Fatalf("fetch %s: %v", address, err)
			}
			for i, dir := range got.runs {
				if diff := cmp.Diff(treeOf(t, run), treeOf(t, dir)); diff != "" {
					t.Errorf("run %d is not the original (-original +copy):\n%s", i, diff)
				}
			}
			if got.runs[0] != run || filepath.Base(got.runs[1]) != "20260102T150405Z" || !got.remote {
				t.Errorf("runs are %q, want the local one untouched and copies named by their time", got.runs)
			}
			wantText(t, "progress", errs.String(), `(?m)^downloaded `+address+`: [0-9]+ files \(`)
			if err := got.remove(); err != nil {
				t.Errorf("remove the copies: %v", err)
			}
		})
	}
	wantEmpty(t, temp)
}

func wantEmpty(t *testing.T, dir string) {
	t.Helper()
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("temporary copies must be removed, %d are left: %v (%v)", len(left), left, err)
	}
}

// A run in a store is analyzed, its report names no temporary path, and the uploaded
// report is complete.
func TestAnalyzeRemote(t *testing.T) {
	slowtest.Skip(t)
	if !apart(t) {
		return
	}
	run, temp := runtest.TwoDatabases(t), t.TempDir()
	e := storagetest.GCS(t)
	t.Setenv("STORAGE_EMULATOR_HOST", e.Env["STORAGE_EMULATOR_HOST"])
	t.Chdir(t.TempDir())
	// Drawing takes long with the race detector.
	if err := os.WriteFile("plots.yaml", []byte("hosts: [127.0.0.1]\nplots: [AVG-CPU]\ndatabases: {etcd: }\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", temp)
	to, address := e.URL("reports/one"), sentRun(t, e, run)
	code, out, errs := program(t, "analyze", "--config", "plots.yaml", "--png", "--upload", to, address)
	if code != exitDone {
		t.Fatalf("analyze %s: exit code %d\n%s", address, code, errs)
	}
	wantEmpty(t, temp)
	wantText(t, "output", out, `(?m)^report in report/report.html$`, `(?m)^uploaded the report to `+to+`: [0-9]+ files \([0-9.]+ [kM]B\) sent, 0 already present$`,
		`(?m)^  `+to+`/README\.md$`, `(?m)^  `+to+`/report\.html$`, `(?m)^  [0-9]+ text/csv, [0-9]+ image/png, [0-9]+ image/svg\+xml, `)
	if diff := cmp.Diff(treeOf(t, "report"), treeOf(t, downloaded(t, to))); diff != "" {
		t.Errorf("the report in the store must be the local one (-local +store):\n%s", diff)
	}
	for _, name := range []string{"README.md", "report.html", "all-aggregated.json"} {
		if text := readText(t, filepath.Join("report", name)); strings.Contains(text, temp) {
			t.Errorf("%s names the temporary copy of the run, which differs each time", name)
		}
	}
	wantTypes(t, e, "reports/one/")
	wantRelativeImages(t, "report")
}

// wantRelativeImages checks that the README names files in the report, so they are found wherever
// the folder is copied.
func wantRelativeImages(t *testing.T, report string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(report, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	images := regexp.MustCompile(`!\[.*\]\((.*)\)`).FindAllStringSubmatch(string(text), -1)
	if len(images) < 5 {
		t.Errorf("the README has %d images, want at least 5", len(images))
	}
	for _, image := range images {
		name, err := url.PathUnescape(image[1])
		if _, missing := os.Stat(filepath.Join(report, name)); err != nil || missing != nil || !filepath.IsLocal(name) {
			t.Errorf("the README names %q, which must be a file of the report: %v %v", image[1], err, missing)
		}
	}
}

// wantTypes checks that browsers can show the report files from the store.
func wantTypes(t *testing.T, e *storagetest.Emulator, folder string) {
	t.Helper()
	for name, want := range map[string]string{
		"README.md": "text/markdown; charset=utf-8", "report.html": "text/html; charset=utf-8", "figures/AVG-CPU.svg": "image/svg+xml",
		"figures/AVG-CPU.png": "image/png", "data/AVG-CPU.csv": "text/csv; charset=utf-8", "all-aggregated.json": "application/json",
	} {
		if got := e.ContentType(t, folder+name); got != want {
			t.Errorf("%s has the type %q in the store, want %q", name, got, want)
		}
	}
}

// An address without a complete run is refused, and the error names the runs below it.
func TestAnalyzeNoRemoteRun(t *testing.T) {
	folder := &storagetest.Emulator{Scheme: "file", Bucket: t.TempDir()}
	address := sentRun(t, folder, runtest.TwoDatabases(t))
	t.Chdir(t.TempDir())
	half := t.TempDir()
	if err := os.WriteFile(filepath.Join(half, "a.csv"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{folder.URL("")}, "is not a result folder: it has no manifest.json; the result folders below it are " + address},
		{[]string{"file://" + half}, "is not a complete result folder: it has 1 file, but no manifest.json, which an upload sends last"},
		{[]string{"file://" + t.TempDir()}, "is not a result folder: it has no files"},
		{[]string{"http://bucket/run"}, "must be gs://bucket/folder, s3://bucket/folder or file:///folder"},
		{[]string{"--upload", "ftp://x", address}, `got "ftp://x"`},
	} {
		code, _, errs := program(t, append([]string{"analyze"}, tt.args...)...)
		if code != exitUsage || !strings.Contains(errs, tt.want) {
			t.Errorf("analyze %q: exit code %d, want %d and %q:\n%s", tt.args, code, exitUsage, tt.want, errs)
		}
	}
	// An impossible destination is known before the report is made.
	code, _, errs := program(t, "analyze", "--upload", "file:///absent-folder", address)
	if code != exitFailed || !strings.Contains(errs, `folder "/absent-folder" does not exist`) {
		t.Errorf("analyze with an upload to a folder that does not exist: %d\n%s", code, errs)
	}
	if _, err := os.Stat("report"); !os.IsNotExist(err) {
		t.Errorf("a refused analysis must leave no report, got %v", err)
	}
}

// downloaded is a copy of the store contents at address.
func downloaded(t *testing.T, address string) string {
	t.Helper()
	b, err := remotestorage.Open(context.Background(), address, remotestorage.Options{})
	if err != nil {
		t.Fatalf("open the store: %v", err)
	}
	defer b.Close()
	dir := t.TempDir()
	if _, err := remotestorage.Download(t.Context(), b, dir, remotestorage.Bounds{Objects: 1000, Bytes: 1 << 30}, nil); err != nil {
		t.Fatalf("download %s: %v", address, err)
	}
	return dir
}

// treeOf lists the files in dir with their hashes.
func treeOf(t *testing.T, dir string) string {
	t.Helper()
	list, err := tree(dir)
	if err != nil {
		t.Fatalf("list %s: %v", dir, err)
	}
	return list
}
