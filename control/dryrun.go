package control

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/dustin/go-humanize/english"

	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/database"
)

// dryRunDir stands for the directory that an agent gives its member.
const dryRunDir = "$WORK_DIR"

// DryRun writes what a run would do: each host's files, commands, ports and
// directories, the steps, the requests and the least disk use. It asks nobody and
// touches nothing; what only agents know stands as a variable. The error joins what
// is wrong with each database; the others are written all the same.
func DryRun(w io.Writer, o Options, known Agents) error {
	e := o.Experiment
	fmt.Fprintf(w, "%s\nresults in %s/, %s, seed %d\n", e.Title, e.Results, count(max(e.Trials, 1), "trial"), e.Seed)
	if known.WorkDir != "" {
		fmt.Fprintf(w, "%s below %s\n", dryRunDir, known.WorkDir)
	}
	dryRunUpload(w, o)
	var errs []error
	for i := range e.Databases {
		if err := dryRunDatabase(w, o, known, &e.Databases[i]); err != nil {
			errs = append(errs, named(e.Databases[i].ID, err))
		}
	}
	return errors.Join(errs...)
}

// dryRunUpload says what becomes of an upload, if one is asked for. Whether it can
// be is for [CheckUpload] to say.
func dryRunUpload(w io.Writer, o Options) {
	switch text := leftOut(o); {
	case text != "":
		fmt.Fprintln(w, text)
	case wantsUpload(o.Experiment):
		fmt.Fprintf(w, "upload to %s\n", o.Experiment.Upload.URL)
	}
}

func dryRunDatabase(w io.Writer, o Options, known Agents, db *config.Database) error {
	c, err := (&trialRun{Options: o}).newConductor(db)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "\n%s (%s)\n", db.Tag, db.ID)
	var names []string
	for _, s := range c.steps() {
		if !s.skip {
			names = append(names, s.name)
		}
	}
	fmt.Fprintf(w, "  steps: %s\n", strings.Join(names, ", "))
	c.dryRunLoad(w)
	if len(db.Endpoints) > 0 {
		fmt.Fprintf(w, "  the cluster is running already\n")
		return nil
	}
	refused := known.refuses(db)
	if !db.Steps.Start {
		fmt.Fprintf(w, "  the cluster is running already, started by the same agents\n")
		return refused
	}
	return errors.Join(refused, c.dryRunMembers(w, known))
}

// dryRunMembers writes what each agent would do.
func (c *conductor) dryRunMembers(w io.Writer, known Agents) error {
	db := c.db
	all := hosts(c.entry, db)
	for i := range all {
		member := database.Member{Index: i, Hosts: all, Dir: dryRunDir, Tools: known.tools(c.Experiment, c.entry, db)}
		if t := db.TLS; t != nil {
			member.TLS = &database.TLS{CA: t.CA, Cert: t.Cert, Key: t.Key}
		}
		plan, err := c.driver.Plan(member)
		if err != nil {
			return err
		}
		if err := checkTarget(db, plan); err != nil {
			return err
		}
		dryRunPlan(w, db.Hosts[i].Agent(), i, plan)
	}
	return nil
}

func (c *conductor) dryRunLoad(w io.Writer) {
	l := c.db.Load
	var requests int64
	var duration time.Duration
	for _, s := range c.plannedSteps() {
		n := s.Requests
		rate := s.Rate
		if s.RateEnd > 0 {
			rate = (s.Rate + s.RateEnd) / 2 // it changes evenly
		}
		if byRate := int64(rate * s.Duration.Seconds()); s.Rate > 0 && s.Duration > 0 && (n == 0 || byRate < n) {
			n = byRate
		}
		requests += n
		duration += s.Duration
		fmt.Fprintf(w, "  load: %s, %s on %s%s\n", l.Does(), count(s.Clients, "client"), count(s.connections, "connection"), extent(n, s.Duration, s.Rate, s.RateEnd))
	}
	if l.Operation == string(database.OpWrite) && !l.SameKey && requests > 0 {
		bytes := uint64(requests) * uint64(l.KeySize+l.ValueSize)
		fmt.Fprintf(w, "  disk: at least %s of keys and values on each member\n", humanize.IBytes(bytes))
	}
}

// count is a number of things.
func count(n int, thing string) string { return english.Plural(n, thing, "") }

// extent says how far a step goes.
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
