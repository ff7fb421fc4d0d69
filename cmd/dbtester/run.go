package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/coreos/dbtester/pkg/database/all"
	"github.com/coreos/dbtester/pkg/files/plaintext"
	"github.com/coreos/dbtester/pkg/yamlfile"
)

// run runs one command line and returns its exit code.
func run(args []string, in io.Reader, out, errw io.Writer) int {
	last := &lastWords{}
	ctx, stop := interruptible(errw, func() { last.print(out, errw) })
	defer stop()
	self, err := os.Executable()
	if err != nil {
		fmt.Fprintf(errw, "dbtester: find own executable: %v\n", err)
		return exitFailed
	}
	a := &app{streams: streams{in, out, errw}, registry: all.Registry(), self: []string{self, "serve"}, last: last}
	cobra.EnablePrefixMatching = true // "dbtester ana" is an old habit
	return a.execute(ctx, args)
}

// execute runs one command line and returns its exit code.
func (a *app) execute(ctx context.Context, args []string) int {
	root := newRoot(a)
	root.SetArgs(args)
	code := a.exitCode(root.ExecuteContext(ctx))
	if a.bisect || asksBisect(args) { // even if a wrong flag precedes it
		return bisectCode(code)
	}
	return code
}

// asksBisect reports whether --bisect is among arguments that may be wrong.
func asksBisect(args []string) (asked bool) {
	for _, arg := range args {
		name, value, given := strings.Cut(arg, "=")
		if arg == "--" {
			break
		}
		if name == "--bisect" {
			is, err := strconv.ParseBool(value)
			asked = !given || err != nil || is
		}
	}
	return asked
}

// Exit codes for compare --bisect, as git bisect run reads them: it ends at codes above 127.
const (
	bisectGood = 0
	bisectBad  = 1
	bisectSkip = 125
	bisectEnd  = 128
)

// bisectCode returns the code for git bisect run.
func bisectCode(code int) int {
	switch code {
	case exitDone:
		return bisectGood
	case exitWorse:
		return bisectBad
	case exitUsage:
		return bisectEnd
	case exitInterrupted:
		return exitInterrupted
	}
	return bisectSkip
}

// exitCode prints an error and returns its exit code.
func (a *app) exitCode(err error) int {
	if err == nil {
		return exitDone
	}
	prefix := looksOf(isTerminal(a.err), os.Getenv).paint(red, "dbtester:")
	for _, line := range strings.Split(strings.TrimRight(plaintext.Visible(message(err)), "\n"), "\n") {
		fmt.Fprintf(a.err, "%s %s\n", prefix, line)
	}
	var usage usageError
	var problems *yamlfile.Problems
	var invalid *invalidError
	var notFound *notFoundError
	var worse *worseError
	var inconclusive *inconclusiveError
	switch {
	case errors.Is(err, errInterrupted):
		return exitInterrupted
	case errors.As(err, &usage), errors.As(err, &problems):
		return exitUsage
	case errors.As(err, &invalid), errors.As(err, &notFound):
		return exitInvalid
	case errors.As(err, &worse):
		return exitWorse
	case errors.As(err, &inconclusive):
		return exitInconclusive
	default:
		return exitFailed
	}
}

// newRoot returns the command tree.
func newRoot(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:           "dbtester",
		Short:         "Benchmark distributed, consistent key-value stores",
		Example:       "  dbtester quickstart        # three members of etcd on this machine, in under a minute\n  dbtester doctor            # what this machine lacks for runs of your own\n  dbtester compare LAST~1 --to LAST",
		Version:       tool().Version,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetVersionTemplate("{{.Name}} {{.Version}}\n")
	root.SetIn(a.in)
	root.SetOut(a.out)
	root.SetErr(a.err)
	root.SetFlagErrorFunc(flagError)
	root.SetHelpCommand(newHelp())
	root.AddCommand(
		newQuickstart(a),
		newLoad(a),
		newDoctor(a),
		newAgent(a),
		newControl(a),
		newCapacity(a),
		newCleanup(a),
		newHeal(a),
		newAnalyze(a),
		newIndex(a),
		newCompare(a),
		newConsistency(a),
		newUpload(a),
		newSubmit(a),
		newDigests(a),
		newInstall(a),
		newConfig(a),
		newKube(a),
		newCerts(a),
		newSelfcheck(a),
		newDocs(a),
		newCheckDisk(a),
		newVersion(a),
		newServe(a),
		newRecheckKey(a),
	)
	root.SetUsageFunc(usage)
	for _, c := range withChildren(root) {
		if c.Args != nil {
			c.Args = usageArgs(c.Args)
		}
		if c.Example == "" {
			c.Example = firstExamples(c)
		}
	}
	return root
}

// firstExamples returns the first example for each command below c.
func firstExamples(c *cobra.Command) string {
	var lines []string
	for _, child := range c.Commands() {
		if first, _, _ := strings.Cut(child.Example, "\n"); first != "" {
			lines = append(lines, first)
		}
	}
	return strings.Join(lines, "\n")
}

func withChildren(c *cobra.Command) []*cobra.Command {
	list := []*cobra.Command{c}
	for _, child := range c.Commands() {
		list = append(list, withChildren(child)...)
	}
	return list
}
