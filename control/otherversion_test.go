package control

import (
	"strings"
	"testing"

	"github.com/coreos/dbtester/pkg/results"
)

// TestAgentsOfAnotherVersion: a run whose agents have another version than its control ends before
// anything starts. It names both versions for every agent, and leaves the agents free.
func TestAgentsOfAnotherVersion(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	o := r.options(r.experiment(small+"databases: {fake: {}}"), nil)
	o.Tool = results.Tool{Version: "v9.9.9"}
	for name, err := range map[string]error{
		"check": Check(t.Context(), o),
		"run":   func() error { _, err := Run(t.Context(), o); return err }(),
	} {
		if err == nil {
			t.Fatalf("%s: agents of v0-test were not refused by a control of v9.9.9", name)
		}
		if !strings.Contains(err.Error(), r.agents[0].addr+" is dbtester v0-test, and this control is dbtester v9.9.9") {
			t.Errorf("%s: error %v, want the agent and both versions", name, err)
		}
	}
	r.mustBeIdle()
	o.Tool.Version = "v0-test"
	if err := Check(t.Context(), o); err != nil {
		t.Errorf("agents of the same version: %v", err)
	}
}
