package main

import (
	"io"
	"path/filepath"

	"github.com/dustin/go-humanize/english"
	"github.com/spf13/cobra"

	verdicts "github.com/coreos/dbtester/analyze/abilities/consistency"
	reading "github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/ability/consistency"
	"github.com/coreos/dbtester/pkg/results"
)

func newConsistency(a *app) *cobra.Command {
	var below string
	var porcupine recheckFlags
	most := 10
	cmd := &cobra.Command{
		Use:     "consistency RUN",
		Short:   "Print the verdict on the answers of a run, and the requests that exclude each other",
		Example: "  dbtester consistency LAST\n  dbtester consistency LAST --porcupine",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			l, err := porcupine.limits()
			if err != nil {
				return err
			}
			folder, err := a.namedFolder(args, below)
			if err != nil {
				return err
			}
			m, err := folder.Manifest()
			if err != nil {
				return err
			}
			var differing []string
			for _, d := range m.Databases {
				if err := printVerdict(a.out, folder.Path(d.Tag), d, most); err != nil {
					return err
				}
				if !porcupine.on {
					continue
				}
				found, err := a.recheck(cmd.Context(), folder.Path(d.Tag), d, l)
				if err != nil {
					return err
				}
				differing = append(differing, found...)
			}
			if len(differing) > 0 {
				return &differenceError{differing}
			}
			return nil
		},
		ValidArgsFunction: completeRuns,
	}
	registerNewest(cmd.Flags(), &below)
	porcupine.register(cmd.Flags())
	cmd.Flags().IntVar(&most, "witnesses", most, "most violations to show of each database")
	return cmd
}

// printVerdict prints the verdict on d, from its records in dir.
func printVerdict(w io.Writer, dir string, d *results.DatabaseRun, most int) error {
	say := sayer(w)
	v, err := consistency.Record().Of(d.Records)
	if err != nil {
		return err
	}
	if v.Form == "" {
		say("%s: the records have no verdict on answers", d.Tag)
		return nil
	}
	if v.Form == consistency.Unasked {
		say("%s: answers were not judged: the file does not ask for it", d.Tag)
		return nil
	}
	say("%s:", d.Tag)
	for _, row := range (verdicts.Half{}).Rows() {
		m, text := row.Cell(&reading.Run{Info: reading.Info{Record: d}})
		if m.Inapplicable {
			continue
		}
		if !m.Known() {
			text = m.Missing
		}
		say("  %s: %s", row.Name, text)
	}
	if v.Read != "" {
		say("  %s reads: %s", v.Read, v.Promise)
	}
	if v.Sampled > 0 {
		say("  the requests on %s are recorded in %s: --porcupine checks them", english.Plural(v.Sampled, "key", ""), consistency.FileHistory)
	}
	witnesses, err := consistency.ReadWitnesses(filepath.Join(dir, consistency.FileWitness))
	if err != nil {
		return err
	}
	for n := range witnesses[:min(most, len(witnesses))] {
		say("  %s", witnesses[n].Words(v.Since))
		if err := witnesses[n].Check(); err != nil {
			say("    this witness shows no violation: %v", err)
		}
	}
	if more := len(witnesses) - most; more > 0 {
		say("  %d more in %s", more, filepath.Join(filepath.Base(dir), consistency.FileWitness))
	}
	return nil
}
