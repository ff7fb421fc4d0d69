package answers

import (
	"time"

	"github.com/coreos/dbtester/analyze/abilities"
	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/analyze/table"
)

// number measures columns for a comparison.
type number struct {
	// name is its name in sentences, metric its name in package compare, or "".
	name, metric string
	// less means that less is better. whole means that the number covers the whole run, not a stage.
	less, whole bool
	of          func(*run.Run, *run.Stage) run.Measure
	text        func(float64) string
}

func throughputNumber() number {
	return number{
		name: "throughput", metric: "throughput", text: table.Significant,
		of: func(_ *run.Run, g *run.Stage) run.Measure { return g.Throughput.Average },
	}
}

func p99Number() number {
	return number{
		name: "p99 latency", metric: "p99", less: true, text: length,
		of: func(_ *run.Run, g *run.Stage) run.Measure { return g.Latency.Due.Quantile(.99) },
	}
}

// soughtNumber is the rate that an ability searched for.
func soughtNumber(s abilities.Sought) number {
	return number{
		name: s.Name, metric: s.Name, whole: true, text: run.RateNumber,
		of: func(r *run.Run, _ *run.Stage) run.Measure { return s.Number(r) },
	}
}

// pauseNumber is not a metric in package compare, so no winner is named by it.
func pauseNumber() number {
	return number{
		name: "longest time without an answer", less: true, text: length,
		of: func(r *run.Run, _ *run.Stage) run.Measure { return Pause(r) },
	}
}

// Pause is the longest time without an ok answer in the measured parts of a run, in ms. High is the
// resolution of the records if the pause was shorter.
func Pause(r *run.Run) run.Measure {
	longest := run.Missing("no measured part recorded it")
	for _, g := range r.Stages {
		if gap := g.Availability.Gap; gap.Known() && (!longest.Known() || gap.Value > longest.Value) {
			longest = gap
		}
	}
	return longest
}

// PauseText formats a pause: "7.0 s", or "under 100 ms" if the records do not resolve it.
func PauseText(m run.Measure, median float64) string {
	if m.High > 0 {
		return "under " + length(m.High)
	}
	return length(median)
}

// length formats a time in ms in a familiar unit.
func length(ms float64) string {
	switch {
	case ms < 1000:
		return table.Significant(ms) + " ms"
	case ms < 120_000:
		return table.Significant(ms/1000) + " s"
	}
	return time.Duration(ms * 1e6).Round(time.Second).String()
}
