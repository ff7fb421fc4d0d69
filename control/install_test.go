package control

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/database/fake"
	"github.com/coreos/dbtester/pkg/databasetest"
	"github.com/coreos/dbtester/pkg/install/recipe"
	"github.com/coreos/dbtester/pkg/sleep/slowtest"
)

// released is the fake with releases: 1.0.0 is in this binary, 1.1.0 is a script that runs it, and
// the script for 2.0.0 is missing.
type released struct {
	*fake.Options `yaml:",inline"`
	dir           string
}

func (d *released) Plan(m database.Member) (database.Plan, error) {
	plan, err := d.Options.Plan(m)
	if path := m.Tools["faked"]; path != "" && err == nil {
		c := &plan.Commands[0]
		c.Self, c.Path, c.Args = false, path, append([]string{"serve"}, c.Args...)
	}
	return plan, err
}

func (d *released) Recipes(version string) ([]recipe.Recipe, error) {
	if !slices.Contains([]string{"1.0.0", "1.1.0", "2.0.0"}, version) {
		return nil, fmt.Errorf("the fake has no version %s", version)
	}
	return []recipe.Recipe{recipe.Local{Path: filepath.Join(d.dir, version), Files: map[string]string{"faked": ""}}}, nil
}

// unbuilt is the fake with a server that is never in this binary, and without a recipe.
type unbuilt struct {
	*fake.Options `yaml:",inline"`
}

// needy is the fake with a server that is never in this binary, and that needs a path as drivers of
// such databases do.
type needy struct {
	*fake.Options `yaml:",inline"`
}

func (d *needy) Plan(m database.Member) (database.Plan, error) {
	if m.Tools["faked"] == "" {
		return database.Plan{}, errors.New("no faked: it is not built in")
	}
	return (&released{Options: d.Options}).Plan(m)
}

// releasedRegistry returns databases with releases.
func releasedRegistry(t *testing.T) *database.Registry {
	t.Helper()
	dir := t.TempDir()
	for _, version := range []string{"1.0.0", "1.1.0"} {
		text := fmt.Sprintf("#!/bin/sh\n# %s\nexec %s \"$@\"\n", version, os.Args[0])
		if err := os.WriteFile(filepath.Join(dir, version), []byte(text), 0o755); err != nil {
			t.Fatalf("write a file for the test: %v", err)
		}
	}
	with := fake.Database()
	with.Name, with.Info.Tools = "released", []string{"faked"}
	with.New = func() database.Driver { return &released{fake.New(), dir} }
	without := fake.Database()
	without.Name, without.Info.Embedded, without.Info.Tools = "unbuilt", "", []string{"faked"}
	without.New = func() database.Driver { return &unbuilt{fake.New()} }
	must := without
	must.Name = "needy"
	must.New = func() database.Driver { return &needy{fake.New()} }
	return database.NewRegistry(with, without, must)
}

func TestInstall(t *testing.T) {
	t.Parallel()
	r := newRigOf(t, releasedRegistry(t))
	e := r.experiment(small + "databases: {released: {version: v1.1.0, install: true}}\n")
	var mu sync.Mutex
	var said []string
	out := r.mustRun(e, func(u Update) {
		mu.Lock()
		defer mu.Unlock()
		said = append(said, u.Text)
	})
	for _, want := range []string{"install", ": released 1.1.0: copy of ", " has released 1.1.0 (local)"} {
		if !slices.ContainsFunc(said, func(s string) bool { return strings.Contains(s, want) }) {
			t.Errorf("nobody said %q: %q", want, said)
		}
	}
	rec := r.read(out.Folders[0], 0)
	if rec.run.Built != "local" || rec.run.Asked != "v1.1.0" || len(rec.run.Members) != 3 {
		t.Errorf("built %q, asked %q", rec.run.Built, rec.run.Asked)
	}
	for _, m := range rec.run.Members {
		if m.Release == nil || m.Release.Version != "1.1.0" || m.Release.Kind != "local" || len(m.Release.SHA256["faked"]) != 64 || len(m.Release.Notes) != 1 {
			t.Errorf("member %d ran the release %+v", m.Index, m.Release)
		}
		if want := filepath.Join(r.cache, "released", "1.1.0", "faked"); m.Argv[0][0] != want {
			t.Errorf("member %d ran %s, want %s", m.Index, m.Argv[0][0], want)
		}
	}

	// A cached release runs without an install, and is recorded too.
	e = r.experiment(small + "databases: {released: {version: v1.1.0}}\n")
	rec = r.read(r.mustRun(e, nil).Folders[0], 0)
	if rec.run.Members[2].Release == nil || rec.run.Built != "local" {
		t.Errorf("built %q, %+v", rec.run.Built, rec.run.Members[2])
	}
}

