package control

import (
	"context"
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/database/fake"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/sleep/slowtest"
	"github.com/coreos/dbtester/pkg/workload"
)

func TestOrigin(t *testing.T) {
	self := func(name string) database.Command { return database.Command{Name: name, Self: true} }
	path := func(name string) database.Command { return database.Command{Name: name, Path: "/opt/" + name} }
	release := func(tool string) *results.Release {
		return &results.Release{Kind: "go build", Version: "3.5.35", SHA256: map[string]string{tool: "aa"}}
	}
	for _, tt := range []struct {
		name     string
		release  *results.Release
		commands []database.Command
		want     string
	}{
		{"the binary's own", nil, []database.Command{self("etcd")}, "built-in"},
		{"a release", release("etcd"), []database.Command{path("etcd")}, "go build"},
		{"a release with a tool of another name", release("jars"), []database.Command{path("zookeeper")}, "go build"},
		{"from nobody knows where", nil, []database.Command{path("etcd")}, ""},
		{"a proxy and a server of the binary", nil, []database.Command{self("etcd"), self("cetcd")}, "built-in"},
		{"a server from nobody knows where", nil, []database.Command{path("etcd"), self("cetcd")}, "etcd an executable, cetcd built-in"},
		{"a proxy from nobody knows where", nil, []database.Command{self("etcd"), path("cetcd")}, "etcd built-in, cetcd an executable"},
		{"a released server", release("etcd"), []database.Command{path("etcd"), self("cetcd")}, "etcd go build 3.5.35, cetcd built-in"},
		{"a released proxy", release("zetcd"), []database.Command{self("etcd"), path("zetcd")}, "etcd built-in, zetcd go build 3.5.35"},
		{"a released proxy and another server", release("zetcd"), []database.Command{path("etcd"), path("zetcd")}, "etcd an executable, zetcd go build 3.5.35"},
		{"both from nobody knows where", nil, []database.Command{path("etcd"), path("cetcd")}, ""},
	} {
		if got := originOf(tt.release, database.Plan{Commands: tt.commands}); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// It is unknown how members were built that this run did not start.
func TestOriginWhatRanAlready(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	r := newRig(t)
	left := r.mustRunLeft(r.experiment(small + "databases: {fake: {steps: {stop: false}}}\n"))
	if left.Built != builtIn {
		t.Errorf("the run that started them: built %q", left.Built)
	}
	again := r.read(r.mustRun(r.experiment(small+"databases: {fake: {steps: {start: false}}}\n"), nil).Folders[0], 0).run
	if again.Built != "" || again.Members[0].Version != fake.Version {
		t.Errorf("a run of what ran already: built %q, member %+v", again.Built, again.Members[0])
	}
}

// mustRunLeft runs an experiment that leaves its members running.
func (r *rig) mustRunLeft(e *config.Experiment) *results.DatabaseRun {
	r.t.Helper()
	out, err := r.run(e, nil)
	if err != nil || len(ofRun(out.Invalid)) > 0 {
		r.t.Fatalf("%v, invalid: %q", err, out.Invalid)
	}
	return r.read(out.Folders[0], 0).run
}

// mute is the fake behind something that forwards neither its version nor its leader.
type mute struct {
	*fake.Options `yaml:",inline"`
}

func (d *mute) Plan(m database.Member) (database.Plan, error) {
	plan, err := d.Options.Plan(m)
	plan.Mute = true
	return plan, err
}

func (*mute) Version(context.Context, database.Target, int) (string, error) {
	return "", errors.New("no such path")
}

func (*mute) Leader(context.Context, database.Target) (int, error) {
	return 0, errors.New("no such path")
}

// Members that do not report their leader still run. A load for their leader is refused before
// anything starts.
func TestMuteMembers(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	db := fake.Database()
	db.New = func() database.Driver { return &mute{fake.New()} }
	r := newRigOf(t, database.NewRegistry(db))
	run := r.read(r.mustRun(r.experiment(small+"databases: {fake: }\n"), nil).Folders[0], 0).run
	if run.Leader != -1 || run.Members[0].Version != "" || run.Totals == nil {
		t.Errorf("leader %d, version %q, totals %v", run.Leader, run.Members[0].Version, run.Totals)
	}
	for _, target := range []string{"leader", "follower"} {
		e := r.experiment(small + "databases: {fake: {load: {target: " + target + "}}}\n")
		out, err := r.run(e, nil)
		want := "target: " + target + ": members with this executable do not report their leader"
		if err == nil || len(out.Folders) > 0 || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v", target, out.Folders, err)
		}
		if err := DryRun(new(strings.Builder), r.options(e, nil), Agents{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("dry run of %s: %v", target, err)
		}
	}
}

// few is the fake behind something that forwards only reads and writes.
type few struct {
	*fake.Options `yaml:",inline"`
}

func (d *few) Plan(m database.Member) (database.Plan, error) {
	plan, err := d.Options.Plan(m)
	plan.Operations = []workload.Op{workload.OpWrite, workload.OpRead}
	return plan, err
}

// Loads with an operation that members can't apply are refused before anything starts, at the line
// that asks for it.
func TestMembersWithFewOperations(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	db := fake.Database()
	db.New = func() database.Driver { return &few{fake.New()} }
	r := newRigOf(t, database.NewRegistry(db))
	r.mustRun(r.experiment(small+"databases: {fake: }\n"), nil)
	for at, text := range map[string]string{
		"operation: ": "databases: {fake: {load: {operation: txn}}}\n",
		"mix: ":       "databases: {fake: {load: {mix: {read: 1, delete: 1}}}}\n",
	} {
		e := r.experiment(small + text)
		out, err := r.run(e, nil)
		if err == nil || len(out.Folders) > 0 || !strings.Contains(err.Error(), at+"members with this executable do not support") || !strings.Contains(err.Error(), ".yaml:") {
			t.Errorf("%s: %v, %v", at, out.Folders, err)
		}
		if err := DryRun(new(strings.Builder), r.options(e, nil), Agents{}); err == nil || !strings.Contains(err.Error(), at) {
			t.Errorf("dry run of %s: %v", at, err)
		}
	}
}

// Releases for the database behind a proxy contain no proxy, and executables on agents take
// precedence.
func TestToolsOfAReleaseBehindAProxy(t *testing.T) {
	db, err := releasedRegistry(t).Get("released")
	if err != nil {
		t.Fatalf("make the registry: %v", err)
	}
	db.Info.Tools = []string{"proxyd", "faked"}
	for _, tt := range []struct {
		known   Agents
		version string
		want    map[string]string
	}{
		{Agents{}, "v1.1.0", map[string]string{"faked": "$CACHE/released/1.1.0/faked"}},
		{Agents{Tools: map[string]string{"faked": "/opt/faked"}}, "v1.1.0", map[string]string{"faked": "/opt/faked"}},
		{Agents{}, "v9.9.9", map[string]string{"proxyd": "$CACHE/released/9.9.9/proxyd"}},
	} {
		got := tt.known.tools(&config.Experiment{}, db, &config.Database{Version: tt.version, Install: true})
		if !maps.Equal(got, tt.want) {
			t.Errorf("%s, told of %v: %v, want %v", tt.version, tt.known.Tools, got, tt.want)
		}
	}
}
