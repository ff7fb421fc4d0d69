package databasetest

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v4"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/workload"
	"github.com/coreos/dbtester/pkg/yamlfile"
)

// optionsCase: options can be encoded and decoded, have help, and refuse unknown keys.
func optionsCase(t *testing.T, f *fixture) {
	f.part(t, "round trip", func(t *testing.T) {
		data, err := yaml.Dump(f.driver)
		if err != nil {
			t.Fatalf("encode the options: %v", err)
		}
		again := f.suite.Database.New()
		if err := yamlfile.DecodeOptions(data, again); err != nil {
			t.Fatalf("%v\n%s", err, data)
		}
		if diff := cmp.Diff(f.driver, again); diff != "" {
			t.Errorf("options changed on the wire:\n%s", diff)
		}
	})
	f.part(t, "unknown key", func(t *testing.T) {
		if err := yamlfile.DecodeOptions([]byte("no_such_option: 1\n"), f.suite.Database.New()); err == nil {
			t.Error("an unknown key must be an error")
		}
	})
	f.part(t, "help", func(t *testing.T) {
		options := reflect.TypeOf(f.driver).Elem()
		for i := range options.NumField() {
			field := options.Field(i)
			if field.IsExported() && !field.Anonymous && (field.Tag.Get("doc") == "" || field.Tag.Get("yaml") == "") {
				t.Errorf("option %s lacks a yaml or a doc tag", field.Name)
			}
		}
	})
}

// planCase: the plan for a member depends only on its arguments, stays in the member directory and
// equals the golden files.
func planCase(t *testing.T, f *fixture) {
	hosts := f.info().FillPorts([]database.Host{{Addr: "10.0.0.1"}, {Addr: "10.0.0.2"}, {Addr: "10.0.0.3"}})
	m := database.Member{Index: 1, Hosts: hosts, Dir: "/var/lib/dbtester/member", Tools: map[string]string{}}
	if f.info().Embedded == "" { // else the plan has the server in this binary
		for name := range f.suite.Tools {
			m.Tools[name] = "/opt/tools/" + name
		}
	}
	f.part(t, "golden", func(t *testing.T) {
		golden(t, "testdata/plan.json", f.suite.Database.New(), m)
	})
	f.part(t, "golden with TLS", func(t *testing.T) {
		secure := m
		secure.TLS = &database.TLS{CA: "/etc/dbtester/ca.pem", Cert: "/etc/dbtester/member.pem", Key: "/etc/dbtester/member.key"}
		golden(t, "testdata/plan-tls.json", f.suite.Database.New(), secure)
	})
	f.part(t, "log rules", func(t *testing.T) { logLines(t, f, m) })
	f.part(t, "well formed", func(t *testing.T) { wellFormed(t, f, m) })
}

// golden compares the plan, or its error, with a file.
func golden(t *testing.T, path string, driver database.Driver, m database.Member) {
	t.Helper()
	plan, err := driver.Plan(m)
	if err != nil {
		Golden(t, path, fmt.Appendf(nil, "{\"error\": %q}\n", err))
		return
	}
	again, err := driver.Plan(m)
	if err != nil {
		t.Fatalf("plan a member: %v", err)
	}
	if diff := cmp.Diff(plan, again); diff != "" {
		t.Errorf("two plans of the same member differ:\n%s", diff)
	}
	data, err := json.MarshalIndent(plan, "", "  ")
	if err != nil {
		t.Fatalf("encode as JSON: %v", err)
	}
	Golden(t, path, append(data, '\n'))
}

func wellFormed(t *testing.T, f *fixture, m database.Member) {
	plan, err := f.suite.Database.New().Plan(m)
	if err != nil {
		t.Fatalf("plan a member: %v", err)
	}
	for _, dir := range plan.DataDirs {
		if !filepath.IsLocal(dir) {
			t.Errorf("data directory %q leaves the member's directory", dir)
		}
	}
	for _, file := range plan.Files {
		if !filepath.IsLocal(file.Path) {
			t.Errorf("file %q leaves the member's directory", file.Path)
		}
	}
	for _, addr := range plan.Listen {
		if !strings.HasPrefix(addr, m.Self().Addr+":") {
			t.Errorf("the member listens on %s, which is not its own address %s", addr, m.Self().Addr)
		}
	}
	if plan.Streams != "" && !slices.Contains(plan.Listen, plan.Streams) {
		t.Errorf("the plan's streams are at %q, which is none of its addresses %q", plan.Streams, plan.Listen)
	}
	if len(plan.Listen) < len(m.Self().Ports) {
		t.Errorf("the plan names %d addresses for %d ports", len(plan.Listen), len(m.Self().Ports))
	}
	if len(plan.DataDirs) == 0 {
		t.Error("the plan must have a data directory, which is measured")
	}
	for _, c := range plan.Commands {
		if c.Self == (c.Path != "") {
			t.Errorf("command %q must have either self or a path", c.Name)
		}
	}
}

// interfacesCase: Info.Operations and the optional interfaces agree, and Info is
// complete.
func interfacesCase(t *testing.T, f *fixture) {
	info := f.info()
	client := f.dial(t, f.Target())
	can, always := database.OperationsOf(client), database.OperationsOf(struct{ database.Client }{})
	for _, op := range workload.Ops() {
		if slices.Contains(always, op) {
			continue
		}
		f.part(t, string(op), func(t *testing.T) {
			if listed, has := slices.Contains(info.Operations, op), slices.Contains(can, op) || op.Locks() && info.Locks != nil; listed != has {
				t.Errorf("Info.Operations must agree with the client: it lists %s: %v, the client has it: %v", op, listed, has)
			}
		})
	}
	f.part(t, "info", func(t *testing.T) {
		sessionFacts(t, f)
		lockFacts(t, f)
		watchFacts(t, f)
		for _, op := range always {
			if !slices.Contains(info.Operations, op) {
				t.Errorf("operation %s is not listed", op)
			}
		}
		if len(info.Reads) == 0 || info.Ports["client"] == 0 || info.MaxValue <= 0 || info.Fsync == "" {
			t.Errorf("info is incomplete: %+v", info)
		}
		for _, mode := range info.Reads {
			if p := info.Promises[mode]; p.Text == "" || p.Linearizable && mode != workload.ReadLinearizable {
				t.Errorf("the promise of %s reads is missing or contradicts their name: %+v", mode, p)
			}
		}
	})
}
