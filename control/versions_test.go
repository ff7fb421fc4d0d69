package control

import (
	"slices"
	"testing"

	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/sleep/slowtest"
)

func TestVersions(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		asked, label string
		versions     []string
		leader       int
		want         string
	}{
		{"v3.7.3", "", []string{"3.7.3", "3.7.3"}, 1, "members run 3.7.3, member 2 leads"},
		{"v3.7", "", []string{"3.7.3", "3.7.3"}, -1, "members run 3.7.3"},
		{"", "tip", []string{"3.7.3"}, 0, "members run 3.7.3, member 1 leads"},
		{"3.5.3", "", []string{"3.5.3-beta"}, -1, "members run 3.5.3-beta"},
		{"v3.3.0", "", []string{"3.7.3", "3.7.3"}, 0, "members run 3.7.3, but the label says otherwise: TAG (ran 3.7.3), member 1 leads"},
		{"", "v3_1", []string{"3.10.0"}, -1, "members run 3.10.0, but the label says otherwise: TAG (ran 3.10.0)"},
		{"r3.4", "", []string{"3.45.0"}, -1, "members run 3.45.0, but the label says otherwise: TAG (ran 3.45.0)"},
		{"v3.7", "", []string{"3.7.3", "3.6.1", ""}, 2, "member 1 runs 3.7.3, member 2 runs 3.6.1, member 3 leads"},
		{"v3.7", "", []string{"3.7.3", "", "3.7.3"}, -1, "member 1 runs 3.7.3, member 3 runs 3.7.3"},
		{"v3.7", "", []string{"", ""}, 0, "members do not report their version, member 1 leads"},
	} {
		run := &results.DatabaseRun{Tag: "TAG", Asked: tt.asked, Label: tt.label, Leader: tt.leader}
		for i, v := range tt.versions {
			run.Members = append(run.Members, results.Member{Index: i, Version: v})
		}
		if got := versions(run); got != tt.want {
			t.Errorf("asked %q, label %q, %q: %q, want %q", tt.asked, tt.label, tt.versions, got, tt.want)
		}
	}
}

// Answers from members are reported as soon as they are known.
func TestVersionsInRun(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	r := newRig(t)
	var said []string
	r.mustRun(r.experiment(small+"databases: {fake: {}}"), func(u Update) { said = append(said, u.Text) })
	asked := slices.Index(said, "ask versions")
	if asked < 0 || asked+1 >= len(said) || said[asked+1] != "members run 1.0.0, member 1 leads" {
		t.Errorf("the versions were not reported after the step that asks for them: %q", said)
	}
}
