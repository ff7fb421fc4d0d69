package main

import (
	"strings"
	"testing"

	"github.com/coreos/dbtester/pkg/config"
)

// TestNoAgentsHint: --local is suggested only for hosts that it accepts.
func TestNoAgentsHint(t *testing.T) {
	for addr, local := range map[string]bool{"127.0.0.1": true, "::1": true, "10.0.0.2": false, "db-1.example.org": false} {
		e := &config.Experiment{Databases: []config.Database{{Hosts: []config.Host{{Addr: "127.0.0.2"}, {Addr: addr}}}}}
		if got := noAgents(e).Error(); strings.Contains(got, "--local") != local || !strings.Contains(got, "dbtester agent") {
			t.Errorf("hint for %s: %q, want that it names --local: %v", addr, got, local)
		}
	}
}
