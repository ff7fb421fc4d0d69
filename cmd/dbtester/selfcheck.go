package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/coreos/dbtester/pkg/load/selfcheck"
	"github.com/coreos/dbtester/pkg/machine/sysmetrics"
	"github.com/coreos/dbtester/pkg/results"
)

func newSelfcheck(a *app) *cobra.Command {
	var duration time.Duration
	var file string
	cmd := &cobra.Command{
		Use:     "selfcheck",
		Short:   "Check this machine's measurements against a server with known delays",
		Example: "  dbtester selfcheck\n  dbtester selfcheck --json selfcheck.json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if duration < time.Second {
				return usageError{fmt.Errorf("--duration must be at least 1s, got %v", duration)}
			}
			return a.runSelfcheck(cmd.Context(), duration, file)
		},
	}
	cmd.Flags().DurationVar(&duration, "duration", selfcheck.DefaultDuration, "how long each of the two loads lasts")
	cmd.Flags().StringVar(&file, "json", "", "file to write the report to as JSON, for control --selfcheck; - prints the JSON instead of the table")
	cmd.AddCommand(
		hidden("serve [ARGS...]", "Run the server with known delays", selfcheck.Serve),
		hidden("mirror [ARGS...]", "Run a server with a known delay that speaks a database's protocol", func(ctx context.Context, args []string) error {
			return selfcheck.ServeMirror(ctx, a.registry, args)
		}),
	)
	return cmd
}

// hidden returns a command for child processes, which get their arguments unchanged.
func hidden(use, short string, run func(context.Context, []string) error) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Hidden: true, DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error { return run(cmd.Context(), args) },
	}
}

// runSelfcheck checks this machine and prints the report. It also writes the report
// to file unless that is "".
func (a *app) runSelfcheck(ctx context.Context, duration time.Duration, file string) (err error) {
	var out io.Writer = a.out
	if file != "" && file != "-" {
		// An unwritable file is reported before the check runs.
		f, failed := os.Create(file)
		if failed != nil {
			return usageError{fmt.Errorf("write the report: %w", failed)}
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		out = f
	}
	host, err := sysmetrics.HostFacts()
	if err != nil {
		fmt.Fprintf(a.err, "dbtester: some facts about this machine cannot be read: %v\n", err)
	}
	report, err := selfcheck.Run(ctx, selfcheck.Options{
		Server:   []string{a.self[0], "selfcheck", "serve"},
		Duration: duration,
		Tool:     tool(),
		Host:     host,
		Progress: func(what string) { fmt.Fprintf(a.err, "checking: %s\n", what) },
	})
	if err != nil {
		return err
	}
	if file != "" {
		if err := report.Write(out); err != nil || file == "-" {
			return err
		}
	}
	return report.Print(a.out)
}

// selfcheckAuto is the --selfcheck value for a check with each load.
const selfcheckAuto = "auto"

// mirrorOf returns the command line that checks each load, or nil if flag does not request it.
func mirrorOf(executable, flag string) []string {
	if flag != selfcheckAuto {
		return nil
	}
	return []string{executable, "selfcheck", "mirror"}
}

// readSelfcheck reads the recorded part of a check. It returns nil if file is "" or selfcheckAuto.
func readSelfcheck(file string) (*results.SelfCheck, error) {
	if file == "" || file == selfcheckAuto {
		return nil, nil
	}
	report, err := selfcheck.Read(file)
	if err != nil {
		return nil, usageError{err}
	}
	return &report.SelfCheck, nil
}
