package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/ability/profile"
)

func TestProfile(t *testing.T) {
	for _, tt := range []struct {
		text string
		cpu  time.Duration // 0 for no profile
		want string        // part of the error
	}{
		{"", 0, ""},
		{"profile: {cpu: 1s}\n", time.Second, ""},
		{"profile: {cpu: 10m}\n", 10 * time.Minute, ""},
		{"profile: {}\n", 0, "test.yaml:1:10: profile: cpu is missing"},
		{"profile: {cpu: 1500ms}\n", 0, "test.yaml:1:16: cpu: want whole seconds from 1s to 10m0s, got 1.5s"},
		{"profile: {cpu: 0s}\n", 0, "want whole seconds"},
		{"profile: {cpu: 11m}\n", 0, "want whole seconds"},
		{"profile: {cpu: 30}\n", 0, "did you mean 30s?"},
		{"profile: {heap: 30s}\n", 0, "heap"},
		{"profile: 30s\n", 0, "profile"},
	} {
		e, _, err := Parse("test.yaml", []byte(tt.text+"hosts: [a]\ndatabases: {etcd: }\n"), testCatalog())
		switch {
		case tt.want != "":
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%q: %v, want %q", tt.text, err, tt.want)
			}
		case err != nil:
			t.Errorf("%q: %v", tt.text, err)
		case profile.Keys().Of(e.Abilities).CPU != tt.cpu:
			t.Errorf("%q: %+v, want %v", tt.text, e.Abilities, tt.cpu)
		}
	}
}

// TestProfilesDoc reads the example on the page on profiles.
func TestProfilesDoc(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "..", "docs", "profiles.md"))
	if err != nil {
		t.Fatalf("read the file: %v", err)
	}
	_, block, _ := strings.Cut(string(data), "```yaml\n")
	block, _, _ = strings.Cut(block, "```")
	// Driver options are in the drivers' tests.
	block = strings.NewReplacer("{options: {pprof: true}}", "", "{options: {enable_debug: true}}", "").Replace(block)
	if e := parse(t, "hosts: [a]\n"+block); profile.Keys().Of(e.Abilities).CPU != 30*time.Second {
		t.Errorf("%+v, want a profile of 30s", e.Abilities)
	}
}
