package main

import "github.com/spf13/cobra"

// outputFlags select the output for commands that make runs.
type outputFlags struct {
	all     bool // every row in the report, not only the first screen
	open    bool // the report page in a browser
	quiet   bool // no progress
	verbose bool
	format  format
}

// quietHelp is the help for --quiet.
const quietHelp = "print no progress; results, warnings and errors are printed as always"

// register declares the flags. The help for --all describes the output without it.
func (f *outputFlags) register(cmd *cobra.Command, all, open string) {
	flags := cmd.Flags()
	flags.BoolVar(&f.all, "all", false, all)
	flags.BoolVar(&f.open, "open", false, open)
	flags.BoolVar(&f.quiet, "quiet", false, quietHelp)
	flags.BoolVar(&f.verbose, "verbose", false, verboseHelp)
	f.format.register(cmd, reportFormats()...)
}

// verboseHelp is the help for --verbose.
const verboseHelp = "print a line for each step of the run also at a terminal, instead of one updated progress line"
