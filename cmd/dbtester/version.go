package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/coreos/dbtester/pkg/results"
)

// unnamed is the default version.
const unnamed = "dev"

// The sources of this program, set by the linker (see the Makefile and scripts/release.sh): the
// release, its commit, and the commit date in UTC as RFC 3339.
var (
	version = unnamed
	commit  = ""
	date    = ""
)

// source names the sources of a program. Unknown fields are empty.
type source struct{ version, commit, date string }

// sourceOf completes the linker values with the build information in the executable. info may be
// nil.
func sourceOf(given source, info *debug.BuildInfo) source {
	if info == nil {
		return given
	}
	if v := info.Main.Version; given.version == unnamed && v != "" && v != "(devel)" {
		given.version = v
	}
	if given.commit != "" {
		return given
	}
	modified := false
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			given.commit = s.Value
		case "vcs.time":
			given.date = s.Value
		case "vcs.modified":
			modified = s.Value == "true"
		}
	}
	if modified {
		given.commit += "-modified"
	}
	return given
}

// builtFrom names the sources of this program.
func builtFrom() source {
	info, _ := debug.ReadBuildInfo()
	return sourceOf(source{version, commit, date}, info)
}

// tool describes this program in records.
func tool() results.Tool {
	s := builtFrom()
	return results.Tool{Version: s.version, Commit: s.commit, Go: runtime.Version()}
}

func newVersion(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version of dbtester and of its built-in databases",
		Example: "  dbtester version",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			s := builtFrom()
			fmt.Fprintf(a.out, "dbtester %s", s.version)
			if s.commit != "" {
				fmt.Fprintf(a.out, " (%s)", strings.TrimSuffix(s.commit+", "+s.date, ", "))
			}
			fmt.Fprintf(a.out, "\n%s %s/%s\n", runtime.Version(), runtime.GOOS, runtime.GOARCH)
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
