package control

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/database/etcd"
	"github.com/coreos/dbtester/pkg/database/fake"
	"github.com/coreos/dbtester/pkg/databasetest"
)

func TestDryRun(t *testing.T) {
	t.Parallel()
	r := database.NewRegistry(etcd.Database(), fake.Database())
	e, _, err := config.Parse("test.yaml", []byte(`title: Write some keys
seed: 7
trials: 2
hosts: [10.0.0.2, "10.0.0.3:3600", 10.0.0.4]
load: {clients: 1000, key_size: 256, value_size: 1024}
databases:
  etcd: {load: {requests: 1000000, connections: 100}}
  fake__steps:
    load: {steps: [{clients: 1, requests: 1000}, {clients: 10, duration: 30s, rate: 500}, {clients: 10, duration: 10s, rate: 500, rate_end: 1500}]}
    options: {delay: 5ms}
  fake__there:
    endpoints: ["10.0.0.9:7379"]
    load: {operation: read, same_key: true, clients: 10, connections: 10, duration: 1m}
`), r.All())
	if err != nil {
		t.Fatalf("parse the experiment: %v", err)
	}
	var out bytes.Buffer
	if err := DryRun(&out, Options{Experiment: e, Registry: r, FullSpeed: true}, Agents{}); err != nil {
		t.Fatalf("write the dry run: %v", err)
	}
	databasetest.Golden(t, "testdata/dryrun.txt", out.Bytes())
}

// A plan shows the executables for the run, by the rules of the agents.
func TestDryRunTools(t *testing.T) {
	t.Parallel()
	r := releasedRegistry(t)
	told := Agents{Tools: map[string]string{"faked": "/told/faked"}}
	cached := Agents{Release: func(name, version string) map[string]string {
		if name+" "+version != "released 1.1.0" {
			return nil
		}
		return map[string]string{"faked": "/cache/faked"}
	}}
	for _, tt := range []struct {
		name, database, want string
		known                Agents
		classic              bool
	}{
		{name: "built in", database: "released: {}", want: "run dbtester serve fake"},
		{name: "the version built in", database: "released: {version: v1.0.0}", want: "run dbtester serve fake"},
		{name: "it is installed", database: "released: {version: v1.0.0, install: true}", want: "run $CACHE/released/1.0.0/faked serve fake"},
		{name: "another version", database: "released: {version: v1.1.0}", want: "run $CACHE/released/1.1.0/faked serve fake"},
		{name: "in the cache", database: "released: {version: v1.1.0}", known: cached, want: "run /cache/faked serve fake"},
		{name: "not in the cache", database: "released: {version: v1.0.1}", known: cached, want: "run $CACHE/released/1.0.1/faked serve fake"},
		{name: "a label", database: "released: {version: v1.1.0}", classic: true, want: "run dbtester serve fake"},
		{name: "told", database: "released: {version: v1.1.0}", known: told, want: "run /told/faked serve fake"},
		{name: "binary", database: "released: {version: v1.1.0, binary: /opt/faked}", known: told, want: "run /opt/faked serve fake"},
		{name: "not built in", database: "needy: {version: r3.3.0-beta}", want: "run $CACHE/needy/3.3.0-beta/faked serve fake"},
		{name: "not built in, a label", database: "needy: {version: r3.3.0-beta}", classic: true, want: "run $CACHE/needy/3.3.0-beta/faked serve fake"},
		{name: "whatever agents have", database: "needy: {}", want: "run $TOOLS/faked serve fake"},
	} {
		e, _, err := config.Parse("test.yaml", []byte("title: plan\nhosts: [10.0.0.2]\n"+small+"databases: {"+tt.database+"}\n"), r.All())
		if err != nil {
			t.Fatalf("parse the experiment: %v", err)
		}
		e.Classic = tt.classic
		var out bytes.Buffer
		if err := DryRun(&out, Options{Experiment: e, Registry: r}, tt.known); err != nil || !strings.Contains(out.String(), tt.want) {
			t.Errorf("%s: %v, no %q in\n%s", tt.name, err, tt.want, out.String())
		}
		if install := strings.Contains(tt.database, "install"); install != strings.Contains(out.String(), "heartbeats, install, start") {
			t.Errorf("%s: steps of\n%s", tt.name, out.String())
		}
	}
}

// An error in one database hides no other, and plans refuse the same files as runs.
func TestDryRunRefused(t *testing.T) {
	t.Parallel()
	r := releasedRegistry(t)
	e, _, err := config.Parse("test.yaml", []byte("title: plan\nhosts: [127.0.0.1, 10.0.0.2]\n"+small+`databases:
  needy: {}
  released__far: {}
  released__running: {steps: {start: false}}
  released__near: {hosts: [127.0.0.1]}
`), r.All())
	if err != nil {
		t.Fatalf("parse the experiment: %v", err)
	}
	far := errors.New("too far")
	known := Agents{WorkDir: "/var/work", Refuse: func(addr string) error {
		if strings.HasPrefix(addr, "10.") {
			return far
		}
		return nil
	}, Release: func(string, string) map[string]string { return nil }}
	var out bytes.Buffer
	err = DryRun(&out, Options{Experiment: e, Registry: r}, known)
	want := `needy: agent 10.0.0.2:3500: too far
needy: no faked: it is not built in
released__far: agent 10.0.0.2:3500: too far
released__running: agent 10.0.0.2:3500: too far`
	if err == nil || err.Error() != want || !errors.Is(err, far) {
		t.Errorf("%v, want %s", err, want)
	}
	for _, want := range []string{"\n$WORK_DIR below /var/work\n", "(needy)", "(released__far)", "(released__near)\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	if n := strings.Count(out.String(), "run dbtester serve fake"); n != 3 {
		t.Errorf("%d members are planned, want 3:\n%s", n, out.String())
	}
}
