package secret

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPassword(t *testing.T) {
	file := func(text string) string {
		path := filepath.Join(t.TempDir(), "password")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatalf("write a file for the test: %v", err)
		}
		return path
	}
	t.Setenv("DBTESTER_TEST_PASSWORD", "of the environment")
	for name, c := range map[string]struct{ file, variable, want, problem string }{
		"a variable":     {variable: "DBTESTER_TEST_PASSWORD", want: "of the environment"},
		"a file":         {file: file(" of a file \r\n"), want: " of a file "},
		"a file first":   {file: file("of a file"), variable: "DBTESTER_TEST_PASSWORD", want: "of a file"},
		"no variable":    {variable: "DBTESTER_TEST_NONE", problem: "DBTESTER_TEST_NONE is not set or empty"},
		"no file":        {file: "/nonexistent/password", problem: "open password file"},
		"an empty file":  {file: file("\n"), problem: "is empty"},
		"too long a one": {file: file(strings.Repeat("secret", 1+maxBytes/6)), problem: "is longer than"},
	} {
		got, err := Password(c.file, c.variable)
		switch {
		case c.problem == "" && (err != nil || got != c.want):
			t.Errorf("%s: %q, error %v, want %q", name, got, err, c.want)
		case c.problem != "" && (err == nil || got != "" || !strings.Contains(err.Error(), c.problem) || strings.Contains(err.Error(), "secretsecret")):
			t.Errorf("%s: %q, error %v, want %q", name, got, err, c.problem)
		}
	}
}
