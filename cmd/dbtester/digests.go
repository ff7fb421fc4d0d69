package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/coreos/dbtester/pkg/files/plaintext"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/results/digest"
)

// newDigests is for scripts that cut records, such as scripts/publish-results.sh.
func newDigests(a *app) *cobra.Command {
	var by, folder string
	cmd := &cobra.Command{
		Use:   "digests RUN",
		Short: "Compare the records of a run with the sizes and hashes in its manifest",
		Long: `Compare the records of a run with the sizes and hashes in its manifest. A file that is
missing or different is exit code 3.

With --renew BY the manifest gets the sizes and hashes of the files as they are now, with a
list of what BY changed. Compare before you change files: damage is in the list too.`,
		Args:   cobra.ExactArgs(1),
		Hidden: true,
		RunE: func(_ *cobra.Command, args []string) error {
			runs, err := a.namedRuns(args, folder)
			if err != nil {
				return err
			}
			if err := checkRuns(runs); err != nil {
				return err
			}
			return a.runDigests(runs[0], by)
		},
		ValidArgsFunction: completeRuns,
	}
	registerNewest(cmd.Flags(), &folder)
	cmd.Flags().StringVar(&by, "renew", "", "make them again, and name what changed the files in the manifest")
	return cmd
}

// runDigests compares the records of a run with their digests, or renews the digests if by is not
// empty.
func (a *app) runDigests(run, by string) error {
	folder, err := results.Open(run)
	if err != nil {
		return err
	}
	m, err := folder.Manifest()
	if err != nil {
		return err
	}
	if by != "" && m.Format != results.FormatVersion {
		return usageError{fmt.Errorf("the run is of format %d: digests are made for format %d only", m.Format, results.FormatVersion)}
	}
	var invalid invalidError
	for _, db := range m.Databases {
		dir := folder.Path(db.Tag)
		if by == "" {
			invalid.reasons = append(invalid.reasons, a.compareDigests(db, dir)...)
			continue
		}
		files, err := results.Digest(dir)
		if err != nil {
			return err
		}
		if db.Digests == nil {
			db.Digests = &digest.Set{}
		}
		before := len(db.Digests.Changes)
		db.Digests.Renew(by, files)
		fmt.Fprintf(a.out, "%s: %d files\n", db.Tag, len(files))
		for _, c := range db.Digests.Changes[before:] {
			fmt.Fprintf(a.out, "  %s: %s\n", by, plaintext.Visible(c.String()))
		}
	}
	if by != "" {
		return folder.WriteManifest(m)
	}
	if len(invalid.reasons) > 0 {
		return &invalid
	}
	return nil
}

// compareDigests returns how the digests for db differ from the records.
func (a *app) compareDigests(db *results.DatabaseRun, dir string) (differ []string) {
	if db.Digests == nil || len(db.Digests.ByFile) == 0 {
		fmt.Fprintf(a.out, "%s: no digests\n", db.Tag)
		return nil
	}
	for _, d := range db.Digests.Check(dir) {
		text := fmt.Sprintf("%s: %s: %d bytes in place of %d", db.Tag, plaintext.Visible(d.File), d.Is.Bytes, d.Was.Bytes)
		switch {
		case d.Err != nil:
			text = fmt.Sprintf("%s: %s: %v", db.Tag, plaintext.Visible(d.File), d.Err)
		case d.Is.Bytes == d.Was.Bytes:
			text = fmt.Sprintf("%s: %s: other contents", db.Tag, plaintext.Visible(d.File))
		}
		differ = append(differ, text)
	}
	if len(differ) == 0 {
		fmt.Fprintf(a.out, "%s: %d files are as recorded\n", db.Tag, len(db.Digests.ByFile))
	}
	return differ
}
