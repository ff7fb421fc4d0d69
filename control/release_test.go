package control

import (
	"slices"
	"strings"
	"testing"

	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/database/all"
	"github.com/coreos/dbtester/pkg/database/etcd"
	"github.com/coreos/dbtester/pkg/database/fake"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/sleep/slowtest"
)

// releasesOf returns the findings in a file, one line each.
func releasesOf(t *testing.T, registry *database.Registry, text string, classic bool, known Agents) []string {
	t.Helper()
	e, _, err := config.Parse("x.yaml", []byte("title: releases\nhosts: [127.0.0.1]\n"+text), registry.All())
	if err != nil {
		t.Fatalf("parse the experiment: %v", err)
	}
	e.Classic = classic
	var lines []string
	for _, f := range Releases(e, registry, known) {
		lines = append(lines, f.String())
	}
	return lines
}

// TestReleases: versions that no agent can run are refused at their place, with the accepted ones.
// Problems that depend on the machine are warnings, and only if they are known.
func TestReleases(t *testing.T) {
	t.Parallel()
	registry := database.NewRegistry(append(all.Registry().All(), fake.Database())...)
	built := etcd.Database().Info.Embedded
	cache := Agents{
		Release: func(name, version string) map[string]string {
			if name == "etcd" && version == "3.6.16" {
				return map[string]string{"etcd": "/cache/etcd"}
			}
			return nil
		},
		Cached: func(string) []string { return []string{"3.6.16"} },
	}
	given := Agents{Tools: map[string]string{"etcd": "/opt/etcd"}}
	const executable = "; with binary: PATH, an executable runs whatever its version"
	inBinary := "; without version the server built into dbtester (" + built + ") runs"
	for _, tt := range []struct {
		name, databases string
		classic         bool
		known           Agents
		want            string // "" for nothing; a line begins with it
		end             string // and ends with it
	}{
		{"latest", "etcd: {version: latest}", false, Agents{}, `x.yaml:3:29: version: the version of etcd must be one such as 3.6.16, got "latest"`, inBinary + executable},
		{"half a version", "consul: {version: 1.16, install: true}", false, Agents{}, `x.yaml:3:31: version: the version of consul must be one such as 1.16.0, got "1.16"`, executable},
		{"too old", "zookeeper: {version: 3.3.9}", false, Agents{}, "x.yaml:3:34: version: zookeeper 3.3.9 is too old: dbtester runs zookeeper from 3.4.0 on", executable},
		{"the one built in is the only one", "fake: {version: 2.0.0}", false, Agents{}, "x.yaml:3:29: version: fake 2.0.0 cannot be installed by dbtester; without version the server built into dbtester (1.0.0) runs", ""},
		{"it can't be installed", "fake: {version: 1.0.0, install: true}", false, Agents{}, "x.yaml:3:29: version: fake 1.0.0 cannot be installed by dbtester; without version and install the", ""},
		{"an install of nothing", "etcd: {install: true}", false, Agents{}, "x.yaml:3:29: install: true needs a version to install; without install the server built into dbtester (" + built + ") runs", ""},
		{"latest of a sweep", "etcd: {version: latest}}\nsweep: {preload: [0, 1000]}\nload: {operation: read", false, Agents{}, "x.yaml:3:29: version: ", executable},
		{"the one built in", "etcd: {version: v" + built + "}", false, cache, "", ""},
		{"the one in the cache", "etcd: {version: v3.6.16}", false, cache, "", ""},
		{"one that is installed", "etcd: {version: v3.6.1, install: true}", false, cache, "", ""},
		{"one that is absent", "etcd: {version: v3.6.1}", false, cache, "x.yaml:3:29: warning: version: etcd 3.6.1 is not in the cache of this machine, which has 3.6.16: dbtester install etcd@3.6.1, or install: true" + inBinary, ""},
		{"a cache that is not known", "etcd: {version: v3.6.1}", false, Agents{}, "", ""},
		{"another machine's cache", "etcd: {version: v3.6.1, hosts: [10.0.0.1]}", false, cache, "", ""},
		{"a build from a checkout", "etcd: {version: source-0123456789ab-go1.26.8}", false, Agents{}, "", ""},
		{"a build of a database without a recipe for it", "consul: {version: source-0123456789ab-go1.26.8}", false, Agents{}, "x.yaml:3:31: version: the version of consul must be", executable},
		{"an agent's executable", "etcd: {version: v3.6.16}", false, given, "x.yaml:3:29: warning: version: the executable /opt/etcd runs instead of etcd 3.6.16, whatever its version (without --etcd-exec the release runs)", ""},
		{"an executable of the file", "etcd: {version: tip, binary: /opt/tip}", false, Agents{}, "x.yaml:3:29: warning: version: the executable /opt/tip runs instead of etcd tip, whatever its version", "version"},
		{"a label", "etcd: {version: v3.1.0}", true, given, "x.yaml:3:29: warning: version: the executable /opt/etcd runs", ""},
		{"a label of what is built in", "etcd: {version: v3.1.0}", true, Agents{}, "x.yaml:3:29: warning: version: etcd 3.1.0 is only a label: the server built into dbtester (" + built + ") runs instead, or what agents were given by --etcd-exec; --use-version etcd=VERSION", ""},
		{"a label that agrees", "etcd: {version: v" + built[:strings.LastIndexByte(built, '.')] + "}", true, Agents{}, "", ""},
		{"a label that is too old", "consul: {version: v0.7.4}", true, Agents{}, "x.yaml:3:31: warning: version: consul 0.7.4 is too old", "(--use-version consul=VERSION runs another release, agents with --consul-exec their executable)"},
		{"a cluster that runs", "etcd: {version: latest, endpoints: ['127.0.0.1:2379']}", false, cache, "", ""},
		{"no version", "etcd: ", false, cache, "", ""},
	} {
		got := releasesOf(t, registry, "databases: {"+tt.databases+"}\n", tt.classic, tt.known)
		if tt.want == "" {
			if len(got) > 0 {
				t.Errorf("%s: findings %q, want none", tt.name, got)
			}
			continue
		}
		if len(got) != 1 || !strings.HasPrefix(got[0], tt.want) || !strings.HasSuffix(got[0], tt.end) {
			t.Errorf("%s: findings %q, want one that begins with %q and ends with %q", tt.name, got, tt.want, tt.end)
		}
	}
}

// TestInstallOtherVersion: a run with install and another release than the file installs the one
// that it runs.
func TestInstallOtherVersion(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	r := newRigOf(t, releasedRegistry(t))
	e := r.experiment(small + "databases: {released: {version: v1.0.0, install: true}}\n")
	e.Databases[0].UseVersion = "1.1.0"
	rec := r.read(r.mustRun(e, nil).Folders[0], 0)
	if slices.ContainsFunc(rec.run.Members, func(m results.Member) bool { return m.Release == nil || m.Release.Version != "1.1.0" }) {
		t.Errorf("members ran %+v, want the release 1.1.0", rec.run.Members)
	}
}
