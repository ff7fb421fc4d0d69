package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/coreos/dbtester/control/fleet"
	"github.com/coreos/dbtester/control/fleet/salvage"
	"github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/files/plaintext"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/trust/agentlink"
)

// collect fetches records from the agents of an interrupted run. Agents for --local died with
// control, so agents in this process take over their work directory.
func (a *app) collect(ctx context.Context, f controlFlags) (err error) {
	if f.config != "" || f.local || f.dryRun {
		return usageError{errors.New("--collect takes neither --config, --local nor --dry-run: the result folder knows its run")}
	}
	runs, err := a.namedRuns([]string{f.collect}, f.results)
	if err != nil {
		return err
	}
	folder, err := results.Open(runs[0])
	if err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return usageError{err}
		}
		return err
	}
	m, err := folder.Manifest()
	if err != nil {
		return err
	}
	var link agentlink.Client
	if !m.Local {
		// The folder may come from others: it must not choose files for its addresses.
		if link, err = f.link.client(a, f.link.certs); err != nil {
			return err
		}
		if dir := certsOf(m); dir != "" && f.link.certs == "" {
			a.warn("the run used the certificates in %q: if they are yours, pass --certs with their folder", dir)
		}
	}
	connect := newRemoteAgents(link).connect
	if m.Local {
		agents, localErr := a.leftAgents(f, folder, m)
		if localErr != nil {
			return localErr
		}
		defer func() { err = agents.closeCollected(ctx, err) }()
		connect = agents.connect
		if agents.workDir == "" {
			connect = nothingLeft
		}
	}
	err = salvage.Run(ctx, salvage.Options{Folder: folder, Connect: connect, Report: func(text string) { fmt.Fprintln(a.err, plaintext.Visible(text)) }})
	fmt.Fprintf(a.out, "results in %s\n", relative(folder.Dir()))
	return err
}

// certsOf returns the folder with control's certificate as the experiment names it, or "". It is
// only shown, never read: the run folder may come from others.
func certsOf(m *results.Manifest) string {
	var e config.Experiment
	if err := json.Unmarshal(m.Config, &e); err != nil {
		return "" // a manifest from another version
	}
	return e.AgentCerts
}

// leftAgents returns agents for the work directory left by the local agents of a run. Without such
// a directory, theirs is "".
func (a *app) leftAgents(f controlFlags, folder *results.Folder, m *results.Manifest) (*localAgents, error) {
	below := cmp.Or(f.workDir, filepath.Dir(filepath.Dir(filepath.Clean(folder.Dir()))))
	agents := newLocalAgents(a, below, nil)
	dir := leftWorkDir(below, folder, m)
	if dir == "" {
		return agents, nil
	}
	hold, err := holdDir(dir)
	if err != nil {
		return nil, fmt.Errorf("hold work directory: %w", err)
	}
	agents.workDir, agents.hold = dir, hold
	return agents, nil
}

// leftWorkDir returns the work directory below a folder that contains sessions of the run, or "".
func leftWorkDir(below string, folder *results.Folder, m *results.Manifest) string {
	for _, db := range m.Databases {
		note, err := salvage.Read(folder.Path(db.Tag))
		if err != nil {
			continue // salvage.Run returns it
		}
		for _, dir := range leftovers(below) {
			session := filepath.Join(dir, "agent-*", "*-"+dbtesterpb.RunHash(note.RunID)[:8])
			if found, err := filepath.Glob(session); err == nil && len(found) > 0 {
				return dir
			}
		}
	}
	return ""
}

// nothingLeft replaces the agents of a local run whose work directory was not found. It may be
// elsewhere, so that it is worth trying again.
func nothingLeft(context.Context, string) (dbtesterpb.AgentClient, io.Closer, error) {
	return nil, nil, errors.New("no work directory has records of this run (--work-dir names its parent if it is not beside the results)")
}

// closeRun ends all agents and removes their work directory, unless it has records that could not
// be written to the result folder.
func (l *localAgents) closeRun(ctx context.Context, err error) error {
	if kept := (*fleet.KeptError)(nil); errors.As(err, &kept) {
		return l.closeCollected(ctx, fmt.Errorf("%w\nthe agents' records are below %s: --collect takes it as --work-dir", err, l.below))
	}
	return errors.Join(err, l.close(ctx))
}

// closeCollected ends the agents and removes the work directory they took over. After an error the
// directory stays for another attempt.
func (l *localAgents) closeCollected(ctx context.Context, err error) error {
	if err == nil {
		return l.close(ctx)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	for _, local := range l.agents {
		err = errors.Join(err, local.loads.Close(ctx), local.agent.Close(ctx))
		local.server.Stop()
		<-local.served
	}
	if l.hold != nil {
		err = errors.Join(err, l.hold.Close())
	}
	return err
}
