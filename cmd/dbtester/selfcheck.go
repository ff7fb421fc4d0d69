package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/selfcheck"
	"github.com/coreos/dbtester/pkg/sysmetrics"
)

func (a *app) newSelfcheck() *cobra.Command {
	var duration time.Duration
	var file string
	cmd := &cobra.Command{
		Use:   "selfcheck",
		Short: "Check what this machine measures against a server whose delays are known",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if duration < time.Second {
				return usageError{fmt.Errorf("--duration %v is less than a second", duration)}
			}
			return a.runSelfcheck(cmd.Context(), duration, file)
		},
	}
	cmd.Flags().DurationVar(&duration, "duration", selfcheck.DefaultDuration, "how long each of the two loads lasts")
	cmd.Flags().StringVar(&file, "json", "", "file to write the report to as JSON, for control --selfcheck; - prints that instead of the table")
	cmd.AddCommand(&cobra.Command{
		Use:                "serve [ARGS...]",
		Short:              "Run the server whose delays are known",
		Hidden:             true,
		DisableFlagParsing: true,
		RunE:               func(cmd *cobra.Command, args []string) error { return selfcheck.Serve(cmd.Context(), args) },
	})
	return cmd
}

// runSelfcheck checks this machine and prints what it found; file, if not "", gets
// it too.
func (a *app) runSelfcheck(ctx context.Context, duration time.Duration, file string) (err error) {
	var out io.Writer = a.out
	if file != "" && file != "-" {
		// A file that cannot be written is told before the check, not after it.
		f, failed := os.Create(file)
		if failed != nil {
			return usageError{fmt.Errorf("write the report: %w", failed)}
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		out = f
	}
	host, err := sysmetrics.HostFacts()
	if err != nil {
		fmt.Fprintf(a.err, "dbtester: some facts of this machine can't be read: %v\n", err)
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

// readSelfcheck reads what a run takes over of a check, nil of no file.
func readSelfcheck(file string) (*results.SelfCheck, error) {
	if file == "" {
		return nil, nil
	}
	report, err := selfcheck.Read(file)
	if err != nil {
		return nil, usageError{err}
	}
	return &report.SelfCheck, nil
}
