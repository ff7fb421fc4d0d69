package main

import (
	"fmt"
	"math"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/coreos/dbtester/tools/audit/standin"
)

func mixedSteps() Case {
	return Case{
		Name:     "steps with and without a rate",
		Together: true,
		Found:    "service and response times pooled as \"response times\", and the closed loop's warning lost",
		Server:   quick(standin.Put, 3*time.Millisecond, nil),
		Runs: one(func(Scale) Plan {
			return Plan{Load: "operation: write, steps: [{clients: 4, duration: 1s, rate: 0}, {clients: 20, rate: 300, duration: 1s}], " + small}
		}),
		Check: func(f *Findings, runs []*Run) {
			r := runs[0]
			var pooled []string
			for _, name := range r.Report.Named("p99") {
				c, _ := r.Report.Cell(name)
				if float64(c.N) == r.Record.Totals["ok"] && !strings.Contains(strings.ToLower(name), "service") {
					pooled = append(pooled, name)
				}
			}
			f.Holds("no headline pools both steps", len(pooled) == 0, "equal", orNone(pooled))
			text := strings.ToLower(strings.Join(r.Report.Table.Notes, " "))
			f.Holds("the closed loop's warning is printed", strings.Contains(text, "closed"), "a note", fmt.Sprint(strings.Contains(text, "closed")))
		},
	}
}

// altered is a read load in which one answer in a hundred is wrong.
func altered(name, found string, how standin.Corruption) Case {
	return Case{
		Name:     name,
		Together: true,
		Found:    found,
		Server: quick(standin.Range, time.Millisecond, func(r standin.Request) standin.Action {
			if r.N%100 != 50 {
				return standin.Action{}
			}
			return standin.Action{Corrupt: how}
		}),
		Runs: one(func(s Scale) Plan {
			return Plan{Exit: exitAny, Altered: true, Load: fmt.Sprintf("operation: read, keys: 500, requests: %d, clients: 30, %s", s.PickN(3000, 20000), small)}
		}),
		Check: func(f *Findings, runs []*Run) {
			r := runs[0]
			wrong := 0.0
			for _, e := range r.Log {
				if e.Corrupted {
					wrong++
				}
			}
			f.Equal("reads of class wrong value", wrong, r.Record.Class("wrong value"))
			f.Equal("ok", float64(len(r.Log))-wrong, r.Record.Totals["ok"])
		},
	}
}

func corrupted() Case {
	return altered("one bit of a value is wrong", "200 corrupted of 20,000 reads were ok", standin.FlippedBit)
}

func otherKey() Case {
	return altered("a read returns another key's value", "a value was compared whole once in 1,000 reads", standin.OtherKey)
}

func sameFileTwice() Case {
	tenth := func(r standin.Request) standin.Action {
		if r.N%10 == 7 {
			return standin.Action{Refuse: refused}
		}
		return standin.Action{}
	}
	plan := func(s Scale) Plan {
		return Plan{Exit: exitAny, Script: tenth, Load: fmt.Sprintf("operation: write, requests: %d, clients: 20, %s", s.PickN(1000, 5000), small)}
	}
	return Case{
		Name:     "one file twice on a running cluster",
		Together: true,
		Found:    "4,090 keys found, 4,500 acknowledged: INVALID, and the database was accused",
		Server:   quick(standin.Put, time.Millisecond, tenth),
		Runs:     func(s Scale) []Plan { return []Plan{plan(s), plan(s)} },
		Check: func(f *Findings, runs []*Run) {
			acked := 0.0
			for i, r := range runs {
				m, found := r.Record.Marked("keys found")
				f.Holds(fmt.Sprintf("run %d: no mark on the keys", i+1), !found, "none", m.Text)
				acked += r.Record.Totals["ok"]
			}
			f.Equal("keys in the cluster are those acknowledged", acked, float64(runs[1].Keys))
		},
	}
}

