package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// reports writes the answers for sets, each "" or a winner name.
func reports(t *testing.T, winners ...string) (folder string) {
	t.Helper()
	folder = t.TempDir()
	for i, winner := range winners {
		claims := "[]"
		if winner != "" {
			claims = `[{"ahead": "` + winner + `", "p": 0.0156}]`
		}
		set := filepath.Join(folder, "set-0"+string(rune('1'+i)))
		if err := os.Mkdir(set, 0o755); err != nil {
			t.Fatalf("make a folder: %v", err)
		}
		data := `{"headline": {"answer": {"sentence": "A sentence.", "basis": "A basis.", "claims": ` + claims + `}}}`
		if err := os.WriteFile(filepath.Join(set, "report.json"), []byte(data), 0o644); err != nil {
			t.Fatalf("write a report: %v", err)
		}
	}
	return folder
}

func TestReports(t *testing.T) {
	for _, tt := range []struct {
		winners       []string
		text, failure string
	}{
		{make([]string, 9), "0 of 9 first screens name a winner", ""},
		{[]string{"", "one"}, "| set-02 | one (p 0.016) | A sentence. | A basis. |", "1 of 2 first screens of equal databases name a winner"},
		{nil, "", "must hold reports"},
	} {
		var out bytes.Buffer
		err := run([]string{"-reports", reports(t, tt.winners...)}, &out)
		failure := ""
		if err != nil {
			failure = err.Error()
		}
		if (tt.failure == "") != (err == nil) || !strings.Contains(failure, tt.failure) {
			t.Errorf("%q: the error is %q, want %q", tt.winners, failure, tt.failure)
		}
		if !strings.Contains(out.String(), tt.text) {
			t.Errorf("%q: got %s, want %q", tt.winners, &out, tt.text)
		}
	}
}
