package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/coreos/dbtester/analyze"
	"github.com/coreos/dbtester/control"
	"github.com/coreos/dbtester/control/before/forecast"
	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/files/plaintext"
	"github.com/coreos/dbtester/pkg/install"
	"github.com/coreos/dbtester/pkg/trust/agentlink"
)

func newControl(a *app) *cobra.Command {
	var f controlFlags
	cmd := &cobra.Command{
		Use:   "control --config FILE | --collect RUN",
		Short: "Run on the client machine: start the cluster, drive the load, collect the measurements",
		Example: `  dbtester control --local --config FILE
  dbtester control --config FILE --dry-run
  dbtester control --config FILE --quiet --format json >report.json
  dbtester control --local --config - <FILE
  dbtester control --collect LAST`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("requests") && f.requests < 1 {
				return usageError{fmt.Errorf("--requests must be positive, got %d", f.requests)}
			}
			return a.runControl(cmd.Context(), f)
		},
	}
	f.register(cmd, a)
	cmd.Flags().StringVar(&f.collect, "collect", "", "instead of a run: fetch the records that the agents of an interrupted run still hold into its result folder, and release the agents; LAST is the newest run below --results")
	completeRun(cmd, "collect")
	return cmd
}

func (a *app) runControl(ctx context.Context, f controlFlags) (err error) {
	if f.format.machine() && (f.collect != "" || f.dryRun) {
		return usageError{fmt.Errorf("--format %s is of a run's numbers, and --collect and --dry-run print none", f.format.word)}
	}
	if f.collect != "" {
		return a.collect(ctx, f)
	}
	stopProfile, err := profileCPU(f.cpuProfile)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stopProfile()) }()
	e, err := a.readOver(f.config, f.over)
	if err != nil {
		return err
	}
	if err := f.apply(e, a.registry, f.config); err != nil {
		return err
	}
	if f.results != "" {
		e.Results = f.results
	}
	if f.link.certs != "" {
		e.AgentCerts = f.link.certs // recorded, so that --collect finds it
	}
	if f.check, err = readSelfcheck(f.selfcheck); err != nil {
		return err
	}
	here := f.machine(e)
	fillErr := checkFill(a.err, forecast.All(e, here))
	if fillErr != nil && !f.dryRun {
		return fillErr
	}
	o := control.Options{Experiment: e, Registry: a.registry, Local: f.local, NoUpload: f.noUpload, FullSpeed: f.fullSpeed, AllowCommands: f.commands, Upload: uploadRun, Mirror: mirrorOf(a.self[0], f.selfcheck)}
	err = checkUpload(o)
	if f.dryRun {
		if err != nil {
			fmt.Fprintf(a.err, "dbtester: this run would be refused: %s\n", plaintext.Visible(err.Error()))
		}
		known, err := a.known(e, f, here)
		return errors.Join(err, fillErr, a.checkReleases(e, known), control.DryRun(a.out, o, known))
	}
	if err == nil {
		err = reachUpload(ctx, o, f.create)
	}
	if err != nil {
		return err
	}
	view, err := a.admit(ctx, e, f.liveFlags, f.quiet)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, view.leave(ctx)) }()
	out, err := a.conduct(ctx, e, f, view)
	return a.closeControl(ctx, e, f, view, out, withNotFound(err, out))
}

// closeControl prints the results at the end of a run: folders, verdicts, the first screen and the
// command that makes the whole report; with --all or --live, the report itself. It returns the run
// error, or an error for an unmet need. Unreadable records were already reported.
func (a *app) closeControl(ctx context.Context, e *config.Experiment, f controlFlags, view *audience, out *control.Outcome, err error) error {
	notes := a.notes(f.format)
	print := func(lines []string) { fmt.Fprint(notes.out, strings.Join(append(lines, ""), "\n")) }
	if out.Useless() || len(out.Folders) == 0 {
		print(notes.verdictLines(out, closingLines))
		return err
	}
	if f.all || f.open || view != nil {
		print(notes.verdictLines(out, closingLines))
		report := analyze.Options{Folders: out.Folders, Plots: plotsOf(e.Plots)}
		return errors.Join(err, a.printReport(ctx, report, shownRows{outputFlags: f.outputFlags, written: view.written}, reportStore{}))
	}
	if f.format.machine() {
		print(notes.verdictLines(out, closingLines))
		return errors.Join(err, a.printUnwritten(ctx, analyze.Options{Folders: out.Folders}, f.format, err))
	}
	screen, screenErr := analyze.FirstScreen(ctx, analyze.Options{Folders: out.Folders})
	text := ""
	if screenErr == nil {
		text = "\n" + a.screen(screen)
	}
	const below = 2 // an empty line and the next command
	print(a.verdictLines(out, closingLines-strings.Count(text, "\n")-below-linesOf(err)))
	fmt.Fprintf(a.out, "%s\nnext: dbtester analyze %s\n", text, runsWords(out.Folders))
	if err == nil && screenErr == nil {
		return needError(screen)
	}
	return err
}