func rankRule() Case {
	const n, spacing, way = 21, 20 * time.Millisecond, time.Millisecond
	return Case{
		Name:  "the rank of a percentile",
		Found: "14 of 64 printed percentiles were one rank below ceil(q*n)",
		Server: quick(standin.Put, time.Millisecond, func(r standin.Request) standin.Action {
			return standin.Action{Delay: time.Duration(r.N+1) * spacing}
		}),
		Runs: one(func(Scale) Plan {
			return Plan{Load: fmt.Sprintf("operation: write, requests: %d, clients: 1, %s", n, small)}
		}),
		Check: func(f *Findings, runs []*Run) {
			r := runs[0]
			var took []float64
			for _, e := range r.Log {
				took = append(took, 1000*e.Took().Seconds())
			}
			for _, q := range []float64{0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99} {
				name, truth := fmt.Sprintf("Latency p%g", 100*q), quantile(q, took)
				f.Within(name+", ms", truth-0.1, r.Report.Value(name), truth+1000*(spacing-way).Seconds()) // below the next rank
			}
		},
	}
}

func standardReader() Case {
	return Case{
		Name:     "the standard reader of latency logs",
		Together: true,
		Found:    "HdrHistogram's own log processor dropped the first second: 14,775 of 15,000",
		Server:   quick(standin.Put, 3*time.Millisecond, nil),
		Runs: one(func(s Scale) Plan {
			return Plan{Load: fmt.Sprintf("operation: write, rate: 300, duration: %v, clients: 20, %s", s.Pick(2*time.Second, 20*time.Second), small)}
		}),
		Check: func(f *Findings, runs []*Run) { compareReaders(f, runs[0]) },
	}
}

func perMember() Case {
	return Case{
		Name:     "where requests went",
		Together: true,
		Found:    "connections went to all in turn, requests did not: the leader took 43 %; not recorded",
		Server: quick(standin.Put, 0, func(r standin.Request) standin.Action {
			return standin.Action{Delay: time.Duration(r.Member+1) * 3 * time.Millisecond}
		}),
		Runs: one(func(s Scale) Plan {
			return Plan{Load: fmt.Sprintf("operation: write, duration: %v, clients: 9, %s", s.Pick(2*time.Second, 10*time.Second), small)}
		}),
		Check: func(f *Findings, runs []*Run) {
			r := runs[0]
			rows, err := r.Record.csv("members.csv")
			if err != nil || len(rows) == 0 {
				f.Holds("members.csv", false, "ok of each member", "no such file")
				return
			}
			truth, got := map[int]float64{}, map[int]float64{}
			for _, e := range r.Log {
				if e.End == standin.Answered {
					truth[e.Member]++
				}
			}
			first := math.Inf(1) // members count from 0 or from 1
			for _, row := range rows {
				first = min(first, row.Num("member"))
			}
			for _, row := range rows {
				got[int(row.Num("member")-first)] += row.Num("ok")
			}
			for member := range 3 {
				f.Equal(fmt.Sprintf("ok of member %d", member+1), truth[member], got[member])
			}
			f.Holds("the transport is a row", len(r.Report.Named("TRANSPORT")) > 0, "a row", orMissing(r.Report.Named("TRANSPORT")))
		},
	}
}

func differences() Case {
	plan := func(arrival, timeout string) Plan {
		return Plan{Load: fmt.Sprintf("operation: write, rate: 100, duration: 1s, clients: 10, arrival: %s, timeout: %s, %s", arrival, timeout, small)}
	}
	return Case{
		Name:     "two runs that differ",
		Together: true,
		Found:    "no line on other arrivals",
		Server:   quick(standin.Put, time.Millisecond, nil),
		Runs:     func(Scale) []Plan { return []Plan{plan("constant", "1s"), plan("poisson", "2s")} },
		Check: func(f *Findings, runs []*Run) {
			out, err := exec.Command(runs[0].Program, "analyze", "--all", "--out", folderOf(runs[1])+"-both", folderOf(runs[0]), folderOf(runs[1])).CombinedOutput()
			if err != nil {
				f.Holds("analyze of both", false, "a report", fmt.Sprintf("%v: %s", err, lastLine(string(out))))
				return
			}
			var unequal []string
			for _, line := range strings.Split(string(out), "\n") {
				if strings.Contains(strings.ToUpper(line), "UNEQUAL") {
					unequal = append(unequal, strings.ToLower(line))
				}
			}
			named := func(word string) bool {
				return slices.ContainsFunc(unequal, func(line string) bool { return strings.Contains(line, word) })
			}
			f.Holds("UNEQUAL names the arrivals", named("poisson"), "a line", orMissing(unequal))
			// No request in either run took that long, so the timeouts had no effect.
			f.Holds("UNEQUAL leaves out time-outs that did not act", !named("timeout") && !named("time-out"), "no line", orMissing(unequal))
		},
	}
}
