package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/coreos/dbtester/pkg/workload"
)

func TestJudge(t *testing.T) {
	e := parse(t, `hosts: [a]
load: {judge: {failed: {mark: 2%, invalid: 3%}, achieved: {invalid: 50 %}}, expect: {failed: 100%}}
databases:
  etcd:
  consul: {load: {judge: {failed: {invalid: 5.5%}, waiting: {mark: 0%}}, expect: {unknown: 20%, lost_servers: 1}}}
`)
	judge := func(change func(*workload.Judge)) workload.Judge {
		j := workload.DefaultJudge()
		j.Achieved.Invalid, j.Failed = 50, workload.Bounds{Mark: 2, Invalid: 3}
		change(&j)
		return j
	}
	for i, want := range []struct {
		judge  workload.Judge
		expect workload.Expect
	}{
		{judge(func(*workload.Judge) {}), workload.Expect{Failed: 100}},
		{judge(func(j *workload.Judge) { j.Failed.Invalid, j.Waiting.Mark = 5.5, 0 }), workload.Expect{Failed: 100, Unknown: 20, LostServers: 1}},
	} {
		l := e.Databases[i].Load
		if diff := cmp.Diff(want.judge, l.Judge); diff != "" {
			t.Errorf("%s: bounds (-want +got):\n%s", e.Databases[i].ID, diff)
		}
		if diff := cmp.Diff(want.expect, l.Expect); diff != "" {
			t.Errorf("%s: expected failures (-want +got):\n%s", e.Databases[i].ID, diff)
		}
	}
	shown, err := Show(e)
	if err != nil {
		t.Fatalf("show the experiment: %v", err)
	}
	for _, line := range []string{"expect: {failed: 100%, unknown: 20%, lost_servers: 1}", "failed: {mark: 2%, invalid: 5.5%}", "waiting: {mark: 0%, invalid: 5%}"} {
		if !strings.Contains(string(shown), line) {
			t.Errorf("shown: want a line %q, got\n%s", line, shown)
		}
	}
	wantSameAgain(t, "judge", shown)
}

// TestJudgeProblems gives bounds that no run can meet, or that have no effect.
func TestJudgeProblems(t *testing.T) {
	for load, want := range map[string]string{
		"judge: {achieved: {mark: 90%}}":              "judge: achieved: invalid must not be above mark, got 95% and 90%",
		"judge: {unknown: {mark: 2%, invalid: 1.5%}}": "judge: unknown: invalid must not be below mark, got 1.5% and 2%",
		"judge: {failed: {mark: 0.5}}":                "mark: 0.5 has no % (did you mean 0.5%?)",
		"judge: {failed: {mark: lots}}":               "mark: want a percentage such as 99.5%, got \"lots\"",
		"expect: {failed: 101%}":                      "failed: 101% is not between 0% and 100%",
		"expect: {lost_servers: -1}":                  "lost_servers: -1 is negative",
		"expect: {lost_servers: 10%}":                 "lost_servers: want",
		"expect: {faild: 1%}":                         "unknown key \"faild\"",
	} {
		_, _, err := Parse("f.yaml", []byte("hosts: [a]\nload: {"+load+"}\ndatabases: {etcd: }\n"), testCatalog())
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("load: {%s}: want the problem %q, got %v", load, want, err)
		}
	}
}
