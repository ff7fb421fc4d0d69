package config

import (
	"reflect"

	"github.com/coreos/dbtester/pkg/config/classic"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/workload"
	"github.com/coreos/dbtester/pkg/yamlfile"
)

// classic reads a file in the classic schema into compact keys.
func (r *reader) classic(root *yamlfile.Node) written[fileSpec] {
	c := classic.Read(r.Reader, root, func(_ *yamlfile.Reader, id *yamlfile.Node) (classic.Known, bool) {
		entry, ok := r.catalog.entry(r.Reader, id)
		known := classic.Known{Reads: yamlfile.Words(entry.Info.Reads)}
		if ok {
			known.Options, _ = optionsThen(entry)
		}
		return known, ok
	})
	s := fileSection(r.catalog)
	f := s.None()
	f.Is.root, f.Is.at, f.Is.uploadKey = root, c.At, classic.BucketKey
	yamlfile.Take(r.Reader, "", &f, "title", &f.Is.Title, c.Title)
	yamlfile.Take(r.Reader, "", &f, "description", &f.Is.Description, c.Description)
	for _, d := range c.Databases {
		f.Is.databases = append(f.Is.databases, r.classicDatabase(d))
	}
	f.Is.steps = anySteps(f.Is.databases)
	f.Is.upload = r.classicUpload(c.Upload)
	f.Is.Export = c.Export
	f.Is.Inputs = classicInputs(c)
	f.Is.Report = classicReport(c.Report)
	if c.Plots.Set() {
		f.Is.Plots = r.classicPlots(c.Plots.Is)
		f.Give("plots", c.Plots.Place())
	}
	return f
}

func (r *reader) classicDatabase(c *classic.Database) *written[databaseSpec] {
	entry, _ := r.catalog.entry(r.Reader, c.At) // known: the classic reader looked it up
	d := newDatabase(c.At, entry)
	path := "databases." + c.ID
	d.Is.Options = c.Options
	if then, change := optionsThen(entry); change != "" && reflect.DeepEqual(c.Options, then) {
		r.Warnf(c.At, "%s: %s; this entry may have a section %s that gives another", c.ID, change, c.ID)
	}
	yamlfile.Take(r.Reader, path, d, "tag", &d.Is.Tag, c.Tag)
	yamlfile.Take(r.Reader, path, d, "version", &d.Is.Version, c.Version)
	yamlfile.Take(r.Reader, path, d, "description", &d.Is.Description, c.Description)
	if c.Hosts.Set() {
		for _, h := range c.Hosts.Is {
			d.Is.hosts = append(d.Is.hosts, classicHost(h))
		}
		d.Give("hosts", c.Hosts.Place())
	}
	d.Is.load = r.classicLoad(path+".load", c.Load)
	steps := stepsSection().None()
	yamlfile.Take(r.Reader, path+".steps", &steps, "start", &steps.Is.Start, c.Steps.Start)
	yamlfile.Take(r.Reader, path+".steps", &steps, "load", &steps.Is.Load, c.Steps.Load)
	yamlfile.Take(r.Reader, path+".steps", &steps, "stop", &steps.Is.Stop, c.Steps.Stop)
	yamlfile.Take(r.Reader, path+".steps", &steps, "upload", &steps.Is.Upload, c.Steps.Upload)
	d.Is.steps = steps
	return d
}

// optionsThen returns a new driver with the settings that the classic tool used, and describes
// their differences from the present defaults; "" if they are the same.
func optionsThen(entry database.Database) (options any, change string) {
	driver := entry.New()
	if c, ok := driver.(database.Classic); ok {
		change = c.SetClassic()
	}
	return driver, change
}

func classicHost(c classic.Host) written[hostSpec] {
	h := hostSection().None()
	h.Node, h.Is.Addr = c.At, c.Addr
	if c.AgentPort.Set() {
		h.Is.AgentPort = c.AgentPort.Is
		h.Give("agent_port", c.AgentPort.Place())
	}
	if c.DatabasePort.Set() {
		h.Is.ports = []yamlfile.Given[int]{{Is: c.DatabasePort.Is, Key: "client", At: c.DatabasePort.At}}
	}
	return h
}

