package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/coreos/dbtester/tools/audit/standin"
)

// durations finds times such as 1.98s in a text.
var durations = regexp.MustCompile(`\d+(\.\d+)? ?(ms|s)\b`)

// mentions reports whether text contains a time that differs from want by less than a tenth.
func mentions(text string, want time.Duration) bool {
	return slices.ContainsFunc(durations.FindAllString(text, -1), func(s string) bool {
		d, err := time.ParseDuration(strings.ReplaceAll(s, " ", ""))
		return err == nil && d > want*9/10 && d < want*11/10
	})
}

// frozen returns when control is stopped, for how long, and how long the load lasts.
func frozen(s Scale) (at, stop, length time.Duration) {
	return time.Second, s.Pick(1500*time.Millisecond, 5*time.Second), s.Pick(4500*time.Millisecond, 14*time.Second)
}

// frozenRun stops control during a load.
func frozenRun(load func(Scale) string) func(Scale) []Plan {
	return one(func(s Scale) Plan {
		at, stop, length := frozen(s)
		return Plan{
			Exit: exitAny, // this case does not decide whether the run is valid
			Load: fmt.Sprintf("operation: write, %s, duration: %v, %s", load(s), length, small),
			During: func(ctx context.Context, live *Live) error {
				return pause(ctx, at, func() { stopFor(ctx, live.Process, stop) })
			},
		}
	})
}

func frozenClient() Case {
	return Case{
		Name:   "control is stopped, the servers are not",
		Found:  "only the rate was accused; LATENESS p99 0.495 ms",
		Server: quick(standin.Put, 3*time.Millisecond, nil),
		Runs: frozenRun(func(s Scale) string {
			return fmt.Sprintf("rate: %d, clients: %d", s.PickN(400, 800), s.PickN(8, 30))
		}),
		Check: func(f *Findings, runs []*Run) {
			r := runs[0]
			stop := r.Log.LargestGap()
			blamed(f, r, stop)
			// Requests became due evenly during the stop, and this share of all was late by up to
			// its length.
			late := 1000 * stop.Seconds() * (1 - 0.01*r.length().Seconds()/stop.Seconds())
			f.Within("LATENESS p99, ms", 0.9*late, r.Report.Value("LATENESS p99"), 1.2*late)
		},
	}
}

func frozenLoop() Case {
	return Case{
		Name:   "control is stopped in a closed loop",
		Found:  "INSIDE-SHARE 100 %: the stop counted as the servers' time",
		Server: quick(standin.Put, 3*time.Millisecond, nil),
		Runs:   frozenRun(func(Scale) string { return "clients: 4" }),
		Check:  func(f *Findings, runs []*Run) { blamed(f, runs[0], runs[0].Log.LargestGap()) },
	}
}

// blamed requires records that the client stopped, and for how long.
func blamed(f *Findings, r *Run, stop time.Duration) {
	named := slices.ContainsFunc(r.Record.Marks, func(m Mark) bool {
		return strings.Contains(strings.ToLower(m.Code+m.Text), "client") && mentions(m.Text, stop)
	})
	f.Holds("a mark names the client and the length of the stop", named, stop.Round(time.Millisecond).String(), r.Record.Codes())
	events, err := os.ReadFile(filepath.Join(r.Record.Folder, "events.jsonl"))
	marked := err == nil && slices.ContainsFunc(strings.Split(string(events), "\n"), func(line string) bool {
		return strings.Contains(line, "client") && (strings.Contains(line, "stopped") || strings.Contains(line, "starved"))
	})
	f.Holds("the stretch is marked in the records", marked, "an event", fmt.Sprint(marked))
}

// stopFor stops a process and always continues it.
func stopFor(ctx context.Context, p *os.Process, d time.Duration) {
	if p.Signal(syscall.SIGSTOP) != nil {
		return // the process has ended
	}
	_ = pause(ctx, d, func() {}) // continue the process even if ctx has ended
	_ = p.Signal(syscall.SIGCONT)
}

