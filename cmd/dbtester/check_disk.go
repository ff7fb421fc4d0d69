package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/coreos/dbtester/pkg/machine/diskcheck"
	"github.com/coreos/dbtester/pkg/machine/roundtrip"
	"github.com/coreos/dbtester/pkg/machine/sysmetrics"
	"github.com/coreos/dbtester/pkg/results"
)

// checkDiskFlags are the flags of check-disk.
type checkDiskFlags struct {
	duration time.Duration
	peers    []string
	format   format
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
		Example: "  dbtester check-disk /var/lib/dbtester\n  dbtester check-disk . --duration 1m --format json",
		Args:    cobra.ExactArgs(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return a.runCheckDisk(cmd.Context(), f, args[0]) },
	}
	flags := cmd.Flags()
	flags.DurationVar(&f.duration, "duration", diskcheck.DefaultDuration, "how long to append")
	flags.StringSliceVar(&f.peers, "peers", nil, "machines to measure the round trip to, as HOST[:PORT],... (port: "+agentPort+", that of agents)")
	f.format.register(cmd, usualFormats()...)
	return cmd
}

func (a *app) runCheckDisk(ctx context.Context, f checkDiskFlags, dir string) error {
	if f.duration < time.Second {
		return usageError{fmt.Errorf("--duration must be at least 1s, got %v", f.duration)}
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
	if err != nil && report != nil { // the check was interrupted
		report.Interrupted = true
		if f.format.machine() {
			return errors.Join(err, diskListing(report, nil).print(a.out, f.format))
		}
		return errors.Join(err, report.Print(a.out))
	}
	if err != nil {
		return err
	}
	if !f.format.machine() {
		if err := report.Print(a.out); err != nil {
			return err
		}
	}
	trips, err := roundtrip.Measure(ctx, (&net.Dialer{}).DialContext, peers)
	if f.format.machine() { // even after an interrupt
		err = errors.Join(err, diskListing(report, trips).print(a.out, f.format))
	} else {
		err = errors.Join(err, printTrips(a.out, trips))
	}
	return errors.Join(err, diskError(report), roundtrip.Unreachable(trips))
}

// checkDisk measures the disk below a folder. An immediate exit also removes its file. The report
// is nil if nothing was measured; a report with an error has the measurements before the error.
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

// diskListing returns the report with the round trips: a row for each measured time.
func diskListing(report *diskcheck.Report, trips []roundtrip.Times) listing {
	l := listing{
		header: []string{"what", "n", "p50_ms", "p99_ms", "p99_9_ms", "longest_ms", "verdict"},
		value: struct {
			*diskcheck.Report
			RoundTrips []roundtrip.Times `json:"round_trips,omitempty"`
		}{report, trips},
	}
	ms := func(d time.Duration) string {
		return strconv.FormatFloat(float64(d)/float64(time.Millisecond), 'g', 6, 64)
	}
	for _, one := range []struct {
		what, verdict string
		diskcheck.Times
	}{{"fdatasync", string(report.Verdict), report.Sync}, {"append and fdatasync", "", report.Both}} {
		l.rows = append(l.rows, []string{one.what, strconv.FormatInt(one.N, 10), ms(one.P50), ms(one.P99), ms(one.P999), ms(one.Longest), one.verdict})
	}
	for _, trip := range trips {
		row := []string{"round trip to " + trip.Address, strconv.Itoa(trip.N), ms(trip.Median), "", "", ms(trip.Max), trip.Error}
		if trip.N == 0 {
			row[2], row[5] = "", ""
		}
		l.rows = append(l.rows, row)
	}
	return l
}

// printTrips prints the round trips below the report.
func printTrips(out io.Writer, trips []roundtrip.Times) error {
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

// diskError returns the error that determines the exit code of a check.
func diskError(r *diskcheck.Report) error {
	switch r.Verdict {
	case diskcheck.Meets:
		return nil
	case diskcheck.DoesNotMeet:
		return &worseError{"the disk " + r.Sentence()}
	}
	return errors.New("the disk could not be measured: " + r.Sentence())
}
