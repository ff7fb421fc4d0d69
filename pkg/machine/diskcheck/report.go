package diskcheck

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/results/histogram"
)

// etcd's published guidance: "wal_fsync_duration_seconds (p99 duration should be less than
// 10ms)".
const (
	// Limit is the bound below which the p99 of fdatasync must be.
	Limit  = 10 * time.Millisecond
	Source = "https://etcd.io/docs/v3.6/faq/"
)

// Verdict says what the times mean.
type Verdict string

// NoDisk means a file system in memory, whose times do not depend on a disk.
const (
	Meets       Verdict = "meets"
	DoesNotMeet Verdict = "does not meet"
	NoDisk      Verdict = "no disk"
)

// Place describes the measured disk. Unknown facts are "".
type Place struct {
	Directory    string `json:"directory"`
	Filesystem   string `json:"filesystem,omitempty"`
	MountOptions string `json:"mount_options,omitempty"`
	Device       string `json:"device,omitempty"`
	Model        string `json:"model,omitempty"`
	Queue        string `json:"queue,omitempty"`
}

// NewPlace describes a folder by the known facts about its disk.
func NewPlace(dir string, d results.Disk) Place {
	return Place{Directory: dir, Filesystem: d.Filesystem, MountOptions: d.MountOptions, Device: d.Device, Model: d.Model, Queue: d.Queue}
}

// Report is a check with everything needed to judge it.
type Report struct {
	Place
	// Duration is the planned duration. Interrupted means that the check ended earlier; the times
	// cover the measurements until then.
	Duration    time.Duration `json:"duration_ns"`
	Interrupted bool          `json:"interrupted,omitempty"`
	// Pattern describes the writes.
	Pattern string `json:"pattern"`
	Result
	SyncsPerSecond float64 `json:"syncs_per_second"`
	BytesPerSecond float64 `json:"bytes_per_second"`
	// Few are the percentiles with too few samples.
	Few     []string      `json:"few,omitempty"`
	Verdict Verdict       `json:"verdict"`
	Limit   time.Duration `json:"limit_p99_ns"`
	Source  string        `json:"source"`
	// Warning says why the disk may not be durable, judging by the times; "" if there is no sign of
	// that.
	Warning string `json:"warning,omitempty"`
}

// NewReport judges the result of a check that was planned to last d.
func NewReport(p Place, d time.Duration, r Result) *Report {
	report := &Report{
		Place: p, Duration: d, Result: r, SyncsPerSecond: r.SyncsPerSecond(), BytesPerSecond: r.BytesPerSecond(),
		Pattern: fmt.Sprintf("appends of %d to %d KiB to a file with %d MiB allocated, one after the other, fdatasync after each",
			MinAppend>>10, MaxAppend>>10, SegmentBytes>>20),
		Few: few(r.Appends), Verdict: judge(p.Filesystem, r.Sync.P99), Limit: Limit, Source: Source,
	}
	if probe := (results.Disk{FsyncP50: r.Sync.P50}); report.Verdict != NoDisk && probe.SyncsTooFast() {
		report.Warning = fmt.Sprintf("the p50 of fdatasync is %s, less than any disk needs: memory answers it, and a power cut may lose what it answered for", Text(r.Sync.P50))
	}
	return report
}

// judge compares the p99 of fdatasync with the guidance.
func judge(filesystem string, p99 time.Duration) Verdict {
	switch {
	case inMemory(filesystem):
		return NoDisk
	case p99 < Limit:
		return Meets
	}
	return DoesNotMeet
}

// inMemory reports whether a file system does not use any disk.
func inMemory(filesystem string) bool { return slices.Contains([]string{"tmpfs", "ramfs"}, filesystem) }

// percentile names a printed percentile and selects it from [Times].
type percentile struct {
	name string
	q    float64
	of   func(Times) time.Duration
}

func percentiles() []percentile {
	return []percentile{
		{"p50", .5, func(t Times) time.Duration { return t.P50 }},
		{"p99", .99, func(t Times) time.Duration { return t.P99 }},
		{"p99.9", .999, func(t Times) time.Duration { return t.P999 }},
	}
}

// few returns the percentiles for which n samples are too few.
func few(n int64) (names []string) {
	for _, p := range percentiles() {
		if !histogram.Enough(p.q, n) {
			names = append(names, p.name)
		}
	}
	return names
}

