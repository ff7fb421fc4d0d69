package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/coreos/dbtester/cmd/dbtester/manpage"
)

// newDocs generates documentation from the commands themselves.
func newDocs(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "docs",
		Short: "Write documentation generated from the program",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(&cobra.Command{
		Use: "man DIR", Short: "Write a manual page for each command into a folder",
		Example: "  dbtester docs man /usr/local/share/man/man1",
		Args:    cobra.ExactArgs(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return runDocsMan(a.out, cmd.Root(), args[0]) },
	})
	return cmd
}

func runDocsMan(out io.Writer, root *cobra.Command, dir string) error {
	built := builtFrom()
	day := built.date[:min(len(built.date), len("2006-01-02"))]
	pages, err := manpage.Write(dir, root, manpage.Program{Version: built.version, Date: day, Exits: exits()})
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "wrote %d manual pages into %s\n", len(pages), dir)
	return nil
}

// exits returns the exit codes with short meanings.
func exits() []manpage.Exit {
	return []manpage.Exit{
		{Code: exitDone, Meaning: "done"},
		{Code: exitFailed, Meaning: "failed; also if measurements were lost with an agent, analyze could not read a run, or check-disk could not measure the disk"},
		{Code: exitUsage, Meaning: "wrong usage or configuration, found before anything started"},
		{Code: exitInvalid, Meaning: "recorded, but not valid; each reason is printed with its step"},
		{Code: exitWorse, Meaning: "compare: B is worse than A; control and analyze: no database meets the need; check-disk: the disk does not meet the guidance"},
		{Code: exitInconclusive, Meaning: "compare: the runs are too few to decide; control and analyze: whether a database meets the need is not known"},
		{Code: exitInterrupted, Meaning: "interrupted; the records are complete up to then"},
	}
}
