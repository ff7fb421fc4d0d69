package results

import (
	"testing"

	"github.com/coreos/dbtester/pkg/workload"
)

func TestLabelsThatDisagree(t *testing.T) {
	for _, test := range []struct {
		label, version string
		agree          bool
	}{
		{"v3.6", "3.6.16", true}, {"v3.5", "3.6.16", false}, {"v3.6.1", "3.6.16", false}, {"r3.9.4", "3.9.4-abc", true},
		{"r3.5.3.beta", "3.5.3", true}, {"tip", "3.7.0", true}, {"", "3.7.0", true}, {"v3.6.16", "3.6", false},
		{"v3_6", "3.6.16", true}, {"holds_1GiB", "3.6.16", true}, {"0GiB", "3.6.16", true}, {"2000", "3.6.16", true}, {"library_1", "3.6.16", true}, {"1.5GiB", "3.6.16", true}, {"clientv2", "3.6.16", true}, {"go1.26", "3.6.16", true},
		{"v4", "3.6.16", false}, {"3_5", "3.6.16", false}, {"library_v3_5", "3.6.16", false}, {"5_clients_v3_6", "3.6.16", true}, {"v0.0.5", "etcd 3.7.3", true}, {"v3.5", "3.6.16 beta", false},
	} {
		if got := (&DatabaseRun{Label: test.label}).LabelAgrees(test.version); got != test.agree {
			t.Errorf("label %q agrees with %q: %v", test.label, test.version, got)
		}
	}
	if run := (&DatabaseRun{Label: "v3.6", Asked: "3.5.35"}); run.LabelAgrees("3.6.16") || !run.LabelAgrees("3.5.35") {
		t.Error("what was asked for does not go before the label")
	}
	if run := (&DatabaseRun{Label: "v3.6", Asked: "4"}); run.LabelAgrees("3.6.16") {
		t.Error("a number that was asked for is a version, unlike one in a label")
	}
	for label, agrees := range map[string]bool{"members-1": true, "v3_6-members-1": true, "v3_5-members-1": false} {
		run := DatabaseRun{Label: label, Swept: &workload.Swept{Key: workload.SweepMembers, Text: "1"}}
		if got := run.LabelAgrees("3.6.16"); got != agrees {
			t.Errorf("label %q of a point of a sweep agrees with 3.6.16: %v, want %v", label, got, agrees)
		}
	}
}
