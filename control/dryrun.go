package control

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/dustin/go-humanize/english"

	"github.com/coreos/dbtester/control/abilities"
	"github.com/coreos/dbtester/control/before/forecast"
	"github.com/coreos/dbtester/control/shared"
	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/install"
	"github.com/coreos/dbtester/pkg/member/toolbox"
	"github.com/coreos/dbtester/pkg/workload"
)

// dryRunDir replaces the directory that an agent gives its member.
const dryRunDir = "$WORK_DIR"

// DryRun writes the plan for a run: files, commands, ports and directories on each host, the steps,
// the requests and the least disk use. It sends nothing and changes nothing. Paths known only to
// agents are written as variables. If a database is refused, DryRun still writes the others. The
// error joins all refusals.
func DryRun(w io.Writer, o Options, known Agents) error {
	e := o.Experiment
	fmt.Fprintf(w, "%s\nresults in %s/, %s, seed %d\n", e.Title, e.Results, english.Plural(max(e.Trials, 1), "trial", ""), e.Seed)
	if known.WorkDir != "" {
		fmt.Fprintf(w, "%s below %s\n", dryRunDir, known.WorkDir)
	}
	if text := sweepText(e); text != "" {
		fmt.Fprintln(w, text)
	}
	dryRunUpload(w, o)
	errs := []error{shared.CheckSpeed(e, o.FullSpeed), dryRunGenerators(w, o, known)}
	var forecasts []forecast.Forecast
	for i := range e.Databases {
		db := &e.Databases[i]
		f := forecast.Of(e, db, known.Machine)
		forecasts = append(forecasts, f)
		if err := dryRunDatabase(w, o, known, db, f); err != nil {
			errs = append(errs, named(db.ID, err))
		}
	}
	fmt.Fprintf(w, "\nexpected duration in total: %s, without starts and stops\n", forecast.Total(e, forecasts))
	return errors.Join(errs...)
}

// sweepText describes the sweep in e by its points and its number of runs; "" without a sweep.
func sweepText(e *config.Experiment) string {
	var key workload.SweepKey
	var points []string
	down := ""
	for _, d := range e.Databases {
		if d.Swept == nil {
			continue
		}
		key = d.Swept.Key
		if !key.Stepped() {
			points = append(points, d.Swept.Text)
			continue
		}
		for _, s := range d.Load.Steps {
			switch {
			case s.Down:
				down = " and down again"
			case key == workload.SweepRate:
				points = append(points, fmt.Sprintf("%v", s.Rate))
			default:
				points = append(points, fmt.Sprint(s.Clients))
			}
		}
		break // all have the same steps
	}
	if key == "" {
		return ""
	}
	return fmt.Sprintf("sweep over %s: %s%s, %s in all", key, strings.Join(slices.Compact(points), ", "), down,
		english.Plural(len(e.Databases)*max(e.Trials, 1), "run", ""))
}

// dryRunUpload writes whether a run would carry out the requested upload. [CheckUpload] finds out
// whether it can.
func dryRunUpload(w io.Writer, o Options) {
	switch text := leftOut(o); {
	case text != "":
		fmt.Fprintln(w, text)
	case wantsUpload(o.Experiment):
		fmt.Fprintf(w, "upload to %s\n", o.Experiment.Upload.URL)
	}
}

