package fleet

import (
	"strings"
	"testing"

	pb "github.com/coreos/dbtester/dbtesterpb"
)

func TestEndOf(t *testing.T) {
	exits := func(list ...string) (children []*pb.Child) {
		for _, exit := range list {
			children = append(children, &pb.Child{Name: "db", Exit: exit, Running: exit == ""})
		}
		return children
	}
	for _, test := range []struct {
		reason string
		exits  []string
		want   string
	}{
		{"child died", []string{"exit 3"}, "it ended by itself"},
		{"child died", []string{"killed by SIGSEGV"}, "it ended by itself"},
		{"child died", []string{"exit 3", "killed by SIGKILL after kill"}, "it ended by itself"},
		{"child died", []string{"killed by SIGKILL"}, "it was killed by another process"},
		{"child died", []string{"exit 0 after interrupt", "killed by SIGTERM"}, "it was killed by another process"},
		{"lease expired", []string{"exit 0 after interrupt"}, "its agent stopped it: lease expired"},
		{"asked", nil, "its agent stopped it: asked"},
		{"agent closed", nil, "its agent stopped it: agent closed"},
		{"start failed", nil, "its agent stopped it: start failed"},
		{"", nil, gone},
	} {
		got := endOf(test.reason, exits(test.exits...))
		if !strings.HasPrefix(got, test.want) || strings.Contains(got, "by itself") != strings.Contains(test.want, "by itself") {
			t.Errorf("a session that ended because %q, with exits %q: %q, want %q", test.reason, test.exits, got, test.want)
		}
	}
}
