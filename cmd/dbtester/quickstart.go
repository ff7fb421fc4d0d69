package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/coreos/dbtester/analyze"
	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/files/plaintext"
)

//go:embed quickstart.yaml
var quickstartFile []byte

//go:embed quickstart-faults.yaml
var quickstartFaultsFile []byte

type quickstartFlags struct {
	results string
	faults  bool
	outputFlags
	liveFlags
}

func newQuickstart(a *app) *cobra.Command {
	var f quickstartFlags
	cmd := &cobra.Command{
		Use:   "quickstart",
		Short: "Benchmark three members of the embedded etcd on this machine, in under a minute",
		Example: `  dbtester quickstart
  dbtester quickstart --faults --open`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.runQuickstart(cmd.Context(), f) },
	}
	cmd.Flags().BoolVar(&f.faults, "faults", false, "kill the leader and stall its disk during a load, and show how long nobody was answered, in a minute")
	f.liveFlags.register(cmd.Flags())
	f.outputFlags.register(cmd, "print every row of the report", openHelp)
	cmd.Flags().StringVar(&f.results, "results", "", "folder to make the result folder in (default: results)")
	return cmd
}

// runQuickstart runs control --local and analyze on the built-in file.
func (a *app) runQuickstart(ctx context.Context, f quickstartFlags) (err error) {
	name, file := "quickstart.yaml", quickstartFile
	if f.faults {
		name, file = "quickstart-faults.yaml", quickstartFaultsFile
	}
	e, _, err := config.Parse(name, file, a.registry.All())
	if err != nil {
		return err
	}
	if f.results != "" {
		e.Results = f.results
	}
	view, err := a.admit(ctx, e, f.liveFlags, f.quiet)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, view.leave(ctx)) }()
	out, err := a.conduct(ctx, e, controlFlags{localFlags: localFlags{local: true}, outputFlags: f.outputFlags}, view)
	var invalid *invalidError
	if err != nil && !errors.As(err, &invalid) || len(out.Folders) == 0 {
		notes := a.notes(f.format)
		fmt.Fprint(notes.out, strings.Join(append(notes.folderLines(out), ""), "\n"))
		return err
	}
	rows := shownRows{outputFlags: f.outputFlags, more: "dbtester analyze --all " + runsWords(out.Folders), next: nextOfQuickstart(f), written: view.written}
	if analyzeErr := a.printReport(ctx, analyze.Options{Folders: out.Folders, Plots: plotsOf(e.Plots)}, rows, reportStore{}); analyzeErr != nil {
		return errors.Join(err, fmt.Errorf("analyze: %w", analyzeErr))
	}
	return err
}

// nextOfQuickstart returns the command that makes a second run and compares both.
func nextOfQuickstart(f quickstartFlags) string {
	below := ""
	if f.results != "" {
		below = " --results " + plaintext.Word(f.results)
	}
	if f.faults {
		return "dbtester quickstart --faults" + below
	}
	return "dbtester quickstart" + below + " && dbtester compare" + below + " LAST~1 --to LAST"
}
