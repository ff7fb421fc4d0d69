package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"

	"github.com/spf13/cobra"

	"github.com/coreos/dbtester/analyze/publish/submission"
	"github.com/coreos/dbtester/pkg/files/plaintext"
)

type submitFlags struct {
	to      string
	hide    []string
	results string // where LAST is searched for
}

func newSubmit(a *app) *cobra.Command {
	var f submitFlags
	cmd := &cobra.Command{
		Use:   "submit RUN",
		Short: "Pack a recorded run to be published, without host names, addresses, users and credentials",
		Long: `Pack a recorded run to be published, without host names, addresses, users and credentials.

The archive has the records that a report is made of, and SCRUBBED.txt, which lists what
was replaced and left out. Nothing is sent anywhere, and nothing in RUN is changed. Read
what is in the archive before you publish it.

A run that is not complete, or whose records contradict each other, is refused. A run that
is not valid is packed with its marks: exit code 3.`,
		Example: "  dbtester submit results/my-first-experiment/20260102T150405Z --to my-machines.tar.gz",
		Args:    cobra.ExactArgs(1),
		RunE:    func(_ *cobra.Command, args []string) error { return a.runSubmit(f, args) },

		ValidArgsFunction: completeRuns,
	}
	registerNewest(cmd.Flags(), &f.results)
	cmd.Flags().StringVar(&f.to, "to", "", "archive to write, which must not exist (default: run-ID.tar.gz in the current folder)")
	cmd.Flags().StringArrayVar(&f.hide, "hide", nil, "another word to replace everywhere, such as the name of a project: at least three characters, not a number and not a word that every record contains; repeatable")
	return cmd
}

func (a *app) runSubmit(f submitFlags, args []string) error {
	runs, err := a.namedRuns(args, f.results)
	if err == nil {
		err = checkRuns(runs)
	}
	if err != nil {
		return err
	}
	run := runs[0]
	o := submission.Options{Run: run, To: f.to, Hide: f.hide}
	// Texts may contain the names of this machine. An unknown name is in no text.
	if host, err := os.Hostname(); err == nil {
		o.Hosts = append(o.Hosts, host)
	}
	if me, err := user.Current(); err == nil {
		o.Users = append(o.Users, me.Username)
	}
	packed, err := submission.Pack(o)
	if errors.Is(err, fs.ErrExist) || errors.Is(err, submission.ErrHide) {
		return usageError{err}
	}
	if err != nil {
		return err
	}
	fmt.Fprint(a.out, packed.Account)
	if len(packed.Pseudonyms) > 0 {
		fmt.Fprint(a.out, "\nReplaced names, which are not in the archive:\n")
		for _, p := range packed.Pseudonyms {
			fmt.Fprintf(a.out, "  %s = %s\n", p.Alias, p.Name)
		}
	}
	if len(packed.Unnamed) > 0 {
		fmt.Fprint(a.out, "\nFiles left out and not named in the archive:\n")
		for _, one := range packed.Unnamed {
			fmt.Fprintf(a.out, "  %s\n", plaintext.Visible(one))
		}
	}
	fmt.Fprintf(a.out, "\npacked %s into %s: look through it before you publish it\n", relative(run), relative(packed.File))
	if len(packed.Invalid) > 0 {
		return &invalidError{packed.Invalid}
	}
	return nil
}
