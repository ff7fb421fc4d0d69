package analyze

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/analyze/table"
	"github.com/coreos/dbtester/pkg/results"
)

// account lists facts about a run, or about a database in it.
type account struct {
	Of    string
	Facts []fact
}

type fact struct{ Name, Text string }

func (a *account) add(name, format string, args ...any) {
	if text := fmt.Sprintf(format, args...); text != "" {
		a.Facts = append(a.Facts, fact{name, text})
	}
}

// accounts returns an account for every run and its databases, from the manifests.
func (d *document) accounts() (out []account) {
	var told *results.Manifest
	for _, r := range d.runs {
		if r.Info.Manifest == nil {
			continue
		}
		if r.Info.Manifest != told {
			out = append(out, accountOfRun(r.Info.Manifest))
			told = r.Info.Manifest
		}
		out = append(out, accountOf(r))
	}
	return out
}

func accountOfRun(m *results.Manifest) account {
	a := account{Of: "Run of " + m.Started.UTC().Format("2006-01-02 15:04:05 UTC")}
	tool := strings.TrimSpace("dbtester " + m.Tool.Version + " " + m.Tool.Commit)
	a.add("tool", "%s, %s", tool, m.Tool.Go)
	trial := ""
	if m.Trials > 1 {
		trial = fmt.Sprintf(", trial %d of %d", m.Trial, m.Trials)
	}
	a.add("run", "%s, seed %d%s", m.RunID, m.Seed, trial)
	a.add("client", "%s", table.MachineText(m.Client))
	a.add("self-check", "%s", table.SelfCheckFact(m))
	if m.Local {
		a.add("agents", "inside the client's process")
	}
	return a
}

// accountOf describes the database, machines and load in a run.
func accountOf(c *run.Run) account {
	a := account{Of: c.Info.Name()}
	name := strings.TrimSpace(c.Info.Record.Database + " " + table.JoinDistinct(c.Info.Versions()))
	if built := table.JoinDistinct(c.Info.Releases()); built != "" {
		name += " (" + built + ")"
	}
	a.add("database", "%s", name)
	var hosts run.PerTag
	for _, m := range c.Info.Record.Members {
		where := "host not known"
		if m.Host != nil {
			where = table.MachineText(*m.Host)
		}
		hosts.Add(fmt.Sprintf("%d at %s", m.Index+1, m.Addr), where)
		if r := m.Release; r != nil {
			source := r.Source
			if r.Kind == "local" {
				source = filepath.Base(source)
			}
			a.add("release", "%s", strings.Join(slices.DeleteFunc([]string{r.Kind, r.Name, r.Version, source, strings.Join(r.Notes, "; ")}, func(s string) bool { return s == "" }), ", "))
		}
	}
	for _, m := range c.Info.Record.Members {
		for _, e := range m.Environment {
			a.add("environment", "%s", e)
		}
	}
	a.Facts = distinctFacts(a.Facts)
	a.add("members", "%s", strings.Join(hosts.Lines(), "; "))
	a.add("load", "%s", table.LoadText(c))
	a.add("steps", "%s", table.StepsText(c))
	var options []string
	all := c.Info.Options()
	for _, name := range run.OptionNames([]*run.Run{c}) {
		options = append(options, name+"="+all[name])
	}
	if text := c.Info.Settings(); text != "" {
		a.add("settings that differ from the release's defaults", "%s", text)
	}
	a.add("options", "%s", strings.Join(options, " "))
	return a
}

func distinctFacts(facts []fact) (out []fact) {
	for _, f := range facts {
		if !slices.Contains(out, f) {
			out = append(out, f)
		}
	}
	return out
}
