package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/coreos/dbtester/analyze/answers/compare"
	"github.com/coreos/dbtester/pkg/files/plaintext"
	"github.com/coreos/dbtester/pkg/files/wholefile"
	"github.com/coreos/dbtester/pkg/stats/abtest"
)

func newCompare(a *app) *cobra.Command {
	f := compareFlags{to: boundary{at: -1}}
	c := comparison{app: a, flags: &f}
	cmd := &cobra.Command{
		Use:   "compare RUN... --to RUN... | --a FILE --b FILE | --config FILE --b-version VERSION",
		Short: "Decide whether B is better than A, worse or equivalent, from runs recorded or made in turns",
		Example: `  dbtester compare LAST~1 --to LAST
  dbtester compare results/before/* --to results/after/* --margin 5% --format markdown
  dbtester compare --local --config FILE --b-version v3.6.16 --pairs 8`,
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args) },

		ValidArgsFunction: completeRuns,
	}
	flags := cmd.Flags()
	f.to.flags = flags
	flags.Var(&f.to, "to", "the runs after it are B, the runs before it A")
	flags.Lookup("to").NoOptDefVal = here
	f.made.register(a, flags)
	flags.StringVar(&f.tag, "tag", "", "folder of the database in A's runs (default: the only one)")
	flags.StringVar(&f.toTag, "to-tag", "", "the same for B's runs (default: as --tag)")
	flags.StringSliceVar(&f.metrics, "metric", compare.Defaults(), "metrics that decide, of "+strings.Join(compare.Names(), ", ")+"; the others are shown")
	completeList(cmd, "metric", compare.Names())
	completeRun(cmd, "to")
	complete(cmd, "tag", func(args []string, _ string) []string { from, _ := f.to.sides(args); return tagsOf(cmd, from) })
	complete(cmd, "to-tag", func(args []string, _ string) []string { _, to := f.to.sides(args); return tagsOf(cmd, to) })
	for _, side := range []struct {
		name string
		file *string
	}{{"a", &f.made.a.File}, {"b", &f.made.b.File}} {
		a.completeVersions(cmd, side.name+"-version", &f.made.config, side.file)
	}
	flags.StringVar(&f.margin, "margin", "3%", "largest difference that does not matter")
	f.format.register(cmd, append(usualFormats(), formatJUnit, "benchstat")...)
	flags.StringVar(&f.output, "output", "", "folder to write the report to in all formats, with its picture (default: none for recorded runs, otherwise the folder of --results)")
	flags.BoolVar(&a.bisect, "bisect", false, "exit with the codes of git bisect run: 0 for better or equivalent, 1 for worse, 125 for a commit that cannot be judged, and 128, which stops git bisect, after a wrong flag or file")
	f.fetch.register(flags, "file with the credentials for runs at a URL (default: credentials from the environment)")
	return cmd
}

func (c comparison) run(ctx context.Context, args []string) (err error) {
	f := c.flags
	o := compare.Options{TagA: f.tag, TagB: f.toTag, Metrics: f.metrics}
	if o.TagB == "" {
		o.TagB = o.TagA
	}
	if o.Margin, err = parseMargin(f.margin); err != nil {
		return usageError{err}
	}
	if err := compare.CheckMetrics(f.metrics); err != nil {
		return usageError{err}
	}
	if f.format.machine() && f.made.asked() {
		c.app.last.beside()
	}
	report, err := c.report(ctx, o, args)
	if refusal := (*compare.Refusal)(nil); errors.As(err, &refusal) {
		return usageError{err}
	}
	if err != nil {
		return err
	}
	if err := c.print(report); err != nil {
		return err
	}
	if f.output != "" {
		if err := c.write(report); err != nil {
			return errors.Join(err, verdictError(report))
		}
	}
	return verdictError(report)
}

// print prints the report in the requested format.
func (c comparison) print(report *compare.Report) error {
	word := c.flags.format.word
	if word == formatJUnit {
		text, err := junitOfComparison(report)
		if err == nil {
			_, err = c.app.out.Write(text)
		}
		return err
	}
	text, err := compare.Formats()[word](report)
	if err != nil {
		return err
	}
	if word == formatJSON {
		text = plaintext.JSON(text)
	}
	_, err = fmt.Fprint(c.app.out, text)
	return err
}

// write writes the report into a folder in all formats.
func (c comparison) write(report *compare.Report) error {
	if err := report.Write(c.flags.output); err != nil {
		return err
	}
	text, err := junitOfComparison(report)
	if err != nil {
		return err
	}
	return wholefile.Write(filepath.Join(c.flags.output, "junit.xml"), func(w io.Writer) error { _, err := w.Write(text); return err })
}

// report compares recorded runs, or makes runs alternately.
func (c comparison) report(ctx context.Context, o compare.Options, args []string) (report *compare.Report, err error) {
	f := c.flags
	from, to := f.to.sides(args)
	if f.made.asked() {
		if len(args) > 0 || f.to.at >= 0 {
			return nil, usageError{errors.New("name runs, or experiment files with --a and --b or --config")}
		}
		report, err := c.makePairs(ctx, o)
		f.output = cmp.Or(f.output, f.made.control.results)
		return report, err
	}
	if len(from) == 0 || len(to) == 0 {
		return nil, usageError{errors.New("name the result folders of A, then --to, then those of B")}
	}
	named, err := c.app.namedRuns(slices.Concat(from, to), f.made.control.results)
	if err != nil {
		return nil, err
	}
	remote, err := c.app.fetchRuns(ctx, f.fetch, named)
	defer func() { err = errors.Join(err, remote.remove()) }()
	if err != nil {
		return nil, err
	}
	if o.A, err = c.app.withoutReports(remote.runs[:len(from)]); err == nil {
		o.B, err = c.app.withoutReports(remote.runs[len(from):])
	}
	if err != nil {
		return nil, err
	}
	if err := checkRuns(slices.Concat(o.A, o.B)); err != nil {
		return nil, err
	}
	return compare.Run(ctx, o)
}

// verdictError returns the error that determines the exit code of a comparison.
func verdictError(r *compare.Report) error {
	switch {
	case len(r.Invalid) > 0:
		return &invalidError{reasons: r.Invalid}
	case r.Verdict == abtest.Worse:
		return &worseError{r.Sentence()}
	case r.Verdict == abtest.Inconclusive:
		return &inconclusiveError{r.Sentence()}
	}
	return nil
}

// parseMargin reads a share in percent.
func parseMargin(text string) (float64, error) {
	number, ok := strings.CutSuffix(text, "%")
	v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if !ok || err != nil || !(v > 0 && v <= 100) {
		return 0, fmt.Errorf("margin must be a percentage above 0%% and at most 100%%, such as 3%%, got %q", text)
	}
	return v / 100, nil
}
