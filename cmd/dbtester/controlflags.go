package main

import (
	"time"

	"github.com/spf13/cobra"
)

type controlFlags struct {
	outputFlags
	localFlags
	chosenFlags
	clientFlags
	liveFlags
	config    string
	results   string
	dryRun    bool
	noUpload  bool
	fullSpeed bool
	commands  bool // --allow-commands
	create    bool // create the bucket for the upload
	link      linkFlags
	wait      time.Duration // for host addresses
	collect   string
	over      map[string]map[string]string // ability values over those in the file: see [config.Variant]
}

// register declares the flags for a run.
func (f *controlFlags) register(cmd *cobra.Command, a *app) {
	flags := cmd.Flags()
	flags.StringVarP(&f.config, "config", "c", "", "experiment file, compact or classic; - reads standard input")
	flags.StringVar(&f.results, "results", "", "folder to make result folders in (default: the file's, or results)")
	f.chosenFlags.register(flags)
	f.localFlags.register(flags, a.registry, "directory of releases for --local")
	f.registerDisk(flags)
	f.clientFlags.register(flags)
	f.liveFlags.register(flags)
	f.outputFlags.register(cmd, "also make the report, and print every row of it", "also make the report, and "+openHelp)
	a.completeChosen(cmd, &f.config)
	completeOrFile(cmd, "selfcheck", selfcheckAuto)
	flags.BoolVar(&f.dryRun, "dry-run", false, "print the steps, commands and files of the run without running it")
	flags.BoolVar(&f.noUpload, "no-upload", false, "skip the upload that the file requests")
	flags.BoolVar(&f.fullSpeed, "full-speed", false, "allow loads without a rate on endpoints, which others may use")
	flags.BoolVar(&f.commands, "allow-commands", false, "allow faults of the kind command, which run programs on this machine")
	flags.DurationVar(&f.wait, "wait", 0, "how long to wait for addresses of hosts given as dns:NAME, for example of starting pods")
	registerCreate(flags, &f.create)
	f.link.register(flags, "control's certificate", "contact agents on other machines without TLS, and agents that accept anyone")
}
