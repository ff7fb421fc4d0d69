package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/dustin/go-humanize"
	"github.com/dustin/go-humanize/english"
	"github.com/spf13/cobra"

	"github.com/coreos/dbtester/control"
	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/remotestorage"
	"github.com/coreos/dbtester/pkg/results"
)

// errNoUpload is the advice for files that request an upload.
var errNoUpload = errors.New("pass --no-upload to run without it")

type uploadFlags struct {
	results string // where LAST is searched for
	keyFile string
	project string
	create  bool
}

func newUpload(a *app) *cobra.Command {
	var f uploadFlags
	cmd := &cobra.Command{
		Use:   "upload RUN... URL",
		Short: "Copy result folders to gs://, s3:// or file://, sending only missing files",
		Example: `  dbtester upload LAST gs://bucket/folder
  dbtester upload LAST file:///mnt/archive --create-bucket`,
		Args: cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.runUpload(cmd.Context(), f, args[:len(args)-1], args[len(args)-1])
		},

		ValidArgsFunction: completeRuns,
	}
	flags := cmd.Flags()
	registerNewest(flags, &f.results)
	flags.StringVar(&f.keyFile, "key-file", "", "file with the credentials: a service account's key for gs://, a shared credentials file for s3:// (default: credentials from the environment)")
	registerCreate(flags, &f.create)
	registerProject(flags, &f.project)
	return cmd
}

func (a *app) runUpload(ctx context.Context, f uploadFlags, runs []string, address string) (err error) {
	if err := remotestorage.Check(address); err != nil {
		return usageError{err}
	}
	if runs, err = a.namedRuns(runs, f.results); err == nil {
		err = checkRuns(runs)
	}
	if err != nil {
		return err
	}
	store, err := remotestorage.Open(ctx, address, remotestorage.Options{KeyFile: f.keyFile, Create: f.create, Project: f.project})
	if err != nil {
		return withInterrupt(ctx, offerCreate(err))
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	report := func(text string) { fmt.Fprintln(a.err, text) }
	for _, run := range runs {
		if err := sendRun(ctx, store, run, config.Upload{URL: address, KeyFile: f.keyFile}, report); err != nil {
			return withInterrupt(ctx, err)
		}
	}
	return nil
}

// uploadRun copies one result folder. It is the uploader in [control.Options].
func uploadRun(ctx context.Context, run string, to config.Upload, report func(text string)) (err error) {
	store, err := remotestorage.Open(ctx, to.URL, remotestorage.Options{KeyFile: to.KeyFile, Project: to.Project})
	if err != nil {
		return fmt.Errorf("%w: all records are in %s; upload them with: %s", err, relative(run), repairCommand(run, to))
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	return sendRun(ctx, store, run, to, report)
}

// sendRun copies one result folder to an open store and reports the copies. The manifest is
// sent last: if it exists, the other records do too.
func sendRun(ctx context.Context, store remotestorage.Store, run string, to config.Upload, report func(text string)) error {
	name, err := remotestorage.RunName(run)
	if err != nil {
		return err
	}
	sum, err := remotestorage.Upload(ctx, store, remotestorage.Folder{Dir: run, Name: name, Last: results.FileManifest}, func(p remotestorage.Progress) {
		report(transferLine("upload", p))
	})
	if err != nil {
		return fmt.Errorf("%w: %d of %s are in %s; send the others with: %s", err, sum.Sent+sum.Present, english.Plural(sum.Files, "file", ""),
			joinURL(to.URL, name), repairCommand(run, to))
	}
	report(fmt.Sprintf("uploaded %s to %s: %s (%s) sent, %d already present", relative(run), joinURL(to.URL, name),
		english.Plural(sum.Sent, "file", ""), humanize.Bytes(uint64(sum.SentBytes)), sum.Present))
	return sendClassic(ctx, store, run, to, report)
}

// sendClassic copies the files of a classic run once more, under the names in the analyze part of
// the experiment.
func sendClassic(ctx context.Context, store remotestorage.Store, run string, to config.Upload, report func(text string)) error {
	files, err := classicFiles(run)
	if err != nil || len(files) == 0 {
		return err
	}
	sum, err := remotestorage.UploadFiles(ctx, store, files, func(p remotestorage.Progress) { report(transferLine("upload", p)) })
	if err != nil {
		return fmt.Errorf("%w: %d of %s are in %s; send the others with: %s", err, sum.Sent+sum.Present,
			english.Plural(sum.Files, "classic file", ""), to.URL, repairCommand(run, to))
	}
	report(fmt.Sprintf("uploaded the classic files to %s, such as %s: %s (%s) sent, %d already present", to.URL, files[0].Name,
		english.Plural(sum.Sent, "file", ""), humanize.Bytes(uint64(sum.SentBytes)), sum.Present))
	return nil
}

// repairCommand returns the command that sends the remaining files after a failed upload.
func repairCommand(run string, to config.Upload) string {
	words := []string{"dbtester", "upload"}
	if to.KeyFile != "" {
		words = append(words, "--key-file", to.KeyFile)
	}
	words = append(words, relative(run), to.URL)
	for i, word := range words {
		if strings.ContainsAny(word, " \t\n'\"$&;|<>()*?#`\\") {
			words[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
	}
	return strings.Join(words, " ")
}

// checkUpload refuses uploads that are bound to fail, at the place in the file that requests them.
func checkUpload(o control.Options) error { return uploadProblem(o, control.CheckUpload(o)) }

// reachUpload refuses an upload whose bucket cannot be listed, at the place in the file that
// requests it, before hours of load. With create it creates a missing bucket.
func reachUpload(ctx context.Context, o control.Options, create bool) error {
	if o.NoUpload || uploadPlace(o.Experiment) == "" || o.Experiment.Upload == nil {
		return nil
	}
	to := o.Experiment.Upload
	store, err := remotestorage.Open(ctx, to.URL, remotestorage.Options{KeyFile: to.KeyFile, Create: create, Project: to.Project})
	if err == nil {
		err = store.Close()
	}
	return uploadProblem(o, err)
}

func uploadProblem(o control.Options, err error) error {
	if err == nil {
		return nil
	}
	err = offerCreate(err)
	if at := uploadPlace(o.Experiment); at != "" {
		err = fmt.Errorf("%s: %w", at, err)
	}
	return usageError{fmt.Errorf("%w: %w", err, errNoUpload)}
}

// uploadPlace returns where e requests an upload, as file:line:col: for all databases or for one
// that will run. It returns "" if e requests no upload.
func uploadPlace(e *config.Experiment) string {
	if at := e.Place("steps.upload"); at != "" && e.Steps.Upload {
		return at
	}
	for _, db := range e.Databases {
		if at := e.Place("databases." + db.ID + ".steps.upload"); at != "" && db.Steps.Upload {
			return at
		}
	}
	return ""
}
