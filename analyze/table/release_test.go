package table

import (
	"testing"
	"time"

	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/results"
)

func TestReleaseSaysHowItWasBuilt(t *testing.T) {
	goBuild := &results.Release{Name: "etcd", Kind: "go build", Version: "3.5.35"}
	argv := [][]string{{"etcd"}}
	for _, tt := range []struct {
		name  string
		run   results.DatabaseRun
		built string
		want  string
	}{
		{"built in", results.DatabaseRun{Members: []results.Member{{Agent: "a:1", Argv: argv}}}, run.BuiltIn, run.BuiltIn},
		{"a release", results.DatabaseRun{Members: []results.Member{{Agent: "a:1", Argv: argv, Release: goBuild}}}, "go build", "go build 3.5.35"},
		{"a release that an older dbtester recorded", results.DatabaseRun{Members: []results.Member{{Agent: "a:1", Argv: argv, Release: goBuild}}}, "", "go build 3.5.35"},
		{"parts", results.DatabaseRun{Members: []results.Member{{Agent: "a:1", Argv: argv, Release: goBuild}}},
			"etcd go build 3.5.35, cetcd built-in", "etcd go build 3.5.35, cetcd built-in"},
		{"from nobody knows where", results.DatabaseRun{Members: []results.Member{{Agent: "a:1", Argv: argv}}}, "", "an executable that the agent was given"},
		{"left running by another run", results.DatabaseRun{Moments: results.Moments{Ready: time.Unix(1, 0)}, Members: []results.Member{{Agent: "a:1"}}}, "", "not known: the cluster was already running"},
		{"endpoints", results.DatabaseRun{Moments: results.Moments{Ready: time.Unix(1, 0)}, Members: []results.Member{{Endpoint: "a:2379"}}}, "", "not known: the cluster was already running"},
		{"never started", results.DatabaseRun{Members: []results.Member{{Agent: "a:1"}}}, "", "not recorded"},
	} {
		tt.run.Built = tt.built
		if got := release(&run.Run{Info: run.Info{Record: &tt.run}}); got.Text != tt.want && got.Missing != tt.want {
			t.Errorf("%s: %+v, want %q", tt.name, got, tt.want)
		}
	}
}
