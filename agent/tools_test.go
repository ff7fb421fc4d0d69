package agent_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/coreos/dbtester/agent"
	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/install/recipe"
	"github.com/coreos/dbtester/pkg/results"
)

// proxied is a toy behind a proxy, which is part of this binary. Its releases contain only the toy.
// A plan that runs the proxy is one without TLS.
type proxied struct{ toy }

func (*proxied) Recipes(version string) ([]recipe.Recipe, error) {
	needs := []string{"sh"}
	if version == "1.1" {
		needs = append(needs, "no-such-program-anywhere")
	}
	return []recipe.Recipe{recipe.Local{About: recipe.About{Needs: needs}, Path: "/nonexistent", Files: map[string]string{"toyd": ""}}}, nil
}

func (d *proxied) Plan(m database.Member) (database.Plan, error) {
	if m.Tools["proxyd"] != "" && m.TLS != nil {
		return database.Plan{}, errors.New("the proxyd executable speaks no TLS")
	}
	if _, err := os.Stat(m.Tools["sh"]); err != nil {
		return database.Plan{}, err
	}
	return d.toy.Plan(m)
}

// A dry run does not count on tools a release will not contain.
func TestPendingToolsAreThoseOfTheRelease(t *testing.T) {
	db := toyDatabase()
	db.Info.Tools, db.Info.Embedded, db.Info.TLS = []string{"proxyd", "toyd"}, "2.0", true
	db.New = func() database.Driver { return &proxied{} }
	cache := filepath.Join(t.TempDir(), "cache")
	h := serve(t, func(o *agent.Options) { o.Registry, o.Cache = database.NewRegistry(db), cache })
	h.open("run1")
	files := map[string]string{}
	for _, name := range []string{"ca", "cert", "key"} {
		files[name] = filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(files[name], nil, 0o600); err != nil {
			t.Fatalf("write a file for the test: %v", err)
		}
	}
	req := versioned(t, "1.0")
	req.DryRun, req.Install = true, true
	req.TlsCa, req.TlsCert, req.TlsKey = files["ca"], files["cert"], files["key"]
	resp, err := h.Start(t.Context(), req)
	if err != nil {
		t.Fatalf("start the member: %v", err)
	}
	if got, want := resp.Children[0].Argv[0], filepath.Join(cache, "toy", "1.0", "toyd"); got != want {
		t.Errorf("%s would run, want %s", got, want)
	}
	req.Version = "1.1"
	_, err = h.Start(t.Context(), req)
	wantCode(t, err, codes.FailedPrecondition, "toy 1.1 needs no-such-program-anywhere")
}

// All ways to spell a version mean the same release, in an install as in a start.
func TestInstallPlainVersion(t *testing.T) {
	for _, version := range []string{"1.0", "v1.0", "r1.0"} {
		t.Run(version, func(t *testing.T) {
			_, change := releases(t, "")
			h := serve(t, change)
			h.open("run1")
			_, first, err := h.install("run1", "1.0")
			if err != nil {
				t.Fatalf("install the release: %v", err)
			}
			lines, again, err := h.install("run1", version)
			if err != nil || len(lines) > 0 || again == nil || again.Version != first.Version {
				t.Fatalf("with 1.0 in the cache: %v, %q, %v", err, lines, again)
			}
			resp, err := h.Start(t.Context(), versioned(t, version))
			if err != nil || readRecord[results.Release](t, resp.Release).Version != first.Version {
				t.Errorf("starts %v: %v", string(resp.GetRelease()), err)
			}
			if _, err := h.Stop(t.Context(), &pb.StopRequest{RunId: "run1"}); err != nil {
				t.Errorf("stop the member: %v", err)
			}
		})
	}
}