// conduct runs an experiment with local or remote agents, and shows it to view.
func (a *app) conduct(ctx context.Context, e *config.Experiment, f controlFlags, view *audience) (out *control.Outcome, err error) {
	if err := f.checkDisk(); err != nil {
		return &control.Outcome{}, err
	}
	var link agentlink.Client
	if !f.local {
		if link, err = f.link.client(a, e.AgentCerts); err != nil {
			return &control.Outcome{}, err
		}
	}
	remote := newRemoteAgents(link)
	connect, connectGenerator := remote.connect, remote.connectGenerator
	if f.local {
		for _, dir := range leftovers(f.localDir(e)) {
			a.reportLeft(ctx, dir)
		}
		tools, wrong := f.tools.paths()
		if wrong != nil {
			return &control.Outcome{}, wrong
		}
		agents := newLocalAgents(a, f.localDir(e), tools)
		agents.options.Device, agents.options.Interface, agents.options.Disk = f.device, f.iface, f.disk
		agents.options.Cache = f.localCache()
		defer func() { err = agents.closeRun(ctx, err) }()
		connect, connectGenerator = agents.connect, nil
	}
	if f.format.machine() {
		a.last.beside()
	}
	shown := a.err
	if f.quiet {
		shown = io.Discard
	}
	progress := newProgress(shown, f.verbose)
	progress.servers = view.servers
	defer progress.end()
	report := func(u control.Update) {
		if u.Folder != "" {
			a.last.folder(u.Folder)
			u.Text = "records go to " + relative(u.Folder)
		}
		progress.report(u)
		view.update(u)
	}
	out, err = control.Run(ctx, control.Options{
		Experiment: e, Registry: a.registry, Connect: connect, ConnectGenerator: connectGenerator, Owner: owner(), Local: f.local, Tool: tool(), Trials: f.trials, SelfCheck: f.check, Mirror: mirrorOf(a.self[0], f.selfcheck),
		Upload: uploadRun, NoUpload: f.noUpload, FullSpeed: f.fullSpeed, AllowCommands: f.commands, Unguarded: remote.unguarded, Device: f.device, Interface: f.iface, Report: report, Audience: view.of(), ReadyTimeout: readyTimeout(e), Wait: f.wait,
	})
	// The hint how to start agents is omitted if agents answered before.
	if err != nil && remote.absent.Load() && len(out.Folders) == 0 {
		err = errors.Join(err, noAgents(e))
	}
	return out, withInvalid(err, out.Invalid)
}

// withInvalid adds the reasons why a run is not valid. Another error, such as measurements that
// could not be collected, determines the exit code.
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

// checkFill prints the warnings in forecasts and returns the refusals.
func checkFill(to io.Writer, all []forecast.Forecast) error {
	warnings, err := forecast.Problems(all)
	return printFindings(to, warnings, err)
}

// checkReleases prints warnings about releases and returns refusals.
func (a *app) checkReleases(e *config.Experiment, known control.Agents) error {
	warnings, err := forecast.Split(slices.Concat(control.Releases(e, a.registry, known), control.Reach(e)))
	return printFindings(a.err, warnings, err)
}

// printFindings prints warnings and returns refusals as errors in the file.
func printFindings(to io.Writer, warnings []string, err error) error {
	for _, w := range warnings {
		fmt.Fprintln(to, plaintext.Visible(w))
	}
	if err != nil {
		return usageError{err}
	}
	return nil
}

// known describes the agents as far as a dry run knows them.
func (a *app) known(e *config.Experiment, f controlFlags, here *forecast.Machine) (control.Agents, error) {
	if !f.local {
		link, err := f.link.client(a, e.AgentCerts)
		return control.Agents{Refuse: newRemoteAgents(link).refuse, Machine: here}, err
	}
	tools, err := f.tools.paths()
	known := cached(f.localCache())
	known.Tools, known.WorkDir, known.Machine = tools, f.localDir(e), here
	known.Refuse = func(addr string) error {
		if err := refuseLocal(addr); err != nil {
			return err
		}
		_, err := diskOf(f.disk, addr, f.localDir(e))
		return err
	}
	return known, err
}

// cached describes agents with a cache on this machine; "" means without cache.
func cached(cache string) control.Agents {
	in := &install.Installer{Cache: cache}
	return control.Agents{
		Release: func(name, version string) map[string]string {
			r, err := in.Find(name, version)
			if in.Cache == "" || err != nil {
				return nil
			}
			return maps.Clone(r.Files)
		},
		Cached: func(name string) (versions []string) {
			if in.Cache == "" {
				return nil
			}
			list, _ := in.List() // unusable releases are not named
			for _, r := range list {
				if r.Name == name {
					versions = append(versions, r.Version)
				}
			}
			return versions
		},
	}
}

// runningTimeout bounds the wait for an already running cluster.
const runningTimeout = 10 * time.Second

// readyTimeout bounds the wait for a quorum. It is shorter if e starts no database.
func readyTimeout(e *config.Experiment) time.Duration {
	for _, db := range e.Databases {
		if len(db.Endpoints) == 0 && db.Steps.Start {
			return control.DefaultReadyTimeout
		}
	}
	return runningTimeout
}
