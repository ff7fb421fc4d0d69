package agent_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"

	"github.com/coreos/dbtester/agent"
	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/database/fake"
	"github.com/coreos/dbtester/pkg/install"
	"github.com/coreos/dbtester/pkg/install/recipe"
	"github.com/coreos/dbtester/pkg/results"
)

// released is a toy with releases.
type released struct {
	toy `yaml:"-"`
	// Memory is toy's Memory: options have no inlined structs.
	Memory  int64 `yaml:"memory"`
	recipes func(version string) ([]recipe.Recipe, error)
}

func (d *released) Validate(h database.HostFacts) error {
	return (&toy{Memory: d.Memory}).Validate(h)
}

func (d *released) Recipes(version string) ([]recipe.Recipe, error) { return d.recipes(version) }

// releases returns options for agents that share a cache and a registry in which the toy has
// releases: 1.0 is a script that runs the server, 2.0 is in the binary, and the archive of 3.0 is
// at a URL.
func releases(t *testing.T, archive string) (cache string, change func(*agent.Options)) {
	t.Helper()
	cache = filepath.Join(t.TempDir(), "cache")
	script := filepath.Join(t.TempDir(), "toyd")
	text := fmt.Sprintf("#!/bin/sh\nexec %s \"$@\"\n", os.Args[0])
	if err := os.WriteFile(script, []byte(text), 0o755); err != nil {
		t.Fatalf("write a file for the test: %v", err)
	}
	files := map[string]string{"toyd": ""}
	recipes := func(version string) ([]recipe.Recipe, error) {
		switch version {
		case "1.0", "2.0":
			return []recipe.Recipe{recipe.Local{Path: script, Files: files}}, nil
		case "3.0":
			return []recipe.Recipe{recipe.Archive{URL: archive, ChecksumURL: archive + ".sums", Files: map[string]string{"toyd": "toyd"}}}, nil
		}
		return nil, fmt.Errorf("toy %s never was", version)
	}
	db := toyDatabase()
	db.Info.Embedded = "2.0"
	db.New = func() database.Driver { return &released{recipes: recipes} }
	return cache, func(o *agent.Options) {
		o.Registry, o.Cache = database.NewRegistry(db, fake.Database()), cache
	}
}

// install requests a toy version and returns the progress and the release.
func (h *harness) install(run, version string) ([]string, *results.Release, error) {
	h.t.Helper()
	stream, err := h.Install(h.t.Context(), &pb.InstallRequest{RunId: run, Database: "toy", Version: version})
	if err != nil {
		h.t.Fatalf("ask for an install: %v", err)
	}
	var lines []string
	var release *results.Release
	for {
		got, err := stream.Recv()
		switch {
		case errors.Is(err, io.EOF):
			return lines, release, nil
		case err != nil:
			return lines, release, err
		case release != nil:
			h.t.Errorf("message %v came after the release, which must be the last", got)
		case len(got.Release) == 0:
			lines = append(lines, got.Text)
		default:
			record := readRecord[results.Release](h.t, got.Release)
			release = &record
		}
	}
}

// versioned is a Start with a release.
func versioned(t *testing.T, version string) *pb.StartRequest {
	t.Helper()
	req := request(t, "run1", "")
	req.Version = version
	return req
}

