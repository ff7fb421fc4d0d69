package experiment

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/coreos/dbtester/pkg/sleep"
)

// Trial is an experiment with a judge for its records.
type Trial struct {
	Name  string // a word for the command line
	Title string
	Text  string // the experiment below its title
	// Beside runs while the experiment does, unless it is nil. dir is the run folder.
	Beside func(ctx context.Context, control *os.Process, dir string)
	Judge  func(manifest string) ([]Finding, error)
	// Members and Generators are the hosts on which agents are started for the trial. Without them,
	// control starts agents for its members. Args are more arguments for control.
	Members, Generators, Args []string
}

// Finding compares a number from a run with its bar.
type Finding struct {
	What, Measured, Bar string
	Met                 bool
}

// Found returns a finding with texts.
func Found(what, measured, bar string, met bool) Finding {
	return Finding{what, measured, bar, met}
}

// Exactly returns a finding for a count that must equal want.
func Exactly(what string, got, want int64) Finding {
	return Finding{what, fmt.Sprint(got), fmt.Sprint(want), got == want}
}

// Trials runs trials in folders below dir, those named in only (separated by commas) or all for "". It
// prints a section for each. A bar that is missed is an error, and the others are tried all the same.
func Trials(ctx context.Context, program, dir, only string, trials []Trial, out, progress io.Writer) error {
	chosen, err := choose(trials, only)
	if err != nil {
		return err
	}
	var errs []error
	for _, t := range chosen {
		began := time.Now()
		list, err := t.run(ctx, program, filepath.Join(dir, t.Name))
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", t.Name, err))
			fmt.Fprintf(out, "\n## %s\n\nFailed: %s\n", t.Title, strings.ReplaceAll(err.Error(), "\n", " "))
		} else {
			t.report(out, list)
		}
		fmt.Fprintf(progress, "%s: %.0f s, %+v, %v\n", t.Name, time.Since(began).Seconds(), list, err)
		for _, f := range list {
			if !f.Met {
				errs = append(errs, fmt.Errorf("%s: %s: %s, the bar is %s", t.Name, f.What, f.Measured, f.Bar))
			}
		}
		if ctx.Err() != nil {
			break
		}
	}
	return errors.Join(errs...)
}

// choose returns the trials with some names, separated by commas, or all for "".
func choose(trials []Trial, only string) (chosen []Trial, err error) {
	if only == "" {
		return trials, nil
	}
	names := strings.Split(only, ",")
	for _, t := range trials {
		if at := slices.Index(names, t.Name); at >= 0 {
			chosen, names = append(chosen, t), slices.Delete(names, at, at+1)
		}
	}
	if len(names) > 0 {
		return nil, fmt.Errorf("there is no trial %q", names[0])
	}
	return chosen, nil
}

// run makes a run and judges its records.
func (t Trial) run(ctx context.Context, program, dir string) (list []Finding, err error) {
	defer os.RemoveAll(dir)
	control := Control{Program: program, Dir: dir, Text: "title: " + t.Name + "\n" + t.Text, Agents: len(t.Members) > 0, Args: t.Args}
	if t.Beside != nil {
		control.Beside = func(ctx context.Context, control *os.Process) { t.Beside(ctx, control, dir) }
	}
	var agents Agents
	defer func() { err = errors.Join(err, agents.Stop()) }()
	if err := errors.Join(agents.Start(program, dir, t.Members), agents.Start(program, dir, t.Generators, "--allow-load")); err != nil {
		return nil, err
	}
	manifest, err := control.Run(ctx, "manifest.json")
	if err != nil {
		return nil, err
	}
	return t.Judge(manifest)
}

// report prints a table.
func (t Trial) report(out io.Writer, list []Finding) {
	fmt.Fprintf(out, "\n## %s\n\n| | measured | bar | |\n|---|---|---|---|\n", t.Title)
	for _, f := range list {
		word := "met"
		if !f.Met {
			word = "**missed**"
		}
		fmt.Fprintf(out, "| %s | %s | %s | %s |\n", f.What, f.Measured, f.Bar, word)
	}
}

// Counter is a series from an etcd member, with the last value seen.
type Counter struct {
	Series string
	N      int64
}

// Poll queries a member while it runs and until ctx ends, often enough to see counts from just before
// the member stops.
func (c *Counter) Poll(ctx context.Context, host string) {
	const each = 20 * time.Millisecond
	defer http.DefaultClient.CloseIdleConnections()
	for ; ctx.Err() == nil; sleep.For(ctx, each) {
		if n, err := c.ask(ctx, "http://"+host+":2379/metrics"); err == nil { // else it does not run
			c.N = n
		}
	}
}

// ask queries a member once.
func (c *Counter) ask(ctx context.Context, url string) (int64, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	return c.parse(resp.Body)
}

// parse reads the series in the Prometheus text format.
func (c *Counter) parse(text io.Reader) (int64, error) {
	for lines := bufio.NewScanner(text); lines.Scan(); {
		if series, value, _ := strings.Cut(lines.Text(), " "); series == c.Series {
			n, err := strconv.ParseFloat(value, 64)
			return int64(n), err
		}
	}
	return 0, fmt.Errorf("the metrics lack %s", c.Series)
}
