package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/coreos/dbtester/agent"
	"github.com/coreos/dbtester/pkg/fault"
	"github.com/coreos/dbtester/pkg/files/plaintext"
)

func newDoctor(a *app) *cobra.Command {
	f := agentFlags{listen: "127.0.0.1:" + agentPort, lease: agent.DefaultLease, dryCheck: true}
	cmd := &cobra.Command{
		Use:   "doctor [FOLDER]",
		Short: "Check this machine for everything that runs need: disk, ports, limits, tools, faults",
		Long: `Check this machine for everything that runs need, in one answer.

It prints what an agent would use (agent --check), measures the disk of FOLDER as
check-disk does, and prints which faults members here can have and which tools are missing.
It starts nothing and leaves nothing behind. Exit code 0: an agent and a run with --local can
start here; 1: they cannot, for the reasons on the last lines.`,
		Example: "  dbtester doctor\n  dbtester doctor /var/lib/dbtester",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.workDir = "."; len(args) > 0 {
				f.workDir = args[0]
			}
			return a.runDoctor(cmd.Context(), f)
		},
	}
	registerCache(cmd.Flags(), &f.cache, "directory of releases")
	return cmd
}

// helper is a program needed by some runs.
type helper struct{ name, does string }

// helpers are needed programs that belong to no database.
func helpers() []helper {
	return []helper{
		{"go", "builds servers from checkouts (compare --a-source) and from source (install)"},
		{"git", "reads checkouts (compare --a-source)"},
		{"mvn", "obtains releases that are jars (install)"},
	}
}

// runDoctor prints the facts from agent --check, and then other needs of runs.
func (a *app) runDoctor(ctx context.Context, f agentFlags) error {
	c := &agentCheck{app: a, flags: f, w: tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)}
	callers, err := c.callers()
	if err != nil {
		return err
	}
	if err := c.facts(ctx, callers); err != nil {
		return errors.Join(c.w.Flush(), err)
	}
	c.faults()
	for _, h := range helpers() {
		path, err := exec.LookPath(h.name)
		if err != nil {
			c.say(h.name, "not in PATH; it %s", h.does)
			continue
		}
		c.say(h.name, "%s", path)
	}
	if err := c.w.Flush(); err != nil {
		return err
	}
	if problems := errors.Join(c.problems...); problems != nil {
		fmt.Fprintln(a.out, "\nnot ready: an agent or a run with --local cannot start here")
		return problems
	}
	fmt.Fprintln(a.out, "\nready: an agent and a run with --local can start here\nnext: dbtester quickstart")
	return nil
}

// faults prints the faults that members on this machine can have.
func (c *agentCheck) faults() {
	for _, k := range fault.Kinds() {
		if err := k.Possible(); err != nil {
			c.say("fault "+k.Name, "not possible here: %s", plaintext.Joined(plaintext.Line(err.Error())))
			continue
		}
		c.say("fault "+k.Name, "possible (agents: --allow-faults %s)", k.Name)
	}
}
