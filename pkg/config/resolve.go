package config

import (
	"cmp"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/coreos/dbtester/pkg/yamlfile"
)

// shortestSample bounds what sampling costs on the machines that are measured.
const shortestSample = 100 * time.Millisecond

// resolve fills in defaults and reports values that contradict one another.
func (r *reader) resolve(name string, isClassic bool, w written[fileSpec]) *Experiment {
	f := fileSection(r.catalog).Filled(w)
	f.hostsAt, f.membersAt = w.NodeOf("hosts"), w.NodeOf("members")
	if !w.Has("defaults") {
		f.defaults = cmp.Or(r.variant.Defaults, f.defaults)
	}
	e := &f.Experiment
	e.Classic, e.places = isClassic, r.Places()
	if e.Seed == 0 {
		fileSection(r.catalog).Field("seed").Fill(&f)
	}
	if !w.Has("title") {
		e.Title = strings.TrimSuffix(filepath.Base(name), filepath.Ext(name))
	}
	if !w.Has("plots") {
		e.Plots = DefaultPlots()
	}
	e.Need = f.resolvedNeed()
	e.Steps = stepsSection().Filled(f.steps)
	r.wholeAbilities(&f)
	if e.Trials < 1 {
		r.Errorf(w.NodeOf("trials"), "trials must be positive, got %d", e.Trials)
	}
	if strings.TrimSpace(e.Title) == "" && w.Has("title") {
		r.Errorf(w.NodeOf("title"), "title must not be empty")
	}
	if e.Sample < shortestSample || e.Sample > time.Second || time.Second%e.Sample != 0 {
		r.Errorf(w.NodeOf("sample"), "sample must be from %v to 1s and a whole part of a second, got %v", shortestSample, e.Sample)
	}
	if e.Results == "" {
		r.Errorf(w.NodeOf("results"), "results must not be empty")
	}
	r.noSweep(&f, w)
	f.databases = r.points(&f)
	for _, d := range f.databases {
		db := databaseResolver{reader: r, file: &f, db: d, spec: &d.Is}
		e.Databases = append(e.Databases, db.resolve(e.Steps))
	}
	if len(f.databases) == 0 && r.Errors() == 0 {
		r.Errorf(cmp.Or(f.at, f.root), "no database: name at least one under databases")
	}
	e.Generators = r.generators(&f, w.NodeOf("generators"))
	e.several = len(e.Databases) > 1
	r.distinctTags(&f)
	e.Upload = r.bucket(&f)
	return e
}

// distinctTags reports databases that would write into the same folder.
func (r *reader) distinctTags(f *fileSpec) {
	for i, d := range f.Databases {
		first := slices.IndexFunc(f.Databases, func(other Database) bool { return other.Tag == d.Tag })
		if first < i {
			spec := f.databases[i]
			r.Errorf(cmp.Or(spec.NodeOf("tag"), spec.Is.id), "%s: its tag %q is also the tag of %s; tags must differ (give a version, a label or a tag)",
				d.ID, d.Tag, f.Databases[first].ID)
		}
	}
}

// bucket resolves where result folders are uploaded.
func (r *reader) bucket(f *fileSpec) *Upload {
	wanted := f.Steps.Upload || slices.ContainsFunc(f.Databases, func(d Database) bool { return d.Steps.Upload })
	u := f.upload
	if !u.Given() {
		if wanted {
			r.Errorf(uploadStep(f), "an upload needs a destination: give %s", f.uploadKey)
		}
		return nil
	}
	at := u.NodeOf("url")
	if at == nil {
		r.Errorf(u.Node, "upload: url is missing")
		return nil
	}
	parsed, err := url.Parse(u.Is.URL)
	if err != nil || !slices.Contains([]string{"gs", "s3", "file"}, parsed.Scheme) || parsed.Host+parsed.Path == "" {
		r.Errorf(at, "%s: want gs://bucket/folder, s3://bucket/folder or file:///folder, got %s", u.Called("url"), yamlfile.Describe(at))
		return nil
	}
	if file := u.Place("key_file"); wanted && file.Set() && parsed.Scheme != "file" { // a folder needs no key
		if _, err := os.Stat(u.Is.KeyFile); errors.Is(err, fs.ErrNotExist) {
			r.Warnf(file.At, "%s: %q does not exist here; the upload will need it", file.Key, u.Is.KeyFile)
		}
	}
	is := u.Is
	return &is
}

// uploadStep returns the first step in the file that requests an upload.
func uploadStep(f *fileSpec) *yamlfile.Node {
	if f.steps.Is.Upload {
		return f.steps.NodeOf("upload")
	}
	for _, d := range f.databases {
		if d.Is.steps.Is.Upload {
			return d.Is.steps.NodeOf("upload")
		}
	}
	return f.root
}
