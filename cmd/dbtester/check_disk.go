package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/coreos/dbtester/pkg/machine/diskcheck"
	"github.com/coreos/dbtester/pkg/machine/roundtrip"
	"github.com/coreos/dbtester/pkg/machine/sysmetrics"
	"github.com/coreos/dbtester/pkg/results"
)

// agentPort is the port that agents listen on by default.
const agentPort = "3500"

// checkDiskFlags are the flags of check-disk.
type checkDiskFlags struct {
	duration time.Duration
	peers    []string
	format   string
}

func newCheckDisk(a *app) *cobra.Command {
	var f checkDiskFlags
	cmd := &cobra.Command{
		Use:   "check-disk DIR",
		Short: "Check whether the disk of a folder is fast enough for a store",
		Long: `Check whether the disk of a folder is fast enough for a store.

It appends to a file in the folder as stores append to their logs, with fdatasync after
each append, and removes the file. The verdict is by etcd's guidance for the p99 of
fdatasync. Exit code 0: the disk meets it; 4: it does not; 1: something could not be
measured; 130: interrupted, after it printed what it had measured.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.runCheckDisk(cmd.Context(), f, args[0]) },
	}
	flags := cmd.Flags()
	flags.DurationVar(&f.duration, "duration", diskcheck.DefaultDuration, "how long to append")
	flags.StringSliceVar(&f.peers, "peers", nil, "machines to measure the round trip to, as HOST[:PORT],... (port: "+agentPort+", that of agents)")
	flags.StringVar(&f.format, "format", "text", "text or json")
	return cmd
}

func (a *app) runCheckDisk(ctx context.Context, f checkDiskFlags, dir string) error {
	if f.duration < time.Second {
		return usageError{fmt.Errorf("--duration must be at least 1s, got %v", f.duration)}
	}
	if f.format != "text" && f.format != "json" {
		return usageError{fmt.Errorf("--format must be text or json, got %q", f.format)}
	}
	peers, err := roundtrip.Addresses(f.peers, agentPort)
	if err != nil {
		return usageError{fmt.Errorf("--peers: %w", err)}
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	fmt.Fprintf(a.err, "checking: appends in %s for %v\n", dir, f.duration)
	report, err := a.checkDisk(ctx, dir, diskcheck.Options{Duration: f.duration})
	if err != nil && report != nil { // of a check that was interrupted
		report.Interrupted = true
		if f.format == "json" {
			return errors.Join(err, printTrips(a.out, f.format, report, nil))
		}
		return errors.Join(err, report.Print(a.out))
	}
	if err != nil {
		return err
	}
	if f.format == "text" {
		err = report.Print(a.out)
	}
	if err != nil {
		return err
	}
	trips, err := roundtrip.Measure(ctx, (&net.Dialer{}).DialContext, peers)
	err = errors.Join(err, printTrips(a.out, f.format, report, trips)) // what was measured before an interrupt
	return errors.Join(err, diskError(report), roundtrip.Unreachable(trips))
}

// checkDisk checks the disk of a folder. An immediate exit removes its file, too. The report
// is nil if nothing was measured; that with an error is of what was measured before it.
func (a *app) checkDisk(ctx context.Context, dir string, o diskcheck.Options) (*diskcheck.Report, error) {
	facts, err := sysmetrics.DiskFacts(dir)
	if err != nil {
		fmt.Fprintf(a.err, "dbtester: some facts about the disk cannot be read: %v\n", err)
		facts = results.Disk{}
	}
	result, err := diskcheck.Check(ctx, dir, o, a.last.temporary)
	if result.Appends == 0 {
		return nil, err
	}
	return diskcheck.NewReport(diskcheck.NewPlace(dir, facts), o.Duration, result), err
}

// printTrips prints the round trips below the report as text, or both as JSON.
func printTrips(out io.Writer, format string, report *diskcheck.Report, trips []roundtrip.Times) error {
	if format == "json" {
		e := json.NewEncoder(out)
		e.SetIndent("", "  ")
		return e.Encode(struct {
			*diskcheck.Report
			RoundTrips []roundtrip.Times `json:"round_trips,omitempty"`
		}{report, trips})
	}
	if len(trips) == 0 {
		return nil
	}
	fmt.Fprint(out, "\nround trips\n")
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, trip := range trips {
		fmt.Fprintf(t, "%s\t%s\n", trip.Address, trip.Describe(diskcheck.Text))
	}
	return t.Flush()
}

// diskError is what the exit code of a check comes from.
func diskError(r *diskcheck.Report) error {
	switch r.Verdict {
	case diskcheck.Meets:
		return nil
	case diskcheck.DoesNotMeet:
		return &worseError{"the disk " + r.Sentence()}
	}
	return errors.New("the disk could not be measured: " + r.Sentence())
}
