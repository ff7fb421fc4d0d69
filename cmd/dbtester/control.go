package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/user"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/coreos/dbtester/control"
	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/install"
	"github.com/coreos/dbtester/pkg/results"
)

type controlFlags struct {
	config     string
	databaseID string
	results    string
	workDir    string
	cache      string
	device     string
	iface      string
	local      bool
	dryRun     bool
	noUpload   bool
	insecure   bool
	requests   int64
	cpuProfile string
	selfcheck  string             // file
	check      *results.SelfCheck // what it holds
	tools      toolFlags
}

func (a *app) newControl() *cobra.Command {
	var f controlFlags
	cmd := &cobra.Command{
		Use:   "control --config FILE",
		Short: "Run on the client machine: start the cluster, drive the load, bring the measurements home",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return a.runControl(cmd.Context(), f) },
	}
	flags := cmd.Flags()
	flags.StringVarP(&f.config, "config", "c", "", "experiment file, compact or classic")
	flags.StringVar(&f.databaseID, "database-id", "", "run only this database of the file (default: each in turn)")
	flags.StringVar(&f.results, "results", "", "folder to make result folders in (default: the file's, or results)")
	flags.Int64Var(&f.requests, "requests", 0, "send so many requests to each database instead of what the file says")
	flags.BoolVar(&f.local, "local", false, "run the agents of loopback hosts inside this process")
	flags.StringVar(&f.workDir, "work-dir", "", "directory for the databases of --local (default: below the results folder)")
	flags.BoolVar(&f.dryRun, "dry-run", false, "print what would be done, and do nothing")
	flags.BoolVar(&f.noUpload, "no-upload", false, "leave out an upload that the file asks for")
	flags.BoolVar(&f.insecure, "insecure", false, "talk to agents on other machines without TLS")
	flags.StringVar(&f.device, "disk-device", "", "block device to sample on this machine (default: the one below the results folder)")
	flags.StringVar(&f.iface, "network-interface", "", "network interface to sample on this machine (default: the one towards the members)")
	registerCache(flags, &f.cache, "directory of releases for --local")
	flags.StringVar(&f.cpuProfile, "cpuprofile", "", "write a CPU profile of this process, for go tool pprof")
	flags.StringVar(&f.selfcheck, "selfcheck", "", "file of dbtester selfcheck --json on this machine, for the manifest")
	f.tools.register(flags, a.registry)
	return cmd
}

func (a *app) runControl(ctx context.Context, f controlFlags) (err error) {
	stopProfile, err := profileCPU(f.cpuProfile)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stopProfile()) }()
	e, err := a.readExperiment(f.config)
	if err != nil {
		return err
	}
	if f.databaseID != "" {
		if err := e.Select(f.databaseID); err != nil {
			return usageError{err}
		}
	}
	if f.results != "" {
		e.Results = f.results
	}
	if f.requests > 0 {
		if err := e.SetRequests(f.requests); err != nil {
			return usageError{err}
		}
	}
	if f.check, err = readSelfcheck(f.selfcheck); err != nil {
		return err
	}
	o := control.Options{Experiment: e, Registry: a.registry, NoUpload: f.noUpload}
	err = checkUpload(o)
	if f.dryRun {
		if err != nil {
			fmt.Fprintf(a.err, "dbtester: a run would be refused: %v\n", err)
		}
		known, err := f.known(e)
		return errors.Join(err, control.DryRun(a.out, o, known))
	}
	if err != nil {
		return err
	}
	out, err := a.conduct(ctx, e, f)
	a.printFolders(out)
	for _, dir := range out.Folders {
		err = errors.Join(err, exportServers(e, dir))
	}
	return err
}

// printFolders tells where the records are.
func (a *app) printFolders(out *control.Outcome) {
	for _, dir := range out.Folders {
		fmt.Fprintf(a.out, "results in %s\n", relative(dir))
	}
}

// readExperiment reads a file and prints its warnings.
func (a *app) readExperiment(path string) (*config.Experiment, error) {
	if path == "" {
		return nil, usageError{errors.New("an experiment file is needed: --config FILE")}
	}
	e, warnings, err := config.Read(path, control.Catalog(a.registry))
	for _, w := range warnings {
		fmt.Fprintln(a.err, w)
	}
	if errors.Is(err, os.ErrNotExist) {
		return nil, usageError{err}
	}
	return e, err
}

