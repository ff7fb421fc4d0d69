package control

import (
	"slices"
	"testing"

	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/database/fake"
)

// TestReach names the flags for agents of generators, each at the place of its key.
func TestReach(t *testing.T) {
	t.Parallel()
	registry := database.NewRegistry(fake.Database())
	for name, tt := range map[string]struct {
		text string
		want []string
	}{
		"members of agents": {"generators: [127.0.0.9]\nhosts: [127.0.0.1]\ndatabases:\n  fake:\n", nil},
		"no generators":     {"databases:\n  fake: {endpoints: [10.0.0.1:7379], prefix: x}\n", nil},
		"a running cluster": {"generators: [127.0.0.9]\ndatabases:\n  fake:\n    endpoints: [10.0.0.1:7379, 10.0.0.1:7380, store.example.org:7379]\n    prefix: x\n", []string{
			"x.yaml:6:16: warning: endpoints: generators connect to members without agents only if their own agents have --allow-targets 10.0.0.1,store.example.org",
		}},
	} {
		e, _, err := config.Parse("x.yaml", []byte("title: reach\nload: {operation: write, requests: 10, clients: 2}\n"+tt.text), registry.All())
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var got []string
		for _, f := range Reach(e) {
			got = append(got, f.String())
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}