func (r *reader) classicLoad(path string, c classic.Load) written[loadSpec] {
	l := loadSection(r.catalog).None()
	yamlfile.Take(r.Reader, path, &l, "operation", &l.Is.Operation, typed[workload.Op](c.Operation))
	yamlfile.Take(r.Reader, path, &l, "requests", &l.Is.Requests, c.Requests)
	yamlfile.Take(r.Reader, path, &l, "clients", &l.Is.Clients, c.Clients)
	yamlfile.Take(r.Reader, path, &l, "connections", &l.Is.Connections, c.Connections)
	yamlfile.Take(r.Reader, path, &l, "rate", &l.Is.Rate, c.Rate)
	yamlfile.Take(r.Reader, path, &l, "same_key", &l.Is.SameKey, c.SameKey)
	yamlfile.Take(r.Reader, path, &l, "key_size", &l.Is.KeySize, c.KeySize)
	yamlfile.Take(r.Reader, path, &l, "value_size", &l.Is.ValueSize, c.ValueSize)
	yamlfile.Take(r.Reader, path, &l, "read", &l.Is.Read, typed[workload.ReadMode](c.Read))
	if !c.ClientSteps.Set() {
		return l
	}
	for _, clients := range c.ClientSteps.Is {
		step := stepSection().None()
		step.Node = clients.At
		yamlfile.Take(r.Reader, path, &step, "clients", &step.Is.Clients, clients)
		yamlfile.Take(r.Reader, path, &step, "connections", &step.Is.Connections, clients)
		l.Is.steps = append(l.Is.steps, step)
	}
	l.Give("steps", c.ClientSteps.Place())
	r.Record(path+".steps", c.ClientSteps.At)
	return l
}

// typed converts a given word to the type of a closed set.
func typed[T ~string](g yamlfile.Given[string]) yamlfile.Given[T] {
	return yamlfile.Given[T]{Is: T(g.Is), Key: g.Key, At: g.At}
}

// anySteps returns the steps that any database has, each at its first place.
func anySteps(list []*written[databaseSpec]) written[Steps] {
	s := stepsSection()
	all := s.None()
	for _, f := range s.Fields {
		for _, d := range list {
			own := d.Is.steps
			if !own.Has(f.Name) || f.Node(&all.Is).Value == "true" {
				continue
			}
			f.Copy(&all.Is, &own.Is)
			all.Give(f.Name, own.Place(f.Name))
		}
	}
	return all
}

func (r *reader) classicUpload(c classic.Upload) written[Upload] {
	u := uploadSection().None()
	if !c.URL.Set() {
		return u
	}
	u.Node = c.URL.At
	yamlfile.Take(r.Reader, "upload", &u, "url", &u.Is.URL, c.URL)
	yamlfile.Take(r.Reader, "upload", &u, "key_file", &u.Is.KeyFile, c.KeyFile)
	u.Is.Project = c.Project
	return u
}

// classicInputs returns the files that analyze reads, by tag.
func classicInputs(c *classic.File) map[string]Inputs {
	if c.Inputs == nil {
		return nil
	}
	all := map[string]Inputs{}
	for _, d := range c.Databases {
		if in, ok := c.Inputs[d.ID]; ok {
			all[d.Tag.Is] = Inputs{Files: in.Files, Servers: in.Servers, Outputs: in.Outputs}
		}
	}
	return all
}

func classicReport(c classic.Report) Report {
	r := Report{TableCSV: c.TableCSV, TableTXT: c.TableTXT, PlotDir: c.PlotDir, README: c.README}
	for _, i := range c.Images {
		r.Images = append(r.Images, Image{Title: i.Title, Path: i.Path, Type: i.Kind})
	}
	return r
}

func (r *reader) classicPlots(list []classic.Plot) []Plot {
	plots := []Plot{}
	for _, c := range list {
		p := checkColumn(r.Reader, Plot{Column: c.Column.Is, XAxis: c.X.Or("Second")}, c.Column.At)
		p.YAxis = c.Y.Or(yAxis(p.Column))
		plots = append(plots, p)
	}
	return plots
}
