package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/coreos/dbtester/tools/audit/standin"
)

// auditor runs cases one after the other.
type auditor struct {
	program string
	dir     string
	scale   Scale
}

// Verdict holds the checks in a case.
type Verdict struct {
	Case   Case
	Checks []Check
	Error  error // the case could not be run
}

func (a *auditor) judge(ctx context.Context, c Case) Verdict {
	v := Verdict{Case: c}
	cluster, err := standin.Start(c.Server(a.scale))
	if err != nil {
		v.Error = err
		return v
	}
	defer cluster.Close()
	var runs []*Run
	for i, p := range c.Runs(a.scale) {
		if i > 0 {
			cluster.Forget(p.Script)
		}
		r, err := a.run(ctx, cluster, p, filepath.Join(a.dir, fmt.Sprintf("%s-%d", strings.ReplaceAll(c.Name, " ", "-"), i)))
		if err != nil {
			v.Error = err
			return v
		}
		runs = append(runs, r)
	}
	f := &Findings{}
	for i, r := range runs {
		name := ""
		if len(runs) > 1 {
			name = fmt.Sprintf("run %d: ", i+1)
		}
		if r.Plan.Exit != exitAny && !r.busyMachine() {
			f.Equal(name+"exit code", float64(r.Plan.Exit), float64(r.Exit))
		}
		if r.Record == nil {
			f.Holds(name+"records", false, "a result folder", lastLine(r.Output))
			v.Checks = f.Checks
			return v
		}
		accounts(f, name, r)
	}
	c.Check(f, runs)
	v.Checks = f.Checks
	return v
}

// run runs control and analyze against scripted servers.
func (a *auditor) run(ctx context.Context, cluster *standin.Cluster, p Plan, dir string) (*Run, error) {
	r, err := a.control(ctx, p, "etcd", cluster.Endpoints(), dir, func(control *os.Process, ended <-chan struct{}) error {
		return during(ctx, p, &Live{cluster, control}, ended)
	})
	if r != nil {
		r.Log, r.Keys = Log(cluster.Entries()), cluster.Keys()
		r.Slammed = cluster.Slammed()
	}
	return r, err
}

// control runs control on a running cluster, with something else alongside it, and then analyze.
func (a *auditor) control(ctx context.Context, p Plan, database string, endpoints []string, dir string, beside func(control *os.Process, ended <-chan struct{}) error) (*Run, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "experiment.yaml")
	// With the same prefix, a second run on the same cluster has the same layout as the first.
	// Without a judge the server log has no requests by one, and lies are found by checksums alone.
	text := fmt.Sprintf("title: audit\nresults: %s\nconsistency: false\n%sload: {%s}\ndatabases:\n  %s: {endpoints: [%s], prefix: audit}\n",
		filepath.Join(dir, "results"), p.File, p.Load, database, strings.Join(endpoints, ", "))
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return nil, err
	}
	r := &Run{Plan: p, Program: a.program}
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, a.program, "control", "--full-speed", "--config", file)
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	ended, result := make(chan struct{}), make(chan error, 1)
	go func() { result <- beside(cmd.Process, ended) }()
	err := cmd.Wait()
	close(ended)
	if err := errors.Join(exitOnly(err), <-result); err != nil {
		return nil, err
	}
	r.Exit, r.Output = cmd.ProcessState.ExitCode(), out.String()
	folder, err := newest(filepath.Join(dir, "results", "audit"))
	if err != nil || folder == "" {
		return r, err
	}
	if out, err := exec.CommandContext(ctx, a.program, "analyze", folder).CombinedOutput(); exitOnly(err) != nil || err != nil && len(out) == 0 {
		return nil, fmt.Errorf("analyze: %w: %s", err, out)
	}
	if r.Record, err = readRecord(folder); err != nil {
		return nil, err
	}
	r.Report, err = readReport(filepath.Join(folder, "report"))
	return r, err
}

// during waits for the first request in the load, then runs the fault in the plan.
func during(ctx context.Context, p Plan, live *Live, ended <-chan struct{}) error {
	if p.During == nil {
		return nil
	}
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !live.Cluster.Loaded() {
		select {
		case <-tick.C:
		case <-ended:
			return nil
		}
	}
	return p.During(ctx, live)
}

// busyMachine reports whether a run is invalid only because the machine slowed its client down. Its
// exit code is then no evidence about the case.
func (r *Run) busyMachine() bool {
	if r.Exit != exitInvalid || r.Record == nil {
		return false
	}
	return !slices.ContainsFunc(r.Record.Marks, func(m Mark) bool { return m.Invalid && m.Code != "client saturated" })
}

// exitOnly returns nil if err is only an exit code.
func exitOnly(err error) error {
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.Exited() {
		return nil
	}
	return err
}

// newest returns the last folder by name; "" if there is no folder.
func newest(dir string) (string, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) || len(entries) == 0 {
		return "", nil
	}
	return filepath.Join(dir, entries[len(entries)-1].Name()), err
}

// folderOf returns the result folder for a run.
func folderOf(r *Run) string { return filepath.Dir(r.Record.Folder) }

func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return lines[len(lines)-1]
}
