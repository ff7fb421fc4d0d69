package table

import (
	"testing"

	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/results"
)

func TestHeaderSaysWhatRan(t *testing.T) {
	for _, c := range []struct{ built, asked, version, want string }{
		{"", "v3.6.16", "3.6.16", "tag"},
		{"", "v3.3.0", "3.7.3", "tag (ran 3.7.3)"},
		{run.BuiltIn, "", "3.7.3", "tag (built-in)"},
		{run.BuiltIn, "v3.3.0", "3.7.3", "tag (built-in) (ran 3.7.3)"},
		{"go build", "v3.6.16", "3.6.16", "tag"},
	} {
		col := &run.Run{Info: run.Info{Tag: "tag", Record: &results.DatabaseRun{
			Built: c.built, Asked: c.asked, Members: []results.Member{{Agent: "127.0.0.1:3500", Version: c.version}},
		}}}
		if got := Headers(alone([]*run.Run{col}))[0].Text; got != c.want {
			t.Errorf("built %q, asked %q, ran %q: %q, want %q", c.built, c.asked, c.version, got, c.want)
		}
	}
}