func TestInstallAndStart(t *testing.T) {
	cache, change := releases(t, "")
	h := serve(t, change)
	h.open("run1")
	req := versioned(t, "v1.0")
	for _, dry := range []bool{true, false} {
		req.DryRun = dry
		_, err := h.Start(t.Context(), req)
		wantCode(t, err, codes.FailedPrecondition, "toy v1.0 is not installed here: dbtester install toy@v1.0, or install: true")
	}
	req.DryRun, req.Install = true, true
	if _, err := h.Start(t.Context(), req); err != nil {
		t.Errorf("a dry run of a release that will be installed failed: %v", err)
	}
	if _, err := os.Stat(cache); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("dry runs made the cache (%v), want none", err)
	}

	lines, release, err := h.install("run1", "v1.0")
	if err != nil {
		t.Fatalf("install the release: %v", err)
	}
	if len(lines) == 0 || !strings.Contains(lines[0], "toy 1.0: copy of") {
		t.Errorf("progress %q", lines)
	}
	if release == nil || release.Name != "toy" || release.Version != "1.0" || release.Kind != "local" || len(release.SHA256["toyd"]) != 64 ||
		len(release.Notes) != 1 || release.Source == "" {
		t.Errorf("installed %v", release)
	}
	lines, again, err := h.install("run1", "1.0")
	if diff := cmp.Diff(release, again); err != nil || len(lines) > 0 || diff != "" {
		t.Errorf("the second install: %v, %q, %s", err, lines, diff)
	}

	req.DryRun = false
	resp := h.start(req)
	want := filepath.Join(cache, "toy", "1.0", "toyd")
	if got := resp.Children[0].Argv[0]; got != want {
		t.Errorf("%s runs, want %s", got, want)
	}
	if diff := cmp.Diff(*release, readRecord[results.Release](t, resp.Release)); diff != "" {
		t.Errorf("the release that was started is not the one that was installed: %s", diff)
	}
	h.awaitReady()
	_, _, err = h.install("run1", "1.0")
	wantCode(t, err, codes.FailedPrecondition, "the session is running: releases are installed before the start")
	if got := h.stopped("run1"); got.Children[0].Exit != "exit 0 after interrupt" {
		t.Errorf("stopped %v", got)
	}
}

func TestInstallRefused(t *testing.T) {
	_, change := releases(t, "")
	h := serve(t, change)
	h.open("run1")
	_, _, err := h.install("run2", "1.0")
	wantCode(t, err, codes.PermissionDenied, "belongs to tester of run1")
	for _, version := range []string{"", "9.9", "../1.0", strings.Repeat("1", 200), "1.0\x00"} {
		_, _, err = h.install("run1", version)
		wantCode(t, err, codes.InvalidArgument, "never was")
	}
	for database, text := range map[string]string{"db2": `unknown database "db2"`, "fake": "fake 1.0 cannot be installed by dbtester"} {
		stream, err := h.Install(t.Context(), &pb.InstallRequest{RunId: "run1", Database: database, Version: "1.0"})
		if err != nil {
			t.Fatalf("ask for an install: %v", err)
		}
		_, err = stream.Recv()
		wantCode(t, err, codes.InvalidArgument, text)
	}

	bare := serve(t, func(o *agent.Options) { change(o); o.Cache = "" })
	bare.open("run1")
	_, _, err = bare.install("run1", "1.0")
	wantCode(t, err, codes.FailedPrecondition, "no cache")
	_, err = bare.Start(t.Context(), versioned(t, "1.0"))
	wantCode(t, err, codes.FailedPrecondition, "not installed here")
}

// The executable of a member depends on the agent options and on the request.
func TestStartTools(t *testing.T) {
	cache, change := releases(t, "")
	other := filepath.Join(t.TempDir(), "other")
	if err := os.WriteFile(other, []byte("#!/bin/sh\nexit 1\n"), 0o755); err != nil {
		t.Fatalf("write a file for the test: %v", err)
	}
	installed := filepath.Join(cache, "toy", "1.0", "toyd")
	told := map[string]string{"toyd": other}
	in := &install.Installer{Cache: cache}
	if _, err := in.Get(t.Context(), "toy", "1.0", []recipe.Recipe{recipe.Local{Path: other, Files: map[string]string{"toyd": ""}}}); err != nil {
		t.Fatalf("install the release: %v", err)
	}
	for _, tt := range []struct {
		name    string
		tools   map[string]string
		version string
		binary  string
		install bool
		want    string // argv[0]
		err     string
	}{
		{name: "nothing asked for", want: os.Args[0]},
		{name: "a release", version: "r1.0", want: installed},
		{name: "a flag goes first", tools: told, version: "1.0", want: other},
		{name: "a flag needs no release", tools: told, version: "9.9", want: other},
		{name: "a binary needs no release", version: "9.9", binary: other, want: other},
		{name: "the embedded one", version: "v2.0", want: os.Args[0]},
		{name: "not the embedded one", version: "v2.0", install: true, want: filepath.Join(cache, "toy", "2.0", "toyd")},
		{name: "one that never was", version: "9.9", install: true, err: "toy 9.9 never was"},
		{name: "one that is elsewhere", version: "../toy/1.0", err: "version \"../toy/1.0\""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := serve(t, func(o *agent.Options) { change(o); o.Tools, o.AllowBinary = tt.tools, true })
			h.open("run1")
			req := versioned(t, tt.version)
			req.DryRun, req.Install, req.Binary = true, tt.install, tt.binary
			resp, err := h.Start(t.Context(), req)
			if tt.err != "" {
				wantCode(t, err, codes.FailedPrecondition, tt.err)
				return
			}
			if err != nil {
				t.Fatalf("start the member: %v", err)
			}
			if got := resp.Children[0].Argv[0]; got != tt.want {
				t.Errorf("%s runs, want %s", got, tt.want)
			}
			if has := resp.Release != nil; has != (tt.want == installed) {
				t.Errorf("release %v", resp.Release)
			}
		})
	}
}

