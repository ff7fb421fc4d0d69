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
	"github.com/coreos/dbtester/pkg/results"
)

// wantsUpload tells whether the result folders of an experiment are to be copied
// away.
func wantsUpload(e *config.Experiment) bool {
	return e.Upload != nil && slices.ContainsFunc(e.Databases, func(db config.Database) bool { return db.Steps.Upload })
}

// CheckUpload refuses an upload that an experiment asks for and that is bound to
// fail: hours of load come before it. It is nil with [Options.NoUpload].
func CheckUpload(o Options) error {
	if !wantsUpload(o.Experiment) || o.NoUpload {
		return nil
	}
	to := o.Experiment.Upload
	var missing []string
	if o.Upload == nil {
		missing = append(missing, "this program has no uploader")
	}
	if to.KeyFile != "" {
		if _, err := os.Stat(to.KeyFile); errors.Is(err, fs.ErrNotExist) {
			missing = append(missing, fmt.Sprintf("its key file %s does not exist", to.KeyFile))
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return fmt.Errorf("an upload to %s is asked for, but %s", to.URL, strings.Join(missing, " and "))
}

// leftOut says that an upload is left out which the experiment asks for; "" if
// none is.
func leftOut(o Options) string {
	if !o.NoUpload || !wantsUpload(o.Experiment) {
		return ""
	}
	return fmt.Sprintf("the upload to %s that the experiment asks for is left out", o.Experiment.Upload.URL)
}

// judgeUpload marks a whole run whose upload is left out.
func judgeUpload(o Options) []results.Mark {
	if text := leftOut(o); text != "" {
		return []results.Mark{{Code: markNotUploaded, Text: text}}
	}
	return nil
}

// upload copies the result folder away if that is asked for.
func (t *trialRun) upload(ctx context.Context) error {
	if !wantsUpload(t.Experiment) || t.NoUpload {
		return nil
	}
	to := *t.Experiment.Upload
	t.Report(Update{Trial: t.number, Trials: t.manifest.Trials, Text: "upload to " + to.URL})
	return t.Upload(ctx, t.folder.Dir(), to)
}
