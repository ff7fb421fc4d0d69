package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const turns = `stage,name,contender,asked_ns,placed_ns,acquired_ns,sent_ns,released_ns,stopped_ns,fence,end
0,0,0,1,0,10,20,25,0,1,released
0,0,1,2,0,26,40,45,0,2,released
0,0,0,30,0,39,60,65,0,3,released
0,0,1,46,0,70,80,85,0,3,released
0,1,2,1,0,15,30,35,0,1,released
0,1,3,1,0,0,0,0,0,0,waiting
0,1,2,36,0,50,60,65,0,9,lost
1,0,0,100,0,105,110,115,0,1,released
`

// The turns on each lock are judged in the order in which it was acquired: two at once, and a fence
// twice.
func TestJudge(t *testing.T) {
	got, err := judge(strings.NewReader(turns))
	if want := (count{rounds: 1, handOffs: 4, overlaps: 1, disorder: 1, other: 1}); err != nil || got != want {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
	if _, err := judge(strings.NewReader(strings.Replace(turns, "sent_ns", "given_up_ns", 1))); err == nil || !strings.Contains(err.Error(), "the column sent_ns") {
		t.Errorf("a table without a column that is judged must be an error, got %v", err)
	}
	if _, err := judge(strings.NewReader("")); err == nil {
		t.Error("a table without a header must be an error")
	}
}

// The recipes run until there are enough hand-offs, and a violation is an error with the table.
func TestHandOffs(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "dbtester")
	script := "#!/bin/sh\nmkdir -p \"$6/a/b/it\" && cat >\"$6/a/b/it/turns.csv\" <<'END'\n" + turns + "END\nexit 3\n"
	if err := os.WriteFile(program, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	var out, progress strings.Builder
	err := handOffs(t.Context(), []string{"-dbtester", program, "-n", "20"}, &out, &progress)
	if err == nil || !strings.Contains(err.Error(), "etcd, library: 12 hand-offs of 10, 3 held twice, 3 fences out of order") {
		t.Errorf("error %v", err)
	}
	if !strings.Contains(out.String(), "| consul | direct | 3 | 12 | 3 | 3 | 3 |\n") {
		t.Errorf("the table is\n%s", out.String())
	}
}
