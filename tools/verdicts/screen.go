package main

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/coreos/dbtester/analyze/answers"
	"github.com/coreos/dbtester/analyze/answers/compare"
	recorded "github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/stats/abtest"
	"github.com/coreos/dbtester/pkg/stats/share"
	"github.com/coreos/dbtester/pkg/workload"
)

const screenText = "Each row is %d first screens of reports whose databases ran in the turns of `control`, on a host that drifts by 6 %% over the trials. Throughput and p99 latency of one database deviate from trial to trial by the spread, independently of each other; in steps, each step by itself. In the rows without a difference all databases are equal, and any winner that a screen names anywhere is false; the bound is the upper end of an interval of 95 %% (Clopper and Pearson). In the others the first database answers 20 %% more at every step: the share is of its pairs that were named, and beside it stands the power that the screen states for that spread."

const plannedText = "How many trials of each database a screen needs to name a difference with a chance of 80 %, if the runs of one database deviate by 10 % (in pairs: 14 %) or by 5 %; at least so many are needed to name any."

// screenCase is a row in the table.
type screenCase struct {
	columns, trials, steps int
	shift, spread          float64
}

func screenCases() (list []screenCase) {
	for _, columns := range []int{2, 3, 5} {
		for _, trials := range []int{8, 12} {
			list = append(list, screenCase{columns, trials, 1, 0, .1}, screenCase{columns, trials, 1, .2, .1})
		}
		list = append(list, screenCase{columns, 12, 4, 0, .1}, screenCase{columns, 12, 4, .2, .1})
	}
	return list
}

// screenTable prints how often screens name a winner.
func screenTable(out io.Writer, screens int) {
	fmt.Fprintln(out, "| databases | trials of each | steps | difference | spread | screens with a winner | bound | named of the pairs that differ | power stated |")
	fmt.Fprintln(out, "|---|---|---|---|---|---|---|---|---|")
	for row, c := range screenCases() {
		wrong, named := c.simulate(screens, uint64(row))
		cells := fmt.Sprintf("| %d | %d | %d | %.0f %% | %.0f %% |", c.columns, c.trials, c.steps, 100*c.shift, 100*c.spread)
		if c.shift == 0 {
			fmt.Fprintf(out, "%s %.1f %% | %.1f %% | | |\n", cells, percentOf(wrong, screens), 100*upperEnd(wrong, screens))
			continue
		}
		stated := abtest.Screen{Columns: c.columns, Trials: c.trials, Metrics: 2 * c.steps, Moved: c.steps, Alpha: compare.Alpha}.Power(math.Log1p(c.shift), c.spread)
		fmt.Fprintf(out, "%s | | %.1f %% | %.0f %% |\n", cells, percentOf(named, screens*(c.columns-1)), 100*stated)
	}
}

// plannedTable prints the number of trials that name a difference.
func plannedTable(out io.Writer) {
	fmt.Fprintln(out, "| databases | least | 20 %, deviating by 10 % | 20 %, by 5 % | 10 %, by 5 % |")
	fmt.Fprintln(out, "|---|---|---|---|---|")
	for columns := 2; columns <= 5; columns++ {
		s := abtest.Screen{Columns: columns, Metrics: 2, Moved: 1, Alpha: compare.Alpha}
		fmt.Fprintf(out, "| %d | %d |", columns, s.Least())
		for _, of := range [][2]float64{{.2, .1}, {.2, .05}, {.1, .05}} {
			fmt.Fprintf(out, " %d |", s.Needed(math.Log1p(of[0]), of[1], abtest.MaxGroup))
		}
		fmt.Fprintln(out)
	}
}

func percentOf(n, of int) float64 { return 100 * float64(n) / float64(of) }

// simulate returns the number of screens with a winner, and how often the first database was named
// as ahead of another.
func (c screenCase) simulate(screens int, row uint64) (winners, named int) {
	claims := inParallel(screens, func(i int) []answers.Claim {
		return answers.Of(c.draw(rand.New(rand.NewPCG(uint64(i), 1000+row)))).Claims
	})
	for _, of := range claims {
		if len(of) > 0 {
			winners++
		}
		for _, claim := range of {
			if claim.Ahead == "db1" {
				named++
			}
		}
	}
	return winners, named
}

// draw makes the columns for one report.
func (c screenCase) draw(rng *rand.Rand) (columns []answers.Column) {
	for i := range c.columns {
		columns = append(columns, answers.Column{Name: fmt.Sprintf("db%d", i+1), Valid: true})
	}
	at := time.Unix(1_800_000_000, 0)
	drift := .06 * (2*rng.Float64() - 1)
	for trial := range c.trials {
		order := make([]int, c.columns)
		for i := range order {
			order[i] = (i + trial/2) % c.columns
		}
		if trial%2 == 1 {
			slices.Reverse(order)
		}
		for place, i := range order {
			at = at.Add(time.Minute)
			done := (float64(trial) + float64(place)/float64(c.columns)) / float64(c.trials)
			r := c.one(rng, i, drift*done)
			r.Info.Manifest = &results.Manifest{RunID: fmt.Sprint(trial), Trial: trial + 1, Trials: c.trials, Format: results.FormatVersion}
			r.Info.Record.LoadStart = at
			columns[i].Runs = append(columns[i].Runs, r)
		}
	}
	return columns
}

// one makes one run of the database on a host that is slower by drift.
func (c screenCase) one(rng *rand.Rand, database int, drift float64) *recorded.Run {
	tag := fmt.Sprintf("db%d", database+1)
	l := workload.Load{Content: workload.Content{Operation: workload.OpWrite}, Sizing: workload.Sizing{KeySize: 8, ValueSize: 92}, Extent: workload.Extent{Clients: 100, Connections: 100}}
	r := &recorded.Run{Info: recorded.Info{Tag: tag, Record: &results.DatabaseRun{Tag: tag, Database: tag, State: results.StateComplete}}}
	for step := range c.steps {
		clients := 100 * (step + 1)
		l.Steps = append(l.Steps, workload.Step{Clients: clients, Connections: clients})
		speed := rng.NormFloat64()*c.spread - drift
		if database == 0 {
			speed += math.Log1p(c.shift)
		}
		p99 := 10 * math.Exp(rng.NormFloat64()*c.spread+drift)
		g := &recorded.Stage{Clients: clients, Throughput: recorded.Throughput{Average: recorded.Measured(1000*math.Exp(speed), 1000)}}
		g.Latency.Due = &recorded.Distribution{Quantile: func(q float64) recorded.Measure { return recorded.Measured(p99*q, 1000) }}
		if c.steps > 1 {
			g.Label = recorded.ClientsText(clients)
		}
		r.Stages = append(r.Stages, g)
	}
	if c.steps == 1 {
		l.Steps = nil
	}
	r.Info.Record.Load.Load = l
	return r
}

// upperEnd returns the upper end of the interval for the probability of an event that happened n
// times in some trials.
func upperEnd(n, of int) float64 {
	_, high := share.Interval(n, of)
	return high
}
