package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/coreos/dbtester/pkg/results"
)

// version is set by the linker (see the Makefile).
var version = "dev"

// tool describes this program, from the variables that the linker sets and the
// compiler's build information.
func tool() results.Tool {
	t := results.Tool{Version: version, Go: runtime.Version()}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return t
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			t.Commit = s.Value
		case "vcs.modified":
			if s.Value == "true" {
				t.Commit += "-modified"
			}
		}
	}
	return t
}

func newVersion(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of dbtester and of what is built into it",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			t := tool()
			fmt.Fprintf(a.out, "dbtester %s", t.Version)
			if t.Commit != "" {
				fmt.Fprintf(a.out, " (%s)", t.Commit)
			}
			fmt.Fprintf(a.out, "\n%s %s/%s\n", t.Go, runtime.GOOS, runtime.GOARCH)
			if info, ok := debug.ReadBuildInfo(); ok {
				for _, m := range info.Deps {
					if m.Path == "go.etcd.io/etcd/server/v3" {
						fmt.Fprintf(a.out, "embedded etcd %s\n", m.Version)
					}
				}
			}
			return nil
		},
	}
}
