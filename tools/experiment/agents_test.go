package experiment_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coreos/dbtester/tools/experiment"
)

// Agents are ready once they listen, and end when they are stopped. If an agent does not listen, the error
// contains its output.
func TestAgents(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "program")
	script := `#!/bin/sh
if [ "$6" = --refused ]; then echo "no such flag" >&2; exit 1; fi
trap 'echo over >"$5"; exit 1' INT
echo "agent listens on $3"
while :; do sleep 0.01; done
`
	if err := os.WriteFile(path, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	var a experiment.Agents
	if err := a.Start(path, dir, []string{"127.0.0.1", "127.0.0.2"}, "--allow-load"); err != nil {
		t.Fatal(err)
	}
	if err := a.Stop(); err != nil {
		t.Error(err)
	}
	for _, host := range []string{"127.0.0.1", "127.0.0.2"} {
		if _, err := os.Stat(filepath.Join(dir, "agent-"+host)); err != nil {
			t.Errorf("the agent on %s did not end: %v", host, err)
		}
	}
	if err := a.Start(path, dir, []string{"127.0.0.3"}, "--refused"); err == nil || !strings.Contains(err.Error(), "the agent on 127.0.0.3 does not listen\nno such flag") {
		t.Errorf("an agent that does not listen: %v", err)
	}
}