func frozenServer() Case {
	freeze, rate, length, tolerance := standin.Stretch{}, 100, time.Duration(0), 0.01
	const delay = 2 * time.Millisecond
	at := func(s Scale) standin.Stretch {
		from := s.Pick(2*time.Second, 30*time.Second)
		return standin.Stretch{From: from, To: from + s.Pick(1500*time.Millisecond, 10*time.Second)}
	}
	return Case{
		Name:  "the servers freeze once",
		Found: "percentiles were right; \"client late\" hid \"rate not sustained\"",
		Server: func(s Scale) standin.Options {
			return standin.Options{Members: 3, Load: standin.Put, Delay: delay, Freeze: []standin.Stretch{at(s)}}
		},
		Runs: one(func(s Scale) Plan {
			freeze, rate, length = at(s), s.PickN(200, 100), s.Pick(6*time.Second, 100*time.Second)
			if !s.Full {
				tolerance = 0.05 // draining the queue takes a larger part of a short freeze
			}
			return Plan{Exit: exitAny, Load: fmt.Sprintf("operation: write, rate: %d, duration: %v, clients: 50, timeout: 60s, %s", rate, length, small)}
		}),
		Check: func(f *Findings, runs []*Run) {
			r := runs[0]
			// The server clock starts with the first arrival, slightly after the schedule starts.
			shift := r.Log[0].Arrived.Sub(r.Log.Origin(float64(rate)))
			shifted := standin.Stretch{From: freeze.From + shift, To: freeze.To + shift}
			theory, logged := stalled(float64(rate), length, delay, shifted), r.Log.Responses(float64(rate))
			// Theory ignores the time to drain the queue, which matters less at higher ranks.
			f.Near("Latency p99 of theory, ms", quantile(0.99, theory), r.Report.Value("Latency p99"), tolerance)
			for _, q := range []float64{0.95, 0.99} {
				name := fmt.Sprintf("Latency p%g", 100*q)
				f.Near(name+" of the servers' log, ms", quantile(q, logged), r.Report.Value(name), tolerance)
			}
			_, ok := r.Record.Marked("queueing")
			f.Holds("the queue is marked", ok, "a mark", r.Record.Codes())
		},
	}
}

func lightLoad() Case {
	return Case{
		Name:   "a client with little to do",
		Full:   true, // tests share their machine with others
		Found:  "\"client saturated\" in runs that used 6 % of a core",
		Server: quick(standin.Put, 20*time.Millisecond, nil),
		Runs: one(func(s Scale) Plan {
			return Plan{Load: fmt.Sprintf("operation: write, rate: 100, duration: %v, clients: 20, %s", s.Pick(3*time.Second, 20*time.Second), small)}
		}),
		Check: func(f *Findings, runs []*Run) {
			m, found := runs[0].Record.Marked("client saturated")
			f.Holds("no mark on the client", !found, "none", m.Text)
		},
	}
}

func shortRows() Case {
	freeze := standin.Stretch{From: 800 * time.Millisecond, To: 1500 * time.Millisecond}
	return Case{
		Name:  "the largest gap between answers",
		Found: "rows of one second hide an outage of 0.7 s",
		Server: func(Scale) standin.Options {
			return standin.Options{Members: 3, Load: standin.Put, Delay: 3 * time.Millisecond, Freeze: []standin.Stretch{freeze}}
		},
		Runs: one(func(s Scale) Plan {
			return Plan{Exit: exitAny, Load: fmt.Sprintf("operation: write, rate: 300, duration: %v, clients: 300, %s", s.Pick(2500*time.Millisecond, 20*time.Second), small)}
		}),
		Check: func(f *Findings, runs []*Run) {
			r := runs[0]
			truth, found := 1000*r.Log.LargestGap().Seconds(), r.Report.Named("GAP")
			got := nan
			for _, name := range found {
				got = r.Report.Value(name)
			}
			f.Near("the largest gap between two ok answers, ms", truth, got, 0.02)
			rows, err := r.Record.csv("progress.csv")
			if err != nil || len(rows) == 0 {
				f.Holds("progress.csv", false, "rows of 100 ms", fmt.Sprint(len(rows), " rows"))
				return
			}
			due, ok, silent := 0.0, 0.0, 0
			for _, row := range rows {
				due, ok = due+row.Num("due"), ok+row.Num("ok")
				if row.Num("ok") == 0 && row.Num("in_flight") > 0 {
					silent++
				}
			}
			f.Equal("due of progress.csv", r.Record.Totals["offered"], due)
			f.Equal("ok of progress.csv", r.Record.Totals["ok"], ok)
			least, most := r.Log.silentTenths()
			f.Within("rows of 100 ms without an answer", least, float64(silent), most)
		},
	}
}
