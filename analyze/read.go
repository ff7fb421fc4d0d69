package analyze

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/mark"
	"github.com/coreos/dbtester/pkg/results"
)

// inputs holds the records for a report.
type inputs struct {
	runs    []*run.Run // in the order of the table columns
	marks   []run.Mark
	folders int // that have a database
	// unread are the folders and tags that could not be read at all because of a problem.
	unread   []string
	problems []error
	// outputs are the paths in a classic file for the outputs of one run.
	outputs map[*run.Run]map[string]string
}

// readAll reads every folder and the classic files. It fails if no record file is readable.
func readAll(ctx context.Context, o Options) (*inputs, error) {
	if len(o.Folders) == 0 && o.Classic == nil {
		return nil, errors.New("nothing to analyze: no result folder and no classic inputs")
	}
	in := &inputs{outputs: map[*run.Run]map[string]string{}}
	folders, err := run.FromFolders(ctx, o.Folders...)
	if err != nil {
		return nil, err
	}
	for i, dir := range o.Folders {
		in.addFolder(dir, folders[i], len(o.Folders) > 1, o.Labels[dir])
	}
	if o.Classic != nil {
		in.readClassic(o.Classic)
	}
	unique(in.runs)
	if in.mark(); len(in.runs) == 0 {
		return nil, in.nothing("no database was recorded")
	}
	for _, r := range in.runs {
		if !r.Empty() {
			return in, nil
		}
	}
	return nil, in.nothing("no file can be read")
}

func (in *inputs) nothing(reason string) error {
	return errors.Join(append([]error{errors.New("nothing to analyze: " + reason)}, in.problems...)...)
}

// addFolder adds the records in a result folder. A folder without a readable manifest becomes a
// mark.
func (in *inputs) addFolder(dir string, read run.Folder, several bool, label string) {
	runs, err := read.Runs, read.Err
	if err != nil {
		in.problems = append(in.problems, err)
		name := filepath.Base(dir)
		in.unread = append(in.unread, name)
		in.marks = append(in.marks, run.Mark{Mark: results.NewMark(mark.Gap, false, nil, mark.Words{"what": fmt.Sprintf("%s cannot be read: %v", name, run.Cause(err))})})
		return
	}
	if len(runs) > 0 {
		in.folders++
		in.marks = append(in.marks, run.MarksOfManifest(runs[0].Info.Manifest, dir, several)...)
	}
	in.runs = append(in.runs, labelled(runs, label)...)
}

// labelled names the runs in a folder by its label, if it has one.
func labelled(runs []*run.Run, label string) []*run.Run {
	for _, r := range runs {
		switch r.Info.Label = label; {
		case label == "":
		case len(runs) == 1:
			r.Info.Tag = label
		default:
			r.Info.Tag = label + " " + r.Info.Tag
		}
	}
	return runs
}

func (in *inputs) readClassic(c *Classic) {
	for _, files := range c.Runs {
		r := run.FromClassic(files.ClassicFiles)
		if r.Info.Manifest != nil {
			in.marks = append(in.marks, run.MarksOfManifest(r.Info.Manifest, r.Info.Tag, true)...)
		}
		in.outputs[r] = files.Outputs
		in.runs = append(in.runs, r)
	}
}

// mark collects the marks on runs. A run that could not be read at all is unread.
func (in *inputs) mark() {
	for _, r := range in.runs {
		if r.Empty() {
			r.Gaps.Add("none of its files can be read")
			in.unread = append(in.unread, r.Info.Tag)
			in.problems = append(in.problems, fmt.Errorf("%s: %s", r.Info.Tag, strings.Join(r.Gaps.List, "; ")))
		}
		in.marks = append(in.marks, r.Marks()...)
	}
}

// unique numbers the runs with the same tag.
func unique(runs []*run.Run) {
	seen := map[string]int{}
	for _, r := range runs {
		name := r.Info.Tag
		r.Info.Repeat = seen[name]
		if seen[name]++; seen[name] > 1 {
			r.Info.Tag = fmt.Sprintf("%s #%d", name, seen[name])
		}
	}
}
