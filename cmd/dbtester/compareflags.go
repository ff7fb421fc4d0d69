package main

import (
	"errors"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"github.com/coreos/dbtester/control/before/versus"
)

type compareFlags struct {
	to      boundary
	tag     string
	toTag   string
	metrics []string
	margin  string
	format  format
	fetch   fetchFlags
	output  string
	made    makeFlags
}

// comparison is one call to the command.
type comparison struct {
	app   *app
	flags *compareFlags
}

// boundary is --to: the arguments after it belong to B.
type boundary struct {
	flags *pflag.FlagSet
	at    int // arguments before the flag, -1 without it
	named []string
}

var _ pflag.Value = (*boundary)(nil)

func (b *boundary) String() string { return "" }

func (b *boundary) Type() string { return "RUN..." }

// Set records how many arguments precede the flag. A shell that asks for completions has the same
// flags read twice.
func (b *boundary) Set(value string) error {
	before := b.flags.NArg()
	again := before == b.at && (value == here && b.named == nil || slices.Equal(b.named, []string{value}))
	if b.at >= 0 && !again {
		return errors.New("can be given once")
	}
	b.at = before
	if value != here {
		b.named = []string{value}
	}
	return nil
}

// sides splits the arguments.
func (b *boundary) sides(args []string) (from, to []string) {
	if b.at < 0 {
		return args, nil
	}
	return args[:b.at], slices.Concat(b.named, args[b.at:])
}

// here is the flag value without "=VALUE".
const here = " "

// makeFlags are the flags for comparisons that make their runs.
type makeFlags struct {
	config       string
	a, b         versus.Side
	pairs, until int
	budget       time.Duration
	flags        *pflag.FlagSet
	control      controlFlags // for the runs
}

func (f *makeFlags) register(a *app, flags *pflag.FlagSet) {
	f.a.Name, f.b.Name, f.flags = "A", "B", flags
	flags.StringVarP(&f.config, "config", "c", "", "instead of recorded runs: experiment file of both A and B, with one database, to compare two versions or executables of it")
	for name, s := range map[string]*versus.Side{"a": &f.a, "b": &f.b} {
		flags.StringVar(&s.File, name, "", "instead of recorded runs: experiment file of "+s.Name+", with one database")
		flags.StringVar(&s.Version, name+"-version", "", "release that "+s.Name+" runs instead of the file's release; with an executable, the release whose defaults it has")
		flags.StringVar(&s.Exec, name+"-exec", "", "executable that "+s.Name+" runs instead of the file's server")
		flags.StringVar(&s.Source, name+"-source", "", "git checkout that "+s.Name+"'s executable is built from, into the cache (etcd)")
	}
	flags.IntVar(&f.pairs, "pairs", 8, "pairs of runs to make, in blocks of A B B A or B A A B, each on a fresh cluster")
	flags.IntVar(&f.until, "until", 0, "make two more pairs at a time up to this number while the result is inconclusive (default: as --pairs)")
	flags.DurationVar(&f.budget, "budget", 0, "time for all runs, such as 20m, from which the number of pairs is planned, instead of --pairs and --until")
	c := &f.control
	flags.StringVar(&c.results, "results", "", "folder to make the folders a and b of result folders in (default: compare in A's folder of results); for recorded runs: where LAST finds the newest (default: results)")
	c.localFlags.register(flags, a.registry, "directory of releases for --local, and of builds")
	flags.BoolVar(&c.fullSpeed, "full-speed", false, "allow loads without a rate on endpoints, which others may use")
	c.link.register(flags, "control's certificate", "contact agents on other machines without TLS, and agents that accept anyone")
	flags.BoolVar(&c.quiet, "quiet", false, quietHelp)
	c.noUpload = true
}

// asked reports whether runs are to be made.
func (f *makeFlags) asked() bool {
	return f.config != "" || f.a.File != "" || f.b.File != "" || f.a.Given() || f.b.Given()
}
