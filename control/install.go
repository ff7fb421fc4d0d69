package control

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/results"
)

// installTimeout is for an install: the longest build takes a third of it.
const installTimeout = 30 * time.Minute

// release returns the version that agents are asked to run, "" for whatever they
// have.
//
// In a classic file a version is what its author wrote into a description, which
// nothing obtained. Where the agents have a server built in they run that, unless
// they were told of another; the report shows what ran beside the label. Where
// they have none, the label is the release that must be there.
func release(e *config.Experiment, entry database.Database, db *config.Database) string {
	if e.Classic && entry.Info.Embedded != "" {
		return ""
	}
	return db.Version
}

// installs reports whether a run has its agents install the release.
func installs(db *config.Database) bool {
	return db.Install && db.Steps.Start && len(db.Endpoints) == 0
}

// errNoVersion refuses an install of nothing in particular.
var errNoVersion = errors.New("install: true needs a version to install")

// install has all agents obtain the release at once.
func (c *conductor) install(ctx context.Context) error {
	return each(c.agents, func(a *agentSession) error {
		ctx, cancel := within(ctx, installTimeout)
		defer cancel()
		if err := c.installOn(ctx, a); err != nil {
			return a.failed(ctx, err)
		}
		return nil
	})
}

// installOn has one agent obtain the release and tells its progress.
func (c *conductor) installOn(ctx context.Context, a *agentSession) error {
	stream, err := a.client.Install(ctx, &dbtesterpb.InstallRequest{RunId: a.runID, Database: c.db.Name, Version: c.db.Version})
	if err != nil {
		return err
	}
	var got *dbtesterpb.Release
	for {
		progress, err := stream.Recv()
		switch {
		case errors.Is(err, io.EOF) && got != nil:
			c.say("%s has %s %s (%s)", a.addr, got.Name, got.Version, got.Kind)
			return nil
		case errors.Is(err, io.EOF):
			return errors.New("the install ended without a release")
		case err != nil:
			return err
		case progress.Release != nil:
			got = progress.Release
		default:
			c.say("%s: %s", a.addr, progress.Text)
		}
	}
}

func releaseOf(r *dbtesterpb.Release) *results.Release {
	if r == nil {
		return nil
	}
	return &results.Release{Name: r.Name, Version: r.Version, Kind: r.Kind, Source: r.Source, SHA256: r.Sha256, Notes: r.Notes}
}