func dryRunDatabase(w io.Writer, o Options, known Agents, db *config.Database, f forecast.Forecast) error {
	r, err := newRun(o.Experiment, o.Registry, db, &journal{})
	if err != nil {
		return err
	}
	r.target.Prefix = prefixOf(db, r.driver, "RUN")
	fmt.Fprintf(w, "\n%s (%s)\n", db.Tag, db.ID)
	var names []string
	steps := newParts(o, r, nil).steps()
	for _, s := range steps {
		if !s.skip {
			names = append(names, s.name)
		}
	}
	for _, s := range slices.Backward(steps) {
		if !s.skip && s.ending != "" {
			names = append(names, s.ending)
		}
	}
	fmt.Fprintf(w, "  steps: %s\n", strings.Join(names, ", "))
	if db.UseVersion != "" {
		fmt.Fprintf(w, "  release: %s, instead of the file's release\n", db.UseVersion)
	}
	for _, note := range newExports(r).notes {
		fmt.Fprintf(w, "  %s\n", note)
	}
	if r.sender() == nil {
		dryRunLoad(w, db.Load)
	}
	for _, half := range r.halves {
		if d, ok := half.(abilities.Describer); ok {
			for _, line := range d.Describe() {
				fmt.Fprintf(w, "  %s\n", line)
			}
		}
	}
	for _, line := range f.Lines() {
		fmt.Fprintf(w, "  %s\n", line)
	}
	commands := checkCommands(o, db)
	if len(db.Endpoints) > 0 {
		fmt.Fprintf(w, "  the cluster is already running; all keys are below %s/\n", r.target.Prefix)
		return commands
	}
	refused := errors.Join(known.refuses(db), commands)
	if !db.Steps.Start {
		fmt.Fprintf(w, "  the cluster is already running, started by the same agents\n")
		return refused
	}
	return errors.Join(refused, dryRunMembers(w, r, known))
}

// dryRunMembers writes the plan for each agent.
func dryRunMembers(w io.Writer, r *run, known Agents) error {
	db := r.db
	all := hosts(r.entry, db)
	for i := range all {
		member := database.Member{Index: i, Hosts: all, Dir: dryRunDir, Tools: known.tools(r.experiment, r.entry, db)}
		if t := db.TLS; t != nil {
			member.TLS = &database.TLS{CA: t.CA, Cert: t.Cert, Key: t.Key}
		}
		plan, err := r.driver.Plan(member)
		if err != nil {
			return err
		}
		if err := checkPlan(r.experiment, db, plan); err != nil {
			return err
		}
		dryRunPlan(w, db.Hosts[i].Agent(), i, plan)
	}
	return nil
}

// dryRunLoad writes the steps of l.
func dryRunLoad(w io.Writer, l workload.Load) {
	for _, s := range l.Stretches() {
		n := s.Requests
		rate := s.Rate
		if s.RateEnd > 0 {
			rate = (s.Rate + s.RateEnd) / 2 // it changes evenly
		}
		if byRate := int64(rate * s.Duration.Seconds()); s.Rate > 0 && s.Duration > 0 && (n == 0 || byRate < n) {
			n = byRate
		}
		fmt.Fprintf(w, "  load: %s, %s on %s%s\n", l.Describe(), english.Plural(s.Clients, "client", ""), english.Plural(s.Connections, "connection", ""), extent(n, s.Duration, s.Rate, s.RateEnd)+arrivalOf(l, s))
	}
}

// arrivalOf describes the spacing of requests in s, and the rates of waves.
func arrivalOf(l workload.Load, s workload.Step) string {
	if s.Rate == 0 || s.RateEnd > 0 {
		return ""
	}
	low := s.Rate * (2 - l.Peak)
	if l.Burst > 0 {
		share := l.Burst.Seconds() / l.Period.Seconds()
		low = s.Rate * (1 - l.Peak*share) / (1 - share)
	}
	text := l.DescribeArrival()
	if l.Arrival.Waves() {
		text += fmt.Sprintf(" (%s..%s requests/s)", oneDecimal(max(low, 0)), oneDecimal(s.Rate*l.Peak))
	}
	return text
}

// oneDecimal prints a rate rounded to tenths.
func oneDecimal(rate float64) string { return humanize.CommafWithDigits(math.Round(rate*10)/10, 1) }

// extent describes the length and rate of a step.
func extent(requests int64, duration time.Duration, rate, rateEnd float64) string {
	var b strings.Builder
	if requests > 0 {
		fmt.Fprintf(&b, ", %s requests", humanize.Comma(requests))
	}
	if duration > 0 {
		fmt.Fprintf(&b, ", %v", duration)
	}
	switch {
	case rateEnd > 0:
		fmt.Fprintf(&b, ", %v..%v requests/s due", rate, rateEnd)
	case rate > 0:
		fmt.Fprintf(&b, ", %v requests/s due", rate)
	default:
		b.WriteString(", closed loop")
	}
	return b.String()
}

