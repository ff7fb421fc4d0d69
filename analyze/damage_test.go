package analyze

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coreos/dbtester/analyze/runtest"
	"github.com/coreos/dbtester/pkg/mark"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/results/digest"
)

// whole is a run with digests and the folder for its database.
func whole(t *testing.T) (dir, tag string) {
	t.Helper()
	f := runtest.NewFixture(t, filepath.Join(t.TempDir(), "run"))
	record := f.Database("etcd-v3.6", 2*time.Millisecond)
	tag = filepath.Join(f.Dir, record.Tag)
	f.Ok(os.WriteFile(filepath.Join(tag, results.FileClock), []byte("unix_ns,member,offset_ns,error_ns,round_trip_ns\n"+strings.Repeat("1800000000000000000,1,0,1000,2000\n", 9)), 0o600))
	f.Ok(os.WriteFile(filepath.Join(tag, results.FileMembersLatency), bytes.Repeat([]byte("#\n"), 9), 0o600))
	f.Ok(os.WriteFile(filepath.Join(tag, results.FileDisk), results.DiskTable(record.Members), 0o600))
	files, err := results.Digest(tag)
	f.Ok(err)
	record.Digests = &digest.Set{}
	record.Digests.Renew("", files)
	return f.Write(), tag
}

// TestDamagedRecords cuts the last third off one record at a time, in whole lines, which no reader
// notices: each cut is a mark.
func TestDamagedRecords(t *testing.T) {
	for file, code := range map[string]string{
		results.FileMembers: mark.RequestsDamaged, results.FileMembersLatency: mark.RequestsDamaged, results.FileLatency: mark.RequestsDamaged,
		results.FileEvents: mark.RecordsDamaged, results.ServerFile(1): mark.RecordsDamaged, results.FileClock: mark.RecordsDamaged,
		results.FileDisk: "",
	} {
		t.Run(file, func(t *testing.T) {
			dir, tag := whole(t)
			if marks := damagesOf(tabulate(t, dir)); len(marks) > 0 {
				t.Fatalf("a whole run has %q", marks)
			}
			path := filepath.Join(tag, file)
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			lines := bytes.SplitAfter(bytes.TrimSuffix(data, []byte("\n")), []byte("\n"))
			left := bytes.Join(lines[:len(lines)-(len(lines)+2)/3], nil)
			if err := os.WriteFile(path, left, 0o600); err != nil {
				t.Fatal(err)
			}
			var want []string
			if code != "" {
				want = append(want, fmt.Sprintf("%s %v %s", code, code == mark.RequestsDamaged, mark.Text(code, mark.Values{"bytes": float64(len(left)), "recorded_bytes": float64(len(data))}, mark.Words{"file": file})))
			}
			if marks := damagesOf(tabulate(t, dir)); !slices.Equal(marks, want) {
				t.Errorf("marks %q, want %q", marks, want)
			}
		})
	}
}

// TestLostRecords removes and edits more files than are named one by one.
func TestLostRecords(t *testing.T) {
	dir, tag := whole(t)
	for i := range 7 {
		path := filepath.Join(tag, results.DirLogs, fmt.Sprintf("%d-etcd.log", i+1))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("line\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	folder, err := results.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	m, err := folder.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	files, err := results.Digest(tag)
	if err != nil {
		t.Fatal(err)
	}
	m.Databases[0].Digests.Renew("a script", files)
	if err := folder.WriteManifest(m); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(tag, results.DirLogs)); err != nil {
		t.Fatal(err)
	}
	marks := damagesOf(tabulate(t, dir))
	if len(marks) != 7 || !strings.Contains(marks[0], "1-etcd.log is missing or cannot be read: no such file") ||
		!strings.Contains(marks[5], "2 more files") || !strings.Contains(marks[6], "a script changed 7 files after the run: added logs/1-etcd.log") {
		t.Errorf("marks %q", marks)
	}
}

// TestNoDigests: a run that ended before its digests has a mark, and a run by an older release has
// no mark.
func TestNoDigests(t *testing.T) {
	for name, set := range map[string]*digest.Set{"older": nil, "lost": {}} {
		f := runtest.NewFixture(t, filepath.Join(t.TempDir(), "run"))
		f.Database("etcd-v3.6", 2*time.Millisecond).Digests = set
		marks := damagesOf(tabulate(t, f.Write()))
		if want := name == "lost"; want != (len(marks) == 1) {
			t.Errorf("%s: marks %q", name, marks)
		}
	}
}

// TestRowOfNobody adds a row about a nonexistent member to one record at a time. The row is a gap
// that names the line.
func TestRowOfNobody(t *testing.T) {
	for file, change := range map[string][2]string{
		results.FileMembers: {",measure,1,", ",measure,999999,"},
		results.FileEvents:  {`"member":-1`, `"member":999999`},
		results.FileClock:   {",1,0,1000,", ",999999,0,1000,"},
	} {
		dir, tag := whole(t)
		path := filepath.Join(tag, file)
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.SplitAfter(string(data), "\n")
		at := slices.IndexFunc(lines, func(l string) bool { return strings.Contains(l, change[0]) })
		if at < 0 {
			t.Fatalf("%s has no row with %q: %s", file, change[0], data)
		}
		lines[at] = strings.Replace(lines[at], change[0], change[1], 1)
		if err := os.WriteFile(path, []byte(strings.Join(lines, "")), 0o600); err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprintf("%s is unreadable from line %d on: ", file, at+1)
		gaps := gapsOf(tabulate(t, dir))
		if !slices.ContainsFunc(gaps, func(g string) bool {
			return strings.HasPrefix(g, want) && strings.Contains(g, "member 999999 does not exist: the run has 2")
		}) {
			t.Errorf("%s: gaps %q, want one with %q", file, gaps, want)
		}
	}
}

// damagesOf returns the marks on files that differ from the records: code, whether it is
// invalid, and text.
func damagesOf(r *Report) (marks []string) {
	for _, m := range r.Marks {
		if slices.Contains([]string{mark.RequestsDamaged, mark.RecordsDamaged, mark.RecordsChanged, mark.NoDigests}, m.Code) {
			marks = append(marks, fmt.Sprintf("%s %v %s", m.Code, m.Invalid, m.Mark.Text))
		}
	}
	return marks
}