// Sentence states the verdict with the number behind it.
func (r *Report) Sentence() string {
	if r.Verdict == NoDisk {
		return fmt.Sprintf("no disk: %s keeps files in memory, so these are not the times of a disk", r.Filesystem)
	}
	samples := humanize.Comma(r.Sync.N) + " samples"
	if slices.Contains(r.Few, "p99") {
		samples += ", too few for a p99"
	}
	return fmt.Sprintf("%s etcd's guidance: the p99 of fdatasync is %s (%s) and must be below %s", r.Verdict, Text(r.Sync.P99), samples, Text(r.Limit))
}

// Line summarizes the measurement in one line, without the verdict.
func (r *Report) Line() string {
	var parts []string
	for _, p := range percentiles() {
		parts = append(parts, p.name+" "+r.marked(p.name, p.of(r.Sync)))
	}
	return fmt.Sprintf("%d to %d KiB and fdatasync: fdatasync %s, longest %s of %s in %s, %s/s",
		MinAppend>>10, MaxAppend>>10, strings.Join(parts, ", "), Text(r.Sync.Longest), humanize.Comma(r.Sync.N), Text(r.Busy), rate(r.SyncsPerSecond))
}

// marked formats a percentile, with a mark if it has too few samples.
func (r *Report) marked(name string, d time.Duration) string {
	if slices.Contains(r.Few, name) {
		return Text(d) + " (few)"
	}
	return Text(d)
}

// Print writes the report as text.
func (r *Report) Print(w io.Writer) error {
	fmt.Fprintf(w, "disk of %s\n", r.Place)
	fmt.Fprintf(w, "%s, for %v\n", r.Pattern, r.Duration)
	if r.Interrupted {
		fmt.Fprintf(w, "interrupted after %s appends, in %s of appends and syncs: what follows is of these alone\n", humanize.Comma(r.Appends), Text(r.Busy))
	}
	fmt.Fprintln(w)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(t, "\tn\tp50\tp99\tp99.9\tlongest\t\n")
	for _, row := range []struct {
		name string
		Times
	}{{"fdatasync", r.Sync}, {"append and fdatasync", r.Both}} {
		fmt.Fprintf(t, "%s\t%s\t", row.name, humanize.Comma(row.N))
		for _, p := range percentiles() {
			fmt.Fprintf(t, "%s\t", r.marked(p.name, p.of(row.Times)))
		}
		fmt.Fprintf(t, "%s\t\n", Text(row.Longest))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if len(r.Few) > 0 {
		fmt.Fprint(w, "few: fewer than ten samples are above the percentile; p99 needs 1,000 samples, p99.9 10,000\n")
	}
	if r.Warning != "" {
		fmt.Fprintf(w, "warning: %s\n", r.Warning)
	}
	_, err := fmt.Fprintf(w, "%s syncs/s, %.1f MB/s (%s in %s of appends and syncs)\n\nverdict: %s\nguidance: %s\n",
		rate(r.SyncsPerSecond), r.BytesPerSecond/1e6, humanize.Bytes(uint64(r.Bytes)), Text(r.Busy), r.Sentence(), r.Source)
	return err
}

// String describes the place by its known facts.
func (p Place) String() string {
	facts := slices.DeleteFunc([]string{p.Filesystem, p.Device, p.Model, p.Queue}, func(s string) bool { return s == "" })
	if len(facts) == 0 {
		return p.Directory
	}
	return p.Directory + ": " + strings.Join(facts, ", ")
}

// rate formats a number per second.
func rate(n float64) string {
	if n < 100 {
		return fmt.Sprintf("%.1f", n)
	}
	return humanize.Comma(int64(n + .5))
}

// Text formats a time with its unit: "1.20 us", "0.412 ms", "12.3 ms", "1.20 s".
func Text(d time.Duration) string {
	switch ms := float64(d) / float64(time.Millisecond); {
	case ms < 0.02:
		return fmt.Sprintf("%.2f us", ms*1000)
	case ms < 10:
		return fmt.Sprintf("%.3f ms", ms)
	case ms < 1000:
		return fmt.Sprintf("%.1f ms", ms)
	}
	return fmt.Sprintf("%.2f s", d.Seconds())
}