func dryRunPlan(w io.Writer, agent string, i int, p database.Plan) {
	fmt.Fprintf(w, "  member %d by agent %s\n", i+1, agent)
	for _, d := range p.DataDirs {
		fmt.Fprintf(w, "    directory %s/%s\n", dryRunDir, d)
	}
	for _, f := range p.Files {
		content := "(secret)"
		if !f.Secret {
			content = strings.ReplaceAll(strings.TrimRight(f.Content, "\n"), "\n", "\n      ")
		}
		fmt.Fprintf(w, "    file %s/%s\n      %s\n", dryRunDir, f.Path, content)
	}
	for _, cmd := range p.Commands {
		argv := append([]string{cmd.Path}, cmd.Args...)
		if cmd.Self {
			argv = append([]string{"dbtester", "serve"}, cmd.Args...)
		}
		fmt.Fprintf(w, "    run %s\n", strings.Join(argv, " "))
	}
	fmt.Fprintf(w, "    listen on %s\n", strings.Join(p.Listen, ", "))
}

// Agents holds the facts about agents that are known without calls. For agents on other machines,
// only Refuse is known.
type Agents struct {
	// Refuse returns why Connect refuses the agent at an address. It is nil if Connect
	// takes all.
	Refuse func(addr string) error
	// Tools are the executables that the agents were started with, by tool.
	Tools map[string]string
	// Release returns the tools of a cached release, by name, or nil if the release is not cached.
	// It is nil if the cache is not known.
	Release func(name, version string) map[string]string
	// Cached returns the cached versions of a database; nil if the cache is not known.
	Cached func(name string) []string
	// WorkDir is where agents make member directories; "" if not known.
	WorkDir string
	// Machine runs all members of a database whose hosts are loopback addresses; nil if it is not
	// known.
	Machine *forecast.Machine
}

// refuses returns the first refusal among the agents for db: the error that a run returns.
func (a Agents) refuses(db *config.Database) error {
	if a.Refuse == nil {
		return nil
	}
	for _, h := range db.Hosts {
		if err := a.Refuse(h.Agent()); err != nil {
			return fmt.Errorf("agent %s: %w", h.Agent(), err)
		}
	}
	return nil
}

// tools returns the executables for a driver, without this binary. A path not known here begins
// with a variable.
func (a Agents) tools(e *config.Experiment, entry database.Database, db *config.Database) map[string]string {
	want := toolbox.Want{Database: entry, Version: release(e, entry, db), Binary: db.Binary, Install: db.Install}
	choice, err := toolbox.Choose(want, a.Tools, a.find)
	if err != nil {
		choice.Origin = toolbox.Absent // a run will be refused
	}
	if len(entry.Info.Tools) == 0 {
		return choice.Given
	}
	server := entry.Info.Tools[0]
	unknown := map[string]string{}
	switch {
	case choice.Origin == toolbox.Cached:
		return choice.Paths(choice.Release.Files)
	case choice.Origin == toolbox.Absent:
		// A release for the server behind a proxy holds no proxy.
		own := entry.ReleaseTools(choice.Version)
		if own == nil { // a run will be refused
			own = []string{server}
		}
		for _, tool := range own {
			unknown[tool] = fmt.Sprintf("$CACHE/%s/%s/%s", entry.Name, choice.Version, tool)
		}
	case choice.Origin == toolbox.Unversioned && entry.Info.Embedded == "" && a.Release == nil: // each agent may have one
		unknown[server] = "$TOOLS/" + server
	}
	return choice.Paths(unknown)
}

// find returns a release in the cache, or [install.ErrAbsent].
func (a Agents) find(name, version string) (install.Release, error) {
	if a.Release != nil {
		if files := a.Release(name, version); files != nil {
			return install.Release{Name: name, Version: version, Files: files}, nil
		}
	}
	return install.Release{}, install.ErrAbsent
}
