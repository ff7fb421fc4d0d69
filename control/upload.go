package control

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/mark"
	"github.com/coreos/dbtester/pkg/results"
)

// wantsUpload reports whether the result folders are to be uploaded.
func wantsUpload(e *config.Experiment) bool {
	return e.Upload != nil && slices.ContainsFunc(e.Databases, func(db config.Database) bool { return db.Steps.Upload })
}

// CheckUpload refuses an upload that must fail, before the hours of load that precede it. With
// [Options.NoUpload] it returns nil.
func CheckUpload(o Options) error {
	if !wantsUpload(o.Experiment) || o.NoUpload {
		return nil
	}
	to := o.Experiment.Upload
	var missing []string
	if o.Upload == nil {
		missing = append(missing, "this program cannot upload")
	}
	if to.KeyFile != "" {
		if _, err := os.Stat(to.KeyFile); errors.Is(err, fs.ErrNotExist) {
			missing = append(missing, fmt.Sprintf("its key file %s does not exist", to.KeyFile))
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return fmt.Errorf("the experiment requests an upload to %s, but %s", to.URL, strings.Join(missing, " and "))
}

// leftOut returns a line about a requested upload that the run skips, or "".
func leftOut(o Options) string {
	if !o.NoUpload || !wantsUpload(o.Experiment) {
		return ""
	}
	return mark.Text(mark.NotUploaded, nil, uploadWords(o))
}

// judgeUpload marks a trial whose upload is skipped.
func judgeUpload(o Options) []results.Mark {
	if leftOut(o) == "" {
		return nil
	}
	return []results.Mark{results.NewMark(mark.NotUploaded, false, nil, uploadWords(o))}
}

func uploadWords(o Options) mark.Words { return mark.Words{"url": o.Experiment.Upload.URL} }

// upload copies a result folder to its destination if the experiment asks for it. It calls report
// first.
func upload(ctx context.Context, o Options, dir string, report func(text string)) error {
	if !wantsUpload(o.Experiment) || o.NoUpload {
		return nil
	}
	to := *o.Experiment.Upload
	report("upload to " + to.URL)
	return o.Upload(ctx, dir, to, report)
}