// Versions in the agent binary need no release.
func TestEmbeddedVersion(t *testing.T) {
	t.Parallel()
	r := newRigOf(t, releasedRegistry(t))
	rec := r.read(r.mustRun(r.experiment(small+"databases: {released: {version: v1.0.0}}\n"), nil).Folders[0], 0)
	if m := rec.run.Members[0]; m.Release != nil || m.Argv[0][0] != databasetest.Self()[0] || rec.run.Built != "built-in" {
		t.Errorf("built %q, member %+v", rec.run.Built, m)
	}
}

// Every release that is not available is reported before anything starts.
func TestMissingReleases(t *testing.T) {
	t.Parallel()
	r := newRigOf(t, releasedRegistry(t))
	out, err := r.run(r.experiment(small+`databases:
  released__a: {version: v1.1.0}
  released__b: {version: v9.9, install: true}
  released__c: {install: true, tag: c}
  released__d: {version: v1.1.0, install: true, tag: d}
  unbuilt__e: {version: v3.3}
`), nil)
	if len(out.Folders) > 0 || err == nil {
		t.Fatalf("%+v, %v", out, err)
	}
	for _, want := range []string{
		"released__a: agent " + r.agents[0].addr + ": released v1.1.0 is not installed here: dbtester install released@v1.1.0, or install: true",
		"released__b: agent " + r.agents[0].addr + ": the fake has no version 9.9",
		"released__c: install: true needs a version",
		"unbuilt 3.3 cannot be installed by dbtester",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v\ndoes not say %q", err, want)
		}
	}
	if strings.Contains(err.Error(), "released__d") {
		t.Errorf("the check refuses a release that the run will install: %v", err)
	}
	if _, err := os.Stat(r.cache); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the check made a cache (%v), want none", err)
	}
	r.mustBeIdle()
}

func TestInstallFails(t *testing.T) {
	t.Parallel()
	r := newRigOf(t, releasedRegistry(t))
	out, err := r.run(r.experiment(small+"databases: {released: {version: v2.0.0, install: true}}\n"), nil)
	if err == nil || !strings.Contains(err.Error(), "install released 2.0.0: copy of") || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("a release whose file is missing gave %v, want its error", err)
	}
	if rec := r.read(out.Folders[0], 0); rec.run.State != "failed" || !strings.Contains(rec.run.Error, "install: agent") {
		t.Errorf("%s: %s", rec.run.State, rec.run.Error)
	}
	r.mustBeIdle()
}

// In a classic file the version is a label: the built-in server runs, and only databases without a
// built-in server must have that release.
func TestClassicVersions(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	r := newRigOf(t, releasedRegistry(t))
	e := r.experiment(small + "databases:\n  released__v3_3: {version: v3.3.0}\n")
	e.Classic = true
	rec := r.read(r.mustRun(e, nil).Folders[0], 0)
	if m := rec.run.Members[0]; rec.run.Asked != "v3.3.0" || m.Version != fake.Version || m.Release != nil {
		t.Errorf("asked for %q, ran %q from %v", rec.run.Asked, m.Version, m.Release)
	}
	e = r.experiment(small + "databases:\n  released__v3_3: {version: v3.3.0}\n  unbuilt__x: {version: r3.5.3-beta}\n")
	e.Classic = true
	out, err := r.run(e, nil)
	if len(out.Folders) > 0 || err == nil || !strings.Contains(err.Error(), "unbuilt 3.5.3-beta cannot be installed") || strings.Contains(err.Error(), "released__v3_3") {
		t.Errorf("%+v, %v", out, err)
	}
}

func TestNamed(t *testing.T) {
	a, b := errors.New("a"), errors.New("b")
	for _, tt := range []struct {
		err  error
		want string
	}{
		{a, "db: a"},
		{errors.Join(a, b), "db: a\ndb: b"},
		{errors.Join(errors.Join(a, b), fmt.Errorf("agent: %w", a)), "db: a\ndb: b\ndb: agent: a"},
		{fmt.Errorf("%w, and %w", a, b), "db: a, and b"},
	} {
		got := named("db", tt.err)
		if got.Error() != tt.want || !errors.Is(got, a) {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}
