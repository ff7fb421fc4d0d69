package agent

import (
	"errors"
	"maps"
	"os/exec"
	"path/filepath"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/install"
)

// toolbox is what a plan may run besides this binary, and where it came from.
type toolbox struct {
	paths map[string]string
	// release is the one of the cache that is among the tools; nil for none.
	release *install.Release
	// pending tools are where a release will be, which a dry run takes on trust.
	pending bool
}

// toolbox returns the tools for a request. A binary that control names, if it
// may, and what this agent was told of go first; they need no release when the
// server itself is among them. Then the release that was asked for must be in
// the cache, or be the one in this binary.
func (a *Agent) toolbox(db database.Database, req *pb.StartRequest) (toolbox, error) {
	told, err := a.toldTools(db, req.GetBinary())
	if err != nil {
		return toolbox{}, err
	}
	box := toolbox{paths: map[string]string{}}
	if req.GetVersion() != "" && (len(db.Info.Tools) == 0 || told[db.Info.Tools[0]] == "") {
		if box, err = a.released(db, req); err != nil {
			return toolbox{}, err
		}
	}
	maps.Copy(box.paths, told)
	return box, nil
}

// toldTools are the tools of this agent that a database can use, the first one
// replaced by binary if that is asked for and allowed.
func (a *Agent) toldTools(db database.Database, binary string) (map[string]string, error) {
	tools := map[string]string{}
	for _, name := range db.Info.Tools {
		if path, ok := a.opts.Tools[name]; ok {
			tools[name] = path
		}
	}
	switch {
	case binary == "":
	case !a.opts.AllowBinary:
		return nil, status.Errorf(codes.PermissionDenied, "binary %q is refused: the agent was started without --allow-binary", binary)
	case len(db.Info.Tools) == 0:
		return nil, status.Errorf(codes.InvalidArgument, "%s runs inside dbtester: binary %q has nothing to replace", db.Name, binary)
	case !filepath.IsAbs(binary):
		return nil, status.Errorf(codes.InvalidArgument, "binary %q is not an absolute path", binary)
	default:
		tools[db.Info.Tools[0]] = filepath.Clean(binary)
	}
	return tools, nil
}

// released returns the tools of the release that a request asks for.
func (a *Agent) released(db database.Database, req *pb.StartRequest) (toolbox, error) {
	version := database.PlainVersion(req.GetVersion())
	r, err := a.find(db.Name, version)
	switch {
	case err == nil && req.GetDryRun():
		return toolbox{paths: maps.Clone(r.Files), release: &r}, nil
	case err == nil:
		// What runs is recorded by its hashes, so they must be true of it.
		if err := r.Verify(); err != nil {
			return toolbox{}, status.Errorf(codes.FailedPrecondition, "the release %s %s is damaged (remove %s and install it again): %v", db.Name, version, r.Dir, err)
		}
		return toolbox{paths: maps.Clone(r.Files), release: &r}, nil
	case !errors.Is(err, install.ErrAbsent):
		return toolbox{}, status.Error(codes.FailedPrecondition, err.Error())
	case version == db.Info.Embedded && !req.GetInstall():
		return toolbox{paths: map[string]string{}}, nil
	}
	recipes, err := db.Recipes(version)
	if err != nil {
		return toolbox{}, status.Error(codes.FailedPrecondition, err.Error())
	}
	if req.GetInstall() && req.GetDryRun() {
		return a.pending(db.Name, version, recipes)
	}
	return toolbox{}, status.Errorf(codes.FailedPrecondition,
		"%s %s is not installed here: dbtester install %[1]s@%[2]s, or install: true in the experiment file", db.Name, req.GetVersion())
}

// find returns a release of the cache, or [install.ErrAbsent].
func (a *Agent) find(name, version string) (install.Release, error) {
	if a.opts.Cache == "" {
		return install.Release{}, install.ErrAbsent
	}
	return a.installer(nil).Find(name, version)
}

// pending returns tools as if the release were in the cache. What it needs of this
// machine must be there: without, it can't be installed.
func (a *Agent) pending(name, version string, recipes []install.Recipe) (toolbox, error) {
	box := toolbox{paths: map[string]string{}, pending: true}
	own, needed := install.Tools(recipes)
	for _, tool := range own {
		box.paths[tool] = filepath.Join(a.opts.Cache, name, version, tool)
	}
	for _, tool := range needed {
		path, err := exec.LookPath(tool)
		if err != nil {
			return toolbox{}, status.Errorf(codes.FailedPrecondition, "%s %s needs %s: %v", name, version, tool, err)
		}
		box.paths[tool] = path
	}
	return box, nil
}

// installer returns an installer into this agent's cache, which tells progress.
func (a *Agent) installer(progress func(string)) *install.Installer {
	return &install.Installer{Cache: a.opts.Cache, Progress: progress}
}

// releaseMessage is a release for the wire; nil for none.
func releaseMessage(r *install.Release) *pb.Release {
	if r == nil {
		return nil
	}
	return &pb.Release{Name: r.Name, Version: r.Version, Kind: r.Kind, Source: r.Source, Sha256: r.SHA256, Notes: r.Notes}
}
