package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"
)

// measureStart measures the program size, and the cost to print its version: a lower bound for the
// cost of each dbtester process.
func measureStart(ctx context.Context, o options, out io.Writer) error {
	return o.workIn(40, func(o options) error {
		before := busy()
		info, err := os.Stat(o.dbtester)
		if err != nil {
			return err
		}
		rows := []row{{argv: []string{o.dbtester, "version"}}}
		o.requests = 1
		if err := alternate(ctx, o, rows, nil); err != nil {
			return err
		}
		fmt.Fprintf(out, "%d runs of `dbtester version`; medians and spans. %s.\n\n", o.pairs, o.conditions(before))
		w := tabwriter.NewWriter(out, 0, 0, 1, ' ', 0)
		fmt.Fprint(w, "| what\t| value\t| bar\t|\n|---\t|---\t|---\t|\n")
		size := float64(info.Size()) / 1e6
		fmt.Fprintf(w, "| size of the program\t| %.1f MB\t| <= 50 MB%s\t|\n", size, judge(size, 50))
		wall := func(u usage) float64 { return float64(u.wall) / float64(time.Millisecond) }
		printSpan(w, "`dbtester version`, time", "ms", rows[0].runs, wall, 12)
		printSpan(w, "`dbtester version`, peak RSS", "MB", rows[0].runs, peakOf, 28)
		return w.Flush()
	})
}

// printSpan prints a table row: the median of a quantity, its span, and its bar.
func printSpan(out io.Writer, what, unit string, runs []usage, of func(usage) float64, most float64) {
	m := median(runs, of)
	lo, hi := span(runs, of)
	fmt.Fprintf(out, "| %s\t| %.1f %s (%.1f-%.1f)\t| <= %g %s%s\t|\n", what, m, unit, lo, hi, most, unit, judge(m, most))
}

// measureCold measures the first `make quickstart` in a bare clone: nothing was compiled before,
// but the modules were downloaded.
func measureCold(ctx context.Context, o options, out io.Writer) error {
	o.data = "" // a cache this large, a gigabyte, belongs on a disk
	return o.workIn(3, func(o options) error {
		before := busy()
		var runs []usage
		for n := range o.pairs {
			u, err := cold(ctx, o, filepath.Join(o.dir, fmt.Sprint(n)))
			if err != nil {
				return err
			}
			fmt.Fprintf(os.Stderr, "run %d: %.1f s\n", n+1, u.wall.Seconds())
			runs = append(runs, u)
		}
		commit, err := exec.CommandContext(ctx, "git", "-C", o.repo, "describe", "--always", "--abbrev=12").Output()
		if err != nil {
			return fmt.Errorf("ask for the commit: %w", err)
		}
		fmt.Fprintf(out, "%d times `make quickstart` in a new clone of %s, with an empty cache of builds and with the modules of `go.mod` in their cache; the quickstart's own loads are included. Medians and spans. %s.\n\n", o.pairs, strings.TrimSpace(string(commit)), o.conditions(before))
		w := tabwriter.NewWriter(out, 0, 0, 1, ' ', 0)
		fmt.Fprint(w, "| what\t| value\t| bar\t|\n|---\t|---\t|---\t|\n")
		printSpan(w, "`make quickstart`, time", "s", runs, func(u usage) float64 { return u.wall.Seconds() }, 100)
		m := median(runs, func(u usage) float64 { return u.cpu.Seconds() })
		fmt.Fprintf(w, "| CPU of the builds and all members\t| %.0f s\t|\t|\n", m)
		return w.Flush()
	})
}

// cold makes the quickstart in a new clone in dir, which is then removed.
func cold(ctx context.Context, o options, dir string) (u usage, err error) {
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	clone := filepath.Join(dir, "clone")
	if text, err := exec.CommandContext(ctx, "git", "clone", "--quiet", "--no-hardlinks", o.repo, clone).CombinedOutput(); err != nil {
		return u, fmt.Errorf("clone: %w\n%s", err, text)
	}
	// A new user's make does not inherit the settings from the make that started this program.
	u, _, err = measure(ctx, clone, []string{"env", "-u", "MAKEFLAGS", "-u", "MAKELEVEL", "-u", "MFLAGS", "-u", "PARTS", "GOCACHE=" + filepath.Join(dir, "cache"), "make", "quickstart"})
	if reports, _ := filepath.Glob(filepath.Join(clone, "results", "*", "*", "report.html")); err != nil && ctx.Err() == nil && len(reports) > 0 {
		err = nil // a busy machine may make the run invalid
	}
	return u, err
}
