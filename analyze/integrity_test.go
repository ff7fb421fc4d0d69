package analyze

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coreos/dbtester/analyze/runtest"
	"github.com/coreos/dbtester/pkg/mark"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/sleep/slowtest"
)

// broken is a result folder in which one file was changed; want is part of the gap that names it.
type broken struct {
	file   string
	change func(lines []string) []string // nil removes the file
	want   string
}

func shift(line, from, to string) string { return strings.Replace(line, from, to, 1) }

// TestBrokenRecords changes one record of a complete run at a time. Each change must be named, and
// may not change a number silently.
func TestBrokenRecords(t *testing.T) {
	slowtest.Skip(t)
	last := func(lines []string) string { return lines[len(lines)-1] }
	for name, b := range map[string]broken{
		"lost row":     {results.FileIntervals, func(l []string) []string { return slices.Delete(l, 3, 4) }, "rows were lost, repeated or changed"},
		"repeated row": {results.FileIntervals, func(l []string) []string { return append(l, last(l)) }, "repeats 1 rows"},
		"shifted row": {results.FileIntervals, func(l []string) []string {
			second, _, _ := strings.Cut(last(l), ",")
			l[len(l)-1] = shift(last(l), second, second[:len(second)-2]+"99")
			return l
		}, "records were lost, repeated or shifted"},
		"far second": {results.FileIntervals, func(l []string) []string {
			second, _, _ := strings.Cut(last(l), ",")
			l[len(l)-1] = shift(last(l), second, "1"+second)
			return l
		}, "1 rows of seconds far from the load"},
		"lost tick":     {results.FileProgress, func(l []string) []string { return slices.Delete(l, 3, 4) }, "progress.csv has "},
		"no ticks":      {results.FileProgress, nil, "progress.csv is missing"},
		"empty ticks":   {results.FileProgress, func([]string) []string { return nil }, "progress.csv has 0 requests answered ok"},
		"empty log":     {results.FileLatency, func([]string) []string { return nil }, "latency.hlog and intervals.csv differ"},
		"lost log line": {results.FileLatency, func(l []string) []string { return l[:len(l)-1] }, "latency.hlog and intervals.csv differ"},
		"no events":     {results.FileEvents, nil, "events.jsonl is missing"},
		"far sample": {results.ServerFile(2), func(l []string) []string {
			second, _, _ := strings.Cut(last(l), ",")
			l[len(l)-1] = shift(last(l), second, "1"+second)
			return l
		}, results.ServerFile(2)},
		"no samples": {results.ServerFile(1), nil, results.ServerFile(1) + " is missing"},
	} {
		t.Run(name, func(t *testing.T) {
			f := runtest.NewFixture(t, filepath.Join(t.TempDir(), "run"))
			record := f.Database("etcd-v3.6", 2*time.Millisecond)
			dir := f.Write()
			if gaps := gapsOf(tabulate(t, dir)); len(gaps) > 0 {
				t.Fatalf("a whole run has gaps: %q", gaps)
			}
			path := filepath.Join(dir, record.Tag, b.file)
			if b.change == nil {
				f.Ok(os.Remove(path))
			} else {
				data, err := os.ReadFile(path)
				f.Ok(err)
				lines := b.change(strings.Split(strings.TrimSuffix(string(data), "\n"), "\n"))
				f.Ok(os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600))
			}
			gaps := gapsOf(tabulate(t, dir))
			if !slices.ContainsFunc(gaps, func(g string) bool { return strings.Contains(g, b.want) }) {
				t.Errorf("gaps %q, want one with %q", gaps, b.want)
			}
		})
	}
}

func gapsOf(r *Report) (gaps []string) {
	for _, m := range r.Marks {
		if m.Code == mark.Gap {
			gaps = append(gaps, m.Mark.Text)
		}
	}
	return gaps
}

// TestHostileManifest uses a manifest that would lead out of its folder, or nowhere.
func TestHostileManifest(t *testing.T) {
	for name, change := range map[string]func(string) string{
		"null": func(s string) string {
			return s[:strings.Index(s, `"databases"`)] + `"databases": [null]}`
		},
		"tag that is a path": func(s string) string { return strings.ReplaceAll(s, `"etcd-v3.6"`, `"../../x/etcd"`) },
		"tag of the report":  func(s string) string { return strings.ReplaceAll(s, `"etcd-v3.6"`, `"report"`) },
	} {
		t.Run(name, func(t *testing.T) {
			f := runtest.NewFixture(t, filepath.Join(t.TempDir(), "run"))
			f.Database("etcd-v3.6", 2*time.Millisecond)
			dir := f.Write()
			path := filepath.Join(dir, results.FileManifest)
			data, err := os.ReadFile(path)
			f.Ok(err)
			f.Ok(os.WriteFile(path, []byte(change(string(data))), 0o600))
			if _, err := newDocument(t.Context(), Options{Folders: []string{dir}}); err == nil || !strings.Contains(err.Error(), "database 1") {
				t.Errorf("%v, want an error that names database 1", err)
			}
		})
	}
}

// TestOutputFollowsNoLink: if a link replaces the report, or one of its files, the target is left
// alone.
func TestOutputFollowsNoLink(t *testing.T) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	victim := filepath.Join(elsewhere, "README.md")
	if err := os.WriteFile(victim, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	report := filepath.Join(dir, results.DirReport)
	if err := os.Symlink(elsewhere, report); err != nil {
		t.Fatal(err)
	}
	out, err := newOutput(Options{Folders: []string{dir}})
	if err != nil {
		t.Fatal(err)
	}
	if err := out.write(out.readme, []byte("x")); err == nil || !strings.Contains(err.Error(), "symbolic link") {
		t.Errorf("a report that is a link: %v, want it refused", err)
	}
	if err := os.Remove(report); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(report, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(victim, out.readme); err != nil {
		t.Fatal(err)
	}
	if err := out.write(out.readme, []byte("x")); err == nil || !strings.Contains(err.Error(), "regular file") {
		t.Errorf("a README.md that is a link: %v, want it refused", err)
	}
	if got, err := os.ReadFile(victim); err != nil || string(got) != "mine" {
		t.Errorf("the file behind the link is %q (%v), want it untouched", got, err)
	}
}
