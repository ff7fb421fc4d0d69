package toolbox_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/install"
	"github.com/coreos/dbtester/pkg/member/toolbox"
)

func TestChoose(t *testing.T) {
	t.Parallel()
	errDisk := errors.New("the disk is broken")
	find := func(_, version string) (install.Release, error) {
		switch version {
		case "1.0":
			return install.Release{Version: "1.0", Files: map[string]string{"server": "/cache/server", "proxy": "/cache/proxy"}}, nil
		case "6.6":
			return install.Release{}, errDisk
		}
		return install.Release{}, install.ErrAbsent
	}
	for _, tc := range []struct {
		name     string
		tools    []string // the database's
		embedded string
		want     toolbox.Want // without the database
		given    map[string]string
		origin   toolbox.Origin
		paths    map[string]string // with the release's
		err      error
	}{
		{name: "nothing asked for", tools: []string{"server"}, origin: toolbox.Unversioned},
		{
			name: "a release in the cache", tools: []string{"server"}, want: toolbox.Want{Version: "v1.0"}, origin: toolbox.Cached,
			paths: map[string]string{"server": "/cache/server", "proxy": "/cache/proxy"},
		},
		{
			name: "a given server goes before a release", tools: []string{"server"}, want: toolbox.Want{Version: "v1.0"},
			given: map[string]string{"server": "/opt/server", "other": "/opt/other"}, origin: toolbox.Given,
			paths: map[string]string{"server": "/opt/server"},
		},
		{
			name: "a given proxy goes with a release", tools: []string{"server", "proxy"}, want: toolbox.Want{Version: "v1.0"},
			given: map[string]string{"proxy": "/opt/proxy"}, origin: toolbox.Cached,
			paths: map[string]string{"server": "/cache/server", "proxy": "/opt/proxy"},
		},
		{
			name: "a binary replaces the first tool", tools: []string{"server", "proxy"}, want: toolbox.Want{Version: "9.9", Binary: "/b"},
			given: map[string]string{"server": "/opt/server"}, origin: toolbox.Given, paths: map[string]string{"server": "/b"},
		},
		{name: "the server in the binary", tools: []string{"server"}, embedded: "2.0", want: toolbox.Want{Version: "v2.0"}, origin: toolbox.BuiltIn},
		{name: "installed all the same", tools: []string{"server"}, embedded: "2.0", want: toolbox.Want{Version: "v2.0", Install: true}, origin: toolbox.Absent},
		{name: "not there", tools: []string{"server"}, embedded: "2.0", want: toolbox.Want{Version: "3.0"}, origin: toolbox.Absent},
		{name: "no tools at all", embedded: "2.0", want: toolbox.Want{Version: "2.0"}, origin: toolbox.BuiltIn},
		{name: "a cache that cannot be read", tools: []string{"server"}, want: toolbox.Want{Version: "6.6"}, err: errDisk},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			tc.want.Database = database.Database{Name: "db", Info: database.Info{Tools: tc.tools, Embedded: tc.embedded}}
			got, err := toolbox.Choose(tc.want, tc.given, find)
			if !errors.Is(err, tc.err) || got.Origin != tc.origin {
				t.Fatalf("the origin is %v (%v), want %v (%v)", got.Origin, err, tc.origin, tc.err)
			}
			if tc.paths == nil {
				tc.paths = map[string]string{}
			}
			if diff := cmp.Diff(tc.paths, got.Paths(got.Release.Files)); diff != "" {
				t.Errorf("paths (-want +got):\n%s", diff)
			}
		})
	}
}

// A release without the database's executable must not be replaced by the server in the binary,
// which has another version.
func TestChooseHollowRelease(t *testing.T) {
	t.Parallel()
	db := database.Database{Name: "db", Info: database.Info{Tools: []string{"server"}, Embedded: "2.0"}}
	_, err := toolbox.Choose(toolbox.Want{Database: db, Version: "1.0"}, nil, func(string, string) (install.Release, error) {
		return install.Release{Version: "1.0"}, nil
	})
	if err == nil {
		t.Error("a release without files is chosen, want an error")
	}
}
