package consistency

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/coreos/dbtester/pkg/consistency"
)

// read returns the histories in a file up to an error.
func read(path string) (list []consistency.History, err error) {
	for h, err := range Histories(path) {
		if err != nil {
			return list, err
		}
		list = append(list, *h)
	}
	return list, nil
}

// TestHistories: a file returns the histories that were written to it, with each request kind and
// outcome.
func TestHistories(t *testing.T) {
	var ops []consistency.Op
	for kind := consistency.Read; kind <= consistency.Delete; kind++ {
		for outcome := consistency.OK; outcome <= consistency.NotFound; outcome++ {
			n := int64(len(ops))
			ops = append(ops, consistency.Op{Key: 7, Request: n, Read: -n, Known: true, Sent: n, End: n + 5, Client: int32(n), Kind: kind, Outcome: outcome})
		}
	}
	ops[3].Known, ops[3].Read = false, 0
	ops[1].Read = consistency.NoRequest
	want := []consistency.History{
		{Key: 7, Initial: consistency.Absent, Until: consistency.Whole, Ops: ops},
		{Key: 0, Initial: -9, Until: 22, Violations: 2, Missing: 3},
	}
	path := filepath.Join(t.TempDir(), FileHistory)
	if err := WriteHistories(path, want); err != nil {
		t.Fatal(err)
	}
	got, err := read(path)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("read the file: %v (-want +got):\n%s", err, diff)
	}
}

// TestBrokenHistories: broken files are refused at their line, and requests that a file lacks are
// missing from its history.
func TestBrokenHistories(t *testing.T) {
	const key = `{"key":3,"requests":2}` + "\n"
	for name, c := range map[string]struct{ text, want string }{
		"no JSON":            {"key 3\n", "line 1: invalid character"},
		"no key":             {`{"request":1,"kind":"read","outcome":"ok"}` + "\n", "line 1: a request comes before the first key"},
		"neither":            {key + "{}\n", "line 2: a line must be about a key or a request"},
		"another kind":       {key + `{"request":1,"kind":"lock","outcome":"ok"}` + "\n", `line 2: a request must have a known kind and outcome, got "lock" and "ok"`},
		"an end before":      {key + `{"request":1,"kind":"read","outcome":"ok","sent_ns":5,"end_ns":4}` + "\n", "line 2: request 1 ended at 4, before it was sent at 5"},
		"an incomplete line": {key + `{"request":1`, "incomplete"},
		"too few requests":   {key + `{"request":1,"kind":"read","outcome":"ok"}` + "\n", ""},
	} {
		path := filepath.Join(t.TempDir(), FileHistory)
		if err := os.WriteFile(path, []byte(c.text), 0o644); err != nil {
			t.Fatal(err)
		}
		list, err := read(path)
		if c.want == "" {
			if err != nil || len(list) != 1 || list[0].Missing != 1 {
				t.Errorf("%s: %+v, %v, want a request missing", name, list, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	if _, err := read(filepath.Join(t.TempDir(), FileHistory)); !os.IsNotExist(err) && err == nil {
		t.Errorf("a missing file: %v", err)
	}
}
