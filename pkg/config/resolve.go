package config

import (
	"cmp"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// resolve fills in every default and checks what the values of a file mean
// together.
func (r *reader) resolve(f *fileSpec) *Experiment {
	e := &Experiment{
		Classic:     r.classic,
		Title:       f.title.or(strings.TrimSuffix(filepath.Base(r.file), filepath.Ext(r.file))),
		Description: f.description.is,
		Seed:        cmp.Or(f.seed.is, DefaultSeed),
		Trials:      f.trials.or(DefaultTrials),
		Settle:      f.settle.or(DefaultSettle),
		Results:     f.results.or(DefaultResults),
		Steps:       f.steps.over(DefaultSteps()),
		Plots:       f.plots.or(DefaultPlots()),
		Profile:     profileOf(f.profile),
		Export:      f.export.is,
		Inputs:      f.inputs.is,
		Report:      f.report.is,
	}
	if e.Trials < 1 {
		r.errorf(f.trials.at, "trials: an experiment runs at least once")
	}
	if strings.TrimSpace(e.Title) == "" && f.title.set() {
		r.errorf(f.title.at, "title: is empty")
	}
	if e.Results == "" {
		r.errorf(f.results.at, "results: is empty")
	}
	for _, d := range f.databases.is {
		e.Databases = append(e.Databases, r.database(f, d, e.Steps))
	}
	if len(f.databases.is) == 0 && len(r.problems) == 0 {
		r.errorf(cmp.Or(f.databases.at, f.root), "no database: name at least one under databases")
	}
	r.distinctTags(f, e)
	e.Upload = r.bucket(f, e)
	return e
}

// database resolves one database of a file.
func (r *reader) database(f *fileSpec, spec *databaseSpec, steps Steps) Database {
	name, label, _ := strings.Cut(spec.id, "__")
	d := Database{
		ID:          spec.id,
		Name:        name,
		Label:       label,
		Tag:         spec.tag.or(makeTag(name, label, spec.version.is)),
		Description: spec.description.is,
		Version:     spec.version.is,
		Install:     spec.install.is,
		Binary:      spec.binary.is,
		Endpoints:   spec.endpoints.is,
		Options:     spec.options,
	}
	if why := validTag(d.Tag); why != "" {
		r.errorf(cmp.Or(spec.tag.at, spec.version.at, spec.at), "tag %q: %s", d.Tag, why)
	}
	if d.Install && d.Binary != "" {
		r.errorf(spec.binary.at, "binary: install (line %d) obtains the release; give one of the two", spec.install.at.Line)
	}
	d.Hosts = r.members(f, spec)
	d.TLS = r.tlsOf(f, spec)
	d.Auth = r.authOf(f, spec)
	d.Steps = r.databaseSteps(spec, steps)
	l := loadResolver{reader: r, db: spec, spec: spec.load.over(f.load)}
	d.Load = l.resolve(d)
	var err error
	if d.OptionsYAML, err = encodeOptions(spec.options); err != nil {
		r.errorf(spec.at, "%v", err)
	}
	return d
}

// databaseSteps are the steps for one database. One that already runs is neither
// started nor stopped.
func (r *reader) databaseSteps(spec *databaseSpec, steps Steps) Steps {
	if len(spec.endpoints.is) > 0 {
		steps.Start, steps.Stop = false, false
	}
	steps = spec.steps.over(steps)
	if len(spec.endpoints.is) > 0 && (steps.Start || steps.Stop) {
		at := spec.steps.stop.at
		if steps.Start {
			at = spec.steps.start.at
		}
		r.errorf(at, "%s: endpoints (line %d) are of a cluster that already runs; it is not started or stopped",
			spec.id, spec.endpoints.at.Line)
	}
	return steps
}

// distinctTags reports databases that would write into one folder.
func (r *reader) distinctTags(f *fileSpec, e *Experiment) {
	for i, d := range e.Databases {
		first := slices.IndexFunc(e.Databases, func(other Database) bool { return other.Tag == d.Tag })
		if first < i {
			spec := f.databases.is[i]
			r.errorf(cmp.Or(spec.tag.at, spec.at), "%s: its tag %q is that of %s too; tags must differ (give a version, a label or a tag)",
				d.ID, d.Tag, e.Databases[first].ID)
		}
	}
}

// bucket resolves where result folders are uploaded to.
func (r *reader) bucket(f *fileSpec, e *Experiment) *Upload {
	wanted := e.Steps.Upload || slices.ContainsFunc(e.Databases, func(d Database) bool { return d.Steps.Upload })
	u := f.upload
	if u.at == nil {
		if wanted {
			r.errorf(r.uploadStep(f), "upload is asked for, but not where to: give %s", f.uploadKey)
		}
		return nil
	}
	if !u.url.set() {
		r.errorf(u.at, "upload: url is missing")
		return nil
	}
	parsed, err := url.Parse(u.url.is)
	if err != nil || !slices.Contains([]string{"gs", "s3", "file"}, parsed.Scheme) || parsed.Host+parsed.Path == "" {
		r.errorf(u.url.at, "%s: want gs://bucket/folder, s3://bucket/folder or file:///folder, got %s", u.url.key, describe(u.url.at))
		return nil
	}
	if wanted {
		r.keyFile(u)
	}
	return &Upload{URL: u.url.is, KeyFile: u.keyFile.is, Project: u.project.is}
}

// uploadStep is where the file first asks for an upload.
func (r *reader) uploadStep(f *fileSpec) *yaml.Node {
	if f.steps.upload.is {
		return f.steps.upload.at
	}
	for _, d := range f.databases.is {
		if d.steps.upload.is {
			return d.steps.upload.at
		}
	}
	return f.root
}
