package main

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/coreos/dbtester/pkg/database"
)

// newServe returns the hidden command with which this binary acts as a database: agents
// run it as a child process, so it is measured like any other database.
func newServe(a *app) *cobra.Command {
	return &cobra.Command{
		Use:                "serve NAME [ARGS...]",
		Short:              "Run one member of a built-in database",
		Hidden:             true,
		DisableFlagParsing: true,
		Args:               cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if slices.Contains([]string{"-h", "--help"}, args[0]) {
				return cmd.Help()
			}
			db, err := a.registry.Get(args[0])
			if err != nil {
				return usageError{err}
			}
			server, ok := db.New().(database.Embedded)
			if !ok {
				return usageError{fmt.Errorf("%s has no built-in server", db.Name)}
			}
			return server.Serve(cmd.Context(), args[1:])
		},
	}
}