// conduct runs an experiment with local or remote agents.
func (a *app) conduct(ctx context.Context, e *config.Experiment, f controlFlags) (out *control.Outcome, err error) {
	remote := &remoteAgents{plain: f.insecure}
	connect := remote.connect
	if f.local {
		for _, dir := range leftovers(f.localDir(e)) {
			fmt.Fprintf(a.err, "dbtester: %s\n", leftBehind(dir))
		}
		tools, err := f.tools.paths()
		if err != nil {
			return &control.Outcome{}, err
		}
		agents := a.newLocalAgents(f.localDir(e), tools)
		agents.options.Device, agents.options.Interface = f.device, f.iface
		agents.options.Cache = f.localCache()
		defer func() { err = errors.Join(err, agents.close(ctx)) }()
		connect = agents.connect
	}
	progress := newProgress(a.err)
	defer progress.end()
	report := func(u control.Update) {
		if u.Folder != "" {
			a.last.folder(u.Folder)
			u.Text = "records go to " + relative(u.Folder)
		}
		progress.report(u)
	}
	out, err = control.Run(ctx, control.Options{
		Experiment: e, Registry: a.registry, Connect: connect, Owner: owner(), Local: f.local, Tool: tool(), SelfCheck: f.check,
		NoUpload: f.noUpload, Device: f.device, Interface: f.iface, Report: report, ReadyTimeout: readyTimeout(e),
	})
	// Agents that were there once need no hint how to start them.
	if err != nil && remote.absent.Load() && len(out.Folders) == 0 {
		err = errors.Join(err, errNoAgents)
	}
	return out, withInvalid(err, out.Invalid)
}

// withInvalid adds the reasons why a run is not valid. What else went wrong, such
// as measurements that did not come home, decides the exit code.
func withInvalid(err error, reasons []string) error {
	switch invalid := (&invalidError{reasons}); {
	case len(reasons) == 0:
		return err
	case err == nil:
		return invalid
	default:
		return errors.Join(err, errors.New(invalid.Error()))
	}
}

// localDir is where agents of this process work.
func (f controlFlags) localDir(e *config.Experiment) string { return cmp.Or(f.workDir, e.Results) }

// localCache is where agents of this process look for releases. Without a home
// there is none, and only a file that names versions needs one.
func (f controlFlags) localCache() string {
	dir, err := cacheDir(f.cache)
	if err != nil {
		return ""
	}
	return dir
}

// known is what a dry run can know of the agents.
func (f controlFlags) known(e *config.Experiment) (control.Agents, error) {
	if !f.local {
		return control.Agents{Refuse: (&remoteAgents{plain: f.insecure}).refuse}, nil
	}
	tools, err := f.tools.paths()
	in := &install.Installer{Cache: f.localCache()}
	return control.Agents{
		Refuse: refuseLocal, Tools: tools, WorkDir: f.localDir(e),
		Release: func(name, version string) map[string]string {
			r, err := in.Find(name, version)
			if in.Cache == "" || err != nil {
				return nil
			}
			return maps.Clone(r.Files)
		},
	}, err
}

// runningTimeout is how long clusters that run already may take to answer.
const runningTimeout = 10 * time.Second

// readyTimeout is how long to wait for a quorum: nobody waits for the start of
// clusters that are said to run.
func readyTimeout(e *config.Experiment) time.Duration {
	for _, db := range e.Databases {
		if len(db.Endpoints) == 0 && db.Steps.Start {
			return control.DefaultReadyTimeout
		}
	}
	return runningTimeout
}

// owner names this control to people who find an agent taken.
func owner() string {
	name, host := "someone", "somewhere"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	if h, err := os.Hostname(); err == nil {
		host = h
	}
	return fmt.Sprintf("%s@%s pid %d", name, host, os.Getpid())
}

// relative shortens a path for people, if it is below the current directory.
func relative(path string) string {
	wd, err := os.Getwd()
	if err != nil {
		return path
	}
	if rel, err := filepath.Rel(wd, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}
