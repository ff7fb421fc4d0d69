package config

import (
	"strings"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/ability"
	"github.com/coreos/dbtester/pkg/ability/guard"
	"github.com/coreos/dbtester/pkg/ability/upkeep"
	"github.com/coreos/dbtester/pkg/database"
)

func TestSharedKeys(t *testing.T) {
	for _, tc := range []struct{ name, database, top, want string }{
		{"prefix", "endpoints: ['a:1'], prefix: bench/run-1, cleanup: true, guard: {p99: 100ms, errors: 1%, db_size: 80%}", "", ""},
		{"of the file", "endpoints: ['a:1']", "cleanup: true\nguard: {p99: 1s}\n", ""},
		{"no endpoints", "prefix: x", "hosts: [127.0.0.1]\n", "prefix: agents start etcd for this run alone"},
		{"cleanup without endpoints", "cleanup: true", "hosts: [127.0.0.1]\n", "cleanup: agents start etcd for this run alone"},
		{"slash at the end", "endpoints: ['a:1'], prefix: x/", "", `did you mean "x"?`},
		{"slash in front", "endpoints: ['a:1'], prefix: /x", "", "each beginning with a letter or digit"},
		{"two slashes", "endpoints: ['a:1'], prefix: x//y", "", "each beginning with a letter or digit"},
		{"dots", "endpoints: ['a:1'], prefix: x/../y", "", "each beginning with a letter or digit"},
		{"too long", "endpoints: ['a:1'], prefix: " + strings.Repeat("x", 201), "", "at most 200 bytes"},
		{"unknown bound", "endpoints: ['a:1'], guard: {p90: 1s}", "", `did you mean "p99"?`},
		{"no percent", "endpoints: ['a:1'], guard: {errors: 1}", "", "did you mean 1%?"},
		{"zero", "endpoints: ['a:1'], guard: {p99: 0s}", "", "p99 must be positive"},
		{"no quota", "", "  consul: {endpoints: ['a:1'], guard: {db_size: 80%}}\n", "members of consul report no quota"},
	} {
		text := "databases:\n"
		if tc.database != "" {
			text += "  etcd: {" + tc.database + "}\n"
		}
		if strings.HasPrefix(tc.top, " ") {
			text += tc.top
		} else {
			text = tc.top + text
		}
		e, _, err := Parse("test.yaml", []byte(text), testCatalog())
		switch {
		case tc.want == "" && err != nil:
			t.Errorf("%s: %v", tc.name, err)
		case tc.want == "" && tc.top != "" && (!e.Databases[0].Cleanup || !guard.Keys().Of(e.Databases[0].Abilities).Any()):
			t.Errorf("%s: the file's keys do not reach the database: %+v", tc.name, e.Databases[0])
		case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want) || !strings.HasPrefix(err.Error(), "test.yaml:")):
			t.Errorf("%s: want an error with %q at its place, got %v", tc.name, tc.want, err)
		}
	}
}

// cleanedZoo keeps to a prefix.
type cleanedZoo struct {
	*zooOptions `yaml:"-"`
	Cleaned     `yaml:"-"`
}

// Values leave room for the prefix in front of the key.
func TestPrefixTakesRoom(t *testing.T) {
	const load = "load: {value_size: 1047964, key_size: 512, requests: 10}\n"
	for prefix, ok := range map[string]bool{"": true, "endpoints: ['a:1'], prefix: x, ": false} {
		text := load + "hosts: [127.0.0.1]\ndatabases:\n  zookeeper: {" + prefix + "version: v3.9.5}\n"
		if prefix == "" {
			text = load + "hosts: [127.0.0.1]\ndatabases:\n  zookeeper: {version: v3.9.5}\n"
		}
		zoo := testCatalog()[1:2]
		options := zoo[0].New().(*zooOptions)
		zoo[0].New = func() database.Driver { return &cleanedZoo{zooOptions: options} }
		if _, _, err := Parse("test.yaml", []byte(text), zoo); (err == nil) != ok {
			t.Errorf("%q: %v", prefix, err)
		}
	}
}

func TestMaintain(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		want       upkeep.Plan
		problem    string
	}{
		{"updates compact", "load: {operation: update}\nhosts: [127.0.0.1]\ndatabases: {etcd: }\n", upkeep.Plan{Compact: time.Minute}, ""},
		{"one key", "load: {same_key: true}\nhosts: [127.0.0.1]\ndatabases: {etcd: }\n", upkeep.Plan{Compact: time.Minute}, ""},
		{"writes do not", "hosts: [127.0.0.1]\ndatabases: {etcd: }\n", upkeep.Plan{}, ""},
		{"never", "load: {operation: update}\nmaintain: {compact: 0s}\nhosts: [127.0.0.1]\ndatabases: {etcd: }\n", upkeep.Plan{}, ""},
		{"key by key", "load: {operation: update}\nmaintain: {defrag: 30m, snapshot: 10m}\nhosts: [127.0.0.1]\ndatabases: {etcd: {maintain: {defrag: 5m}}}\n",
			upkeep.Plan{Compact: time.Minute, Defrag: 5 * time.Minute, Snapshot: 10 * time.Minute}, ""},
		{"a cluster of others", "load: {operation: update}\ndatabases: {etcd: {endpoints: ['a:1']}}\n", upkeep.Plan{}, ""},
		{"asked for there", "load: {operation: update}\ndatabases: {etcd: {endpoints: ['a:1'], maintain: {compact: 5m}}}\n", upkeep.Plan{Compact: 5 * time.Minute}, ""},
		{"a database without it", "load: {operation: update}\nmaintain: {compact: 5m}\nhosts: [127.0.0.1]\ndatabases: {zetcd: {version: 1}}\n", upkeep.Plan{}, ""},
		{"asked of it", "hosts: [127.0.0.1]\ndatabases: {zetcd: {version: 1, maintain: {defrag: 5m}}}\n", upkeep.Plan{}, "test.yaml:2:52: defrag: control cannot do this for zetcd"},
		{"too often", "maintain: {compact: 10ms}\nhosts: [127.0.0.1]\ndatabases: {etcd: }\n", upkeep.Plan{}, "test.yaml:1:21: compact must be at least 1s"},
		{"a typing error", "maintain: {compct: 1m}\nhosts: [127.0.0.1]\ndatabases: {etcd: }\n", upkeep.Plan{}, `did you mean "compact"?`},
	} {
		wantPlan(t, upkeep.Keys(), testCatalog(), tc.name, tc.text, tc.want, tc.problem)
	}
}

// wantPlan wants a file to give its first database an ability's plan, or to be refused for a
// problem. It returns the experiment with that plan, or nil.
func wantPlan[P comparable](t *testing.T, keys ability.Section[P], c Catalog, name, text string, want P, problem string) *Experiment {
	t.Helper()
	e, _, err := Parse("test.yaml", []byte(text), c)
	switch {
	case problem != "":
		if err == nil || !strings.Contains(err.Error(), problem) {
			t.Errorf("%s: want %q, got %v", name, problem, err)
		}
	case err != nil:
		t.Errorf("%s: %v", name, err)
	case keys.Of(e.Databases[0].Abilities) != want:
		t.Errorf("%s: %+v, want %+v", name, keys.Of(e.Databases[0].Abilities), want)
	default:
		return e
	}
	return nil
}
