package analyze

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/results"
)

// account says how a run, or a database in it, was carried out.
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

// accounts are those of every run and of the databases in it, from the manifests.
func (d *document) accounts() (out []account) {
	var told *results.Manifest
	for _, c := range d.columns {
		if c.manifest == nil {
			continue
		}
		if c.manifest != told {
			out = append(out, accountOfRun(c.manifest))
			told = c.manifest
		}
		out = append(out, c.account())
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
	a.add("client", "%s", hostText(m.Client))
	a.add("self-check", "%s", selfCheckFact(m))
	if m.Local {
		a.add("agents", "inside the client's process")
	}
	return a
}

// account says what ran as this column, where, and with which load.
func (c *column) account() account {
	a := account{Of: c.tag}
	name := strings.TrimSpace(c.run.Database + " " + list(c.versions()))
	if built := list(c.releases()); built != "" {
		name += " (" + built + ")"
	}
	a.add("database", "%s", name)
	var hosts remarks
	for _, m := range c.run.Members {
		where := "host not known"
		if m.Host != nil {
			where = hostText(*m.Host)
		}
		hosts.add(fmt.Sprintf("%d at %s", m.Index+1, m.Addr), where)
		if r := m.Release; r != nil {
			source := r.Source
			if r.Kind == "local" {
				source = filepath.Base(source)
			}
			a.add("release", "%s", strings.Join(slices.DeleteFunc([]string{r.Kind, r.Name, r.Version, source, strings.Join(r.Notes, "; ")}, func(s string) bool { return s == "" }), ", "))
		}
	}
	a.Facts = distinctFacts(a.Facts)
	a.add("members", "%s", strings.Join(hosts.lines(), "; "))
	a.add("load", "%s", c.loadText())
	a.add("steps", "%s", c.stepsText())
	var options []string
	all := c.options()
	for _, name := range optionNames([]*column{c}) {
		options = append(options, name+"="+all[name])
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

// loadText is the load in one sentence.
func (c *column) loadText() string {
	l := c.run.Load
	var parts []string
	if l.Workload != "" {
		parts = append(parts, l.Workload)
	}
	parts = append(parts, operation(c).Text)
	if l.Keys > 0 {
		parts = append(parts, fmt.Sprintf("%s keys before the load (%s)", keysBefore(c).Text, l.KeyLaw))
	}
	parts = append(parts, configured(c), rate(c).Text, "key + value "+payload(c).Text+" bytes")
	if l.RangeLimit > 0 {
		parts = append(parts, fmt.Sprintf("ranges of at most %d keys", l.RangeLimit))
	}
	if l.Timeout > 0 {
		parts = append(parts, "time-out "+l.Timeout.String())
	}
	if l.Target != "" {
		parts = append(parts, "connections to "+l.Target)
	}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ", ")
}

// stepsText lists the steps with what they were asked for and how long they took.
func (c *column) stepsText() string {
	var parts []string
	for _, s := range c.run.Steps {
		text := fmt.Sprintf("%d client%s on %d connection%s", s.Clients, plural(s.Clients), s.Connections, plural(s.Connections))
		if s.Rate > 0 {
			text += ", " + rateText(s.Rate, s.RateEnd)
		}
		if !s.Start.IsZero() && !s.End.IsZero() {
			text += fmt.Sprintf(", took %s", s.End.Sub(s.Start).Round(time.Millisecond))
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "; ")
}

func hostText(h results.Host) string {
	memory := ""
	if h.MemoryBytes > 0 {
		memory = humanSize(float64(h.MemoryBytes))
	}
	cpus := ""
	if h.CPUs > 0 {
		cpus = strings.TrimSpace(cpusText(h) + " " + h.CPUModel)
	}
	parts := []string{h.Name, cpus, memory, strings.TrimSpace(h.OS + " " + h.Kernel)}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ", ")
}

// cpusText is how many processors a machine has, and how many of them could be used
// if that is less.
func cpusText(h results.Host) string {
	allowed := h.AllowedCPUs()
	if all := max(h.OnlineCPUs, h.CPUs); allowed < float64(all) {
		return fmt.Sprintf("%g of %d CPU%s", allowed, all, plural(all))
	}
	return fmt.Sprintf("%d CPU%s", h.CPUs, plural(h.CPUs))
}

// commands are what makes the runs and the report again. Files are named without
// their folders: those of another machine help nobody.
func (d *document) commands() (lines []string) {
	folders := 0
	var told *results.Manifest
	for _, c := range d.columns {
		if c.manifest == nil || c.manifest == told {
			continue
		}
		told = c.manifest
		if !c.classic {
			folders++
		}
		command := commandOf(c.manifest)
		if c.manifest.SelfCheck != nil {
			lines = append(lines, "dbtester selfcheck --json selfcheck.json")
			command = strings.Replace(command, " --config ", " --selfcheck selfcheck.json --config ", 1)
		}
		lines = append(lines, command)
	}
	switch {
	case folders > 0:
		lines = append(lines, "dbtester analyze"+strings.Repeat(" RESULT-FOLDER", folders))
	case d.experiment != nil && d.experiment.Path != "":
		lines = append(lines, "dbtester analyze --config "+filepath.Base(d.experiment.Path))
	}
	return distinct(lines)
}

func commandOf(m *results.Manifest) string {
	var e config.Experiment
	// A manifest without a readable configuration still names its run.
	_ = json.Unmarshal(m.Config, &e)
	switch {
	case e.Path != "" && m.Local:
		return "dbtester control --local --config " + filepath.Base(e.Path)
	case e.Path != "":
		return "dbtester control --config " + filepath.Base(e.Path)
	case m.Local:
		return "dbtester quickstart"
	}
	return "dbtester control --config FILE"
}
