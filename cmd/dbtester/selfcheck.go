package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/coreos/dbtester/pkg/selfcheck"
)

func (a *app) newSelfcheck() *cobra.Command {
	var duration time.Duration
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "selfcheck",
		Short: "Check what this machine measures against a server whose delays are known",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if duration < time.Second {
				return usageError{fmt.Errorf("--duration %v is less than a second", duration)}
			}
			return a.runSelfcheck(cmd.Context(), duration, asJSON)
		},
	}
	cmd.Flags().DurationVar(&duration, "duration", selfcheck.DefaultDuration, "how long each of the two loads lasts")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the report as JSON")
	cmd.AddCommand(&cobra.Command{
		Use:                "serve [ARGS...]",
		Short:              "Run the server whose delays are known",
		Hidden:             true,
		DisableFlagParsing: true,
		RunE:               func(cmd *cobra.Command, args []string) error { return selfcheck.Serve(cmd.Context(), args) },
	})
	return cmd
}

func (a *app) runSelfcheck(ctx context.Context, duration time.Duration, asJSON bool) error {
	report, err := selfcheck.Run(ctx, selfcheck.Options{
		Server:   []string{a.self[0], "selfcheck", "serve"},
		Duration: duration,
		Progress: func(what string) { fmt.Fprintf(a.err, "checking: %s\n", what) },
	})
	if err != nil {
		return err
	}
	if asJSON {
		encoder := json.NewEncoder(a.out)
		encoder.SetIndent("", "  ")
		return encoder.Encode(report)
	}
	return report.Print(a.out)
}
