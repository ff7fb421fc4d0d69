// Command power counts how often a power failure, and how often SIGKILL, loses writes that etcd had
// acknowledged, by release. Each case is a fresh cluster with one member whose fsync takes 20 ms
// longer, and a dbtester run, which reads all written keys back. etcd 3.5.4 acknowledges before its
// log is on disk (etcd-io/etcd#14370), so its losses must be found. Run it with `make power`, as
// root.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/coreos/dbtester/pkg/stats/share"
	"github.com/coreos/dbtester/tools/experiment"
)

func main() { experiment.Main("power", power) }

// old is the release that has the bug.
const old = "3.5.4"

// series counts the outcomes for a release and a fault.
type series struct {
	version, fault string
	binary         string // "" for one that dbtester installs
	cases, lossy   int
	lost           []int64 // writes, by case
	keys           int64   // that were read back
	failed         []string
}

// power runs all series in turn, so an interruption leaves about as many cases in each, and prints
// a table of the finished cases.
func power(ctx context.Context, args []string, out, progress io.Writer) error {
	flags := flag.NewFlagSet("power", flag.ContinueOnError)
	program := flags.String("dbtester", "bin/dbtester", "the program")
	n := flags.Int("n", 20, "cases of each series")
	if err := flags.Parse(args); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "power-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	binary, err := build(ctx, filepath.Join(dir, "build"))
	if err != nil {
		return err
	}
	all := []*series{
		{version: old, binary: binary, fault: "power"}, {version: old, binary: binary, fault: "kill"},
		{version: "3.6.16", fault: "power"}, {version: "3.7.3", fault: "power"},
	}
	for i := range *n * len(all) {
		s := all[i%len(all)]
		err := s.one(ctx, *program, filepath.Join(dir, "run"))
		if ctx.Err() != nil {
			break // an interrupt: the finished cases are reported
		}
		if err != nil {
			s.failed = append(s.failed, err.Error())
		}
		fmt.Fprintf(progress, "case %d: etcd %s, %s: %d of %d lost writes\n", i/len(all)+1, s.version, s.fault, s.lossy, s.cases)
	}
	report(out, all)
	return judge(all)
}

// build builds the old release, which dbtester has no recipe for, from the Go module proxy.
func build(ctx context.Context, dir string) (string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	module := "module release\n\ngo 1.26\n\nrequire go.etcd.io/etcd/server/v3 v" + old + "\n"
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte(module), 0o600); err != nil {
		return "", err
	}
	binary := filepath.Join(dir, "etcd")
	cmd := exec.CommandContext(ctx, "go", "build", "-mod=mod", "-o", binary, "go.etcd.io/etcd/server/v3")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build etcd %s: %w: %s", old, err, text)
	}
	return binary, nil
}

// failure is an experiment whose load has 20 clients. The fsync of the member takes longer from 1.5
// s on, and the fault ends the member at 3.2 s.
const failure = `title: power
hosts: [127.0.2.1]
load: {operation: write, duration: 6500ms, warm_up: 300ms, clients: 20, key_size: 32, value_size: 256, timeout: 2s, failover: next}
consistency: true
faults:
- {kind: disk, member: 1, at: 1500ms, for: 3s, fsync: 20ms, overlap: true}
- {kind: %s, member: 1, at: 3200ms, for: 300ms, overlap: true}
databases:
  etcd: {version: %s, %s}
`

// one runs a case in dir, which it removes afterwards, and adds its losses.
func (s *series) one(ctx context.Context, program, dir string) error {
	defer os.RemoveAll(dir)
	release := "install: true"
	if s.binary != "" {
		release = "binary: " + s.binary
	}
	manifest, err := experiment.Run(ctx, program, dir, fmt.Sprintf(failure, s.fault, s.version, release), "manifest.json", "--disk", "loop:256MiB")
	if err != nil {
		return err
	}
	return s.count(manifest)
}

// record has the manifest fields about the keys that were read back, and about failed faults.
type record struct {
	Databases []struct {
		Consistency struct {
			Held *struct{ Keys, Read, Older, Gone int64 }
		}
		Faults []struct{ Kind, Failed string }
	}
}

// count adds the losses a run recorded.
func (s *series) count(manifest string) error {
	data, err := os.ReadFile(manifest)
	if err != nil {
		return err
	}
	var r record
	if err := json.Unmarshal(data, &r); err != nil {
		return err
	}
	if len(r.Databases) != 1 || len(r.Databases[0].Faults) != 2 {
		return errors.New("the run does not have both faults")
	}
	for _, f := range r.Databases[0].Faults {
		if f.Failed != "" {
			return fmt.Errorf("%s: %s", f.Kind, f.Failed)
		}
	}
	held := r.Databases[0].Consistency.Held
	if held == nil || held.Read != held.Keys {
		return errors.New("the keys were not all read back")
	}
	s.cases++
	if lost := held.Older + held.Gone; lost > 0 {
		s.lossy++
		s.lost = append(s.lost, lost)
	}
	s.keys += held.Keys
	return nil
}

// report prints the table.
func report(out io.Writer, all []*series) {
	fmt.Fprintln(out, "# What a power failure loses\n\nOne member of etcd, alone, with 20 clients that write new keys; each fsync takes 20 ms longer. Its power fails, or it is killed, while it does; all written keys are read back after the load. A case is a fresh cluster. Intervals are exact (Clopper and Pearson, 95 %). Made by `make power`.\n\n| etcd | fault | cases with lost writes | share, 95 % | writes lost, by case | keys read back |\n|---|---|---|---|---|---|")
	for _, s := range all {
		low, high := share.Interval(s.lossy, s.cases)
		lost := "-"
		if len(s.lost) > 0 {
			lost = strings.Trim(fmt.Sprint(s.lost), "[]")
		}
		fmt.Fprintf(out, "| %s | %s | %d of %d | %.0f to %.0f %% | %s | %d |\n", s.version, s.fault, s.lossy, s.cases, 100*low, 100*high, lost, s.keys)
	}
	least := all[0].cases
	for _, s := range all {
		least = min(least, s.cases)
	}
	_, none := share.Interval(0, max(least, 1))
	fmt.Fprintf(out, "\netcd %s acknowledges the writes of a cluster of one member before its log is on disk ([etcd-io/etcd#14370](https://github.com/etcd-io/etcd/issues/14370)). What SIGKILL ends leaves its writes in the kernel's cache, so that nothing is lost. 0 of %d says that the share is below %.0f %%, not that it is 0.\n", old, least, 100*none)
	for _, s := range all {
		for _, text := range s.failed {
			fmt.Fprintf(out, "\nA case of etcd %s, %s, failed and is not counted: %s\n", s.version, s.fault, strings.ReplaceAll(text, "\n", " "))
		}
	}
}

// judge returns an error for every series without cases, with unexpected losses, or, where the bug is
// planted, without losses.
func judge(all []*series) error {
	var errs []error
	for _, s := range all {
		planted := s.version == old && s.fault == "power"
		switch {
		case s.cases == 0:
			errs = append(errs, fmt.Errorf("etcd %s, %s: no case: %v", s.version, s.fault, s.failed))
		case planted && s.lossy == 0:
			errs = append(errs, fmt.Errorf("etcd %s, %s: no loss was found", s.version, s.fault))
		case !planted && s.lossy > 0:
			errs = append(errs, fmt.Errorf("etcd %s, %s: %d cases lost writes", s.version, s.fault, s.lossy))
		}
	}
	return errors.Join(errs...)
}
