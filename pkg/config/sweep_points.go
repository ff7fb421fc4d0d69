package config

import (
	"cmp"
	"fmt"
	"reflect"
	"strconv"

	"github.com/coreos/dbtester/pkg/workload"
	"github.com/coreos/dbtester/pkg/yamlfile"
)

// points returns the databases in a file, expanded by a sweep: each database once, for its part in
// a sweep over steps, or once for each point. At each point all databases run one after another, so
// they are compared under the same conditions.
func (r *reader) points(f *fileSpec) []*written[databaseSpec] {
	s := &f.sweep.Is
	switch s.key() {
	case "":
		return f.databases
	case workload.SweepRate, workload.SweepClients:
		for _, d := range f.databases {
			d.Is.swept = sweptPart(f.sweep, workload.Swept{Key: s.key(), Of: tagOf(d)})
		}
		return f.databases
	}
	f.origins = map[string]string{}
	for _, d := range f.databases {
		r.onePoint(f, d)
	}
	var all []*written[databaseSpec]
	for _, p := range s.preload {
		for _, d := range f.databases {
			all = append(all, r.point(f, d, yamlfile.Given[int64]{Is: p.Is.size(), Key: "preload", At: p.At}, p.Is.text, func(w *written[databaseSpec]) {
				r.preloaded(w, p)
			}))
		}
	}
	for _, p := range s.members {
		for _, d := range f.databases {
			all = append(all, r.point(f, d, yamlfile.Given[int64]{Is: int64(p.Is), Key: "members", At: p.At}, strconv.Itoa(p.Is), func(w *written[databaseSpec]) {
				w.Is.members = p.Is
				w.Give("members", p.Place())
			}))
		}
	}
	return all
}

// noSweep reports a sweep over a load whose rates an ability searches for.
func (r *reader) noSweep(f *fileSpec, w written[fileSpec]) {
	s := f.Search()
	if s == nil || f.sweep.Is.key() == "" {
		return
	}
	what := s.Key // from a command line
	if at := w.NodeOf(s.Key); at != nil {
		what = fmt.Sprintf("%s (line %d)", s.Key, at.Line)
	}
	r.Errorf(f.sweep.Node, "sweep: %s searches for one rate; give one of the two", what)
}

// onePoint reports values for a database that exclude a sweep whose points have fresh clusters.
func (r *reader) onePoint(f *fileSpec, d *written[databaseSpec]) {
	name := string(f.sweep.Is.key())
	line := f.sweep.NodeOf(name).Line
	if p := d.Place("endpoints"); p.Set() {
		r.Errorf(p.At, "endpoints: each point of sweep (line %d) needs a fresh cluster, but these belong to one that is already running", line)
	}
	for _, step := range []string{"start", "stop"} {
		for _, w := range []written[Steps]{d.Is.steps, f.steps} {
			if p := w.Place(step); p.Set() && !map[string]bool{"start": w.Is.Start, "stop": w.Is.Stop}[step] {
				r.Errorf(p.At, "steps: %s: each point of sweep (line %d) needs a fresh cluster; members must be started and stopped", step, line)
			}
		}
	}
	at := f.membersAt
	if name == "preload" {
		at = cmp.Or(d.Is.load.NodeOf("preload"), f.load.NodeOf("preload"))
	} else if d.Has("members") {
		at = d.NodeOf("members")
	}
	if at != nil {
		r.Errorf(at, "%s: sweep (line %d) gives it for each point; give one of the two", name, line)
	}
}

// point returns a database at one point of a sweep; change applies the point.
func (r *reader) point(f *fileSpec, d *written[databaseSpec], v yamlfile.Given[int64], text string, change func(*written[databaseSpec])) *written[databaseSpec] {
	s := databaseSection(r.catalog, nil)
	w := s.Over(s.None(), *d) // with its own places
	w.Node = d.Node
	w.Is.Options = cloned(d.Is.Options)
	name := v.Key + "-" + text
	w.Is.Tag = tagOf(d) + "-" + name
	w.Give("tag", yamlfile.Place{Key: "sweep", At: v.At})
	if w.Is.Label != "" {
		name = w.Is.Label + "-" + name
	}
	w.Is.Label, w.Is.ID = name, d.Is.Name+"__"+name
	f.origins[w.Is.ID] = d.Is.ID
	w.Is.swept = sweptPart(f.sweep, workload.Swept{Key: workload.SweepKey(v.Key), Of: tagOf(d), Value: v.Is, Text: text})
	change(&w)
	return &w
}

// preloaded gives a database the data for a point.
func (r *reader) preloaded(w *written[databaseSpec], p yamlfile.Given[amount]) {
	if p.Is.size() == 0 {
		return
	}
	key := "keys"
	if p.Is.bytes > 0 {
		key = "bytes"
	}
	own := loadSection(r.catalog).None()
	own.Is.preload = preloadSection().None()
	own.Is.preload.Is, own.Is.preload.Node = p.Is.preloadSpec, p.At
	own.Is.preload.Give(key, p.Place())
	own.Give("preload", p.Place())
	w.Is.load = loadSection(r.catalog).Over(own, w.Is.load)
}

// tagOf returns the tag without a point.
func tagOf(d *written[databaseSpec]) string {
	if d.Has("tag") {
		return d.Is.Tag
	}
	return makeTag(d.Is.Name, d.Is.Label, d.Is.Version)
}

// sweptPart returns a part in a sweep, with the sweep's place.
func sweptPart(sweep written[sweepSpec], is workload.Swept) written[workload.Swept] {
	w := sweptSection().None()
	w.Is, w.Node = is, sweep.Node
	return w
}

// cloned returns a copy of driver options, which are a pointer to a struct or nil.
func cloned(options any) any {
	v := reflect.ValueOf(options)
	if v.Kind() != reflect.Pointer || v.IsNil() {
		return options
	}
	c := reflect.New(v.Type().Elem())
	c.Elem().Set(v.Elem())
	return c.Interface()
}