// Wrong options and a missing release are reported together.
func TestStartTellsAll(t *testing.T) {
	_, change := releases(t, "")
	h := serve(t, change)
	h.open("run1")
	req := versioned(t, "1.0")
	req.Options = []byte("memory: 1000000000000000")
	_, err := h.Start(t.Context(), req)
	wantCode(t, err, codes.InvalidArgument, "memory 1000000000000000 is more", "); less would do; toy 1.0 is not installed here")
}

func TestStartDamagedRelease(t *testing.T) {
	cache, change := releases(t, "")
	h := serve(t, change)
	h.open("run1")
	if _, _, err := h.install("run1", "1.0"); err != nil {
		t.Fatalf("install the release: %v", err)
	}
	if err := os.WriteFile(filepath.Join(cache, "toy", "1.0", "toyd"), []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatalf("write a file for the test: %v", err)
	}
	_, err := h.Start(t.Context(), versioned(t, "1.0"))
	wantCode(t, err, codes.FailedPrecondition, "the release toy 1.0 is damaged", "SHA-256")
	_, _, err = h.install("run1", "1.0")
	wantCode(t, err, codes.FailedPrecondition, "damaged")
}

// Agents on one machine share a cache: one obtains a release and the others wait.
func TestInstallTogether(t *testing.T) {
	_, change := releases(t, "")
	var group sync.WaitGroup
	got := make([]*results.Release, 3)
	for i := range got {
		h := serve(t, change)
		h.open("run1")
		group.Go(func() {
			_, release, err := h.install("run1", "1.0")
			if err != nil {
				t.Errorf("install the release: %v", err)
			}
			got[i] = release
		})
	}
	group.Wait()
	for _, r := range got[1:] {
		if diff := cmp.Diff(got[0], r); r == nil || diff != "" {
			t.Errorf("the releases differ: %s", diff)
		}
	}
}

// When a session or an agent ends, an install ends, which leaves nothing.
func TestInstallEndsEarly(t *testing.T) {
	for name, end := range map[string]func(*harness) error{
		"session": func(h *harness) error {
			_, err := h.Close(t.Context(), &pb.CloseRequest{RunId: "run1"})
			return err
		},
		"agent": func(h *harness) error { return h.agent.Close(t.Context()) },
	} {
		t.Run(name, func(t *testing.T) {
			asked := make(chan struct{}, 1)
			server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				asked <- struct{}{}
				<-r.Context().Done()
			}))
			t.Cleanup(server.Close)
			cache, change := releases(t, server.URL+"/toy.tar.gz")
			h := serve(t, change)
			h.open("run1")
			failed := make(chan error, 1)
			go func() {
				_, _, err := h.install("run1", "3.0")
				failed <- err
			}()
			<-asked
			if err := end(h); err != nil {
				t.Errorf("end the session during an install: %v", err)
			}
			wantCode(t, <-failed, codes.Aborted, "the session stopped while installing")
			left, err := filepath.Glob(filepath.Join(cache, ".tmp", "*"))
			if here, _ := filepath.Glob(filepath.Join(cache, "toy", "*")); err != nil || len(left)+len(here) > 0 {
				t.Errorf("left behind: %v", slices.Concat(left, here))
			}
		})
	}
}
