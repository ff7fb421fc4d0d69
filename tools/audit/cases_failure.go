package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/coreos/dbtester/tools/audit/standin"
)

func refuseAll(standin.Request) standin.Action { return standin.Action{Refuse: refused} }

func allFailed() Case {
	return Case{
		Name:     "every request fails",
		Together: true,
		Found:    "exit 0, valid, no mark",
		Server:   quick(standin.Put, time.Millisecond, refuseAll),
		Runs: one(func(s Scale) Plan {
			return Plan{Exit: exitInvalid, Load: fmt.Sprintf("operation: write, rate: 200, duration: %v, clients: 20, %s", s.Pick(time.Second, 10*time.Second), small)}
		}),
		Check: func(f *Findings, runs []*Run) {
			r := runs[0]
			m, ok := r.Record.Marked("failed")
			f.Holds("failed requests are INVALID", ok && m.Invalid, "an invalid mark on failures", r.Record.Codes())
			f.Holds("the report is not valid", !r.Report.Valid, "false", fmt.Sprint(r.Report.Valid))
			f.Equal("failed", r.Log.Count(standin.Refused), r.Record.Totals["failed"])
			text := r.Report.Text("Latency p90")
			f.Holds("Latency p90", strings.Contains(text, "not answered"), "not answered", text)
		},
	}
}

func allFailedExpected() Case {
	return Case{
		Name:     "every request fails, as expected",
		Together: true,
		Found:    "a file had no key for it",
		Server:   quick(standin.Put, time.Millisecond, refuseAll),
		Runs: one(func(Scale) Plan {
			return Plan{Exit: exitDone, Load: "operation: write, rate: 200, duration: 1s, clients: 20, expect: {failed: 100%}, " + small}
		}),
		Check: func(f *Findings, runs []*Run) {
			r := runs[0]
			m, ok := r.Record.Marked("expect")
			f.Holds("what was expected is printed", ok && !m.Invalid || len(r.Report.Named("EXPECT")) > 0, "a mark or a row", r.Record.Codes())
		},
	}
}

// hang leaves 16 % of the requests unanswered.
func hang(r standin.Request) standin.Action { return standin.Action{Hang: r.N%25 < 4} }

func timeoutsExpected() Case {
	return Case{
		Name:     "16 % of requests time out, as expected",
		Together: true,
		Found:    "a file had no key for it",
		Server:   quick(standin.Put, 2*time.Millisecond, hang),
		Runs: one(func(Scale) Plan {
			return Plan{Exit: exitDone, Load: "operation: write, rate: 250, duration: 1s, clients: 100, timeout: 200ms, expect: {unknown: 100%}, " + small}
		}),
		Check: func(f *Findings, runs []*Run) {
			f.Equal("unknown", runs[0].Log.Count(standin.Abandoned), runs[0].Record.Totals["unknown"])
		},
	}
}

func timeouts() Case {
	const patience = 200 * time.Millisecond
	return Case{
		Name:   "16 % of requests time out",
		Found:  "p90 9.4 ms, SLOWEST 207 ms: percentiles of the survivors; the server was not told the time-out",
		Server: quick(standin.Put, 2*time.Millisecond, hang),
		Runs: one(func(s Scale) Plan {
			return Plan{Exit: exitInvalid, Load: fmt.Sprintf("operation: write, rate: 250, duration: %v, clients: 100, timeout: %v, %s", s.Pick(2*time.Second, 20*time.Second), patience, small)}
		}),
		Check: func(f *Findings, runs []*Run) {
			r := runs[0]
			f.Equal("unknown", r.Log.Count(standin.Abandoned), r.Record.Totals["unknown"])
			f.Within("Latency p90, ms", 200, r.Report.Value("Latency p90"), 210)
			f.atLeast("Latency p90", r)
			f.Within("Latency p75, ms", 2, r.Report.Value("Latency p75"), 100)
			m, ok := r.Record.Marked("unknown", "time-out", "timed out")
			f.Holds("16 % unknown is INVALID", ok && m.Invalid, "an invalid mark on unknown requests", r.Record.Codes())
			told := 0
			for _, e := range r.Log {
				if e.Timeout > patience/2 && e.Timeout < patience*11/10 {
					told++
				}
			}
			f.Equal("requests that brought their time-out", float64(len(r.Log)), float64(told))
		},
	}
}

func shed() Case {
	return Case{
		Name:   "shed requests have no time",
		Found:  "each was given >= 9,999 ms though it was dropped 1 ms after it was due",
		Server: served,
		Runs: one(func(s Scale) Plan {
			return Plan{Exit: exitInvalid, Load: fmt.Sprintf("operation: write, rate: 1000, duration: %v, clients: 9, backlog: shed, %s", s.Pick(time.Second, 20*time.Second), small)}
		}),
		Check: func(f *Findings, runs []*Run) {
			r := runs[0]
			text := r.Report.Text("Latency p90")
			f.Holds("Latency p90", strings.Contains(text, "not answered"), "not answered", text)
			var bounds []string
			for _, name := range r.Report.Named("Offered") {
				if text := r.Report.Text(name); strings.HasPrefix(text, ">=") {
					bounds = append(bounds, name+" "+text)
				}
			}
			f.Holds("no bound is made up", len(bounds) == 0, "equal", orNone(bounds))
		},
	}
}

// death returns when a member dies, and how long the load lasts.
func death(s Scale) (at, length time.Duration) {
	return s.Pick(1500*time.Millisecond, 5*time.Second), s.Pick(4500*time.Millisecond, 20*time.Second)
}

// deadMember stops one of three members. Without failover its clients, a third of all, have no
// server from then on.
func deadMember(failover string) Case {
	// Each request takes so long that the server delay, not the processor, determines the
	// throughput.
	const clients, delay = 30, 40 * time.Millisecond
	share := 0.0 // share of clients without a server
	if failover == "none" {
		share = 1.0 / 3
	}
	died := time.Duration(0)
	return Case{
		Name:   "a member dies, failover " + failover,
		Found:  "36,000 to 500,000 failed requests a second from the clients of one dead member; exit 0",
		Server: quick(standin.Put, delay, nil),
		Runs: one(func(s Scale) Plan {
			at, length := death(s)
			died = at
			return Plan{
				Exit: exitAny, // depends on how much client time was without a server
				Load: fmt.Sprintf("operation: write, duration: %v, clients: %d, timeout: 1s, failover: %s, %s", length, clients, failover, small),
				During: func(ctx context.Context, live *Live) error {
					return pause(ctx, at, func() { live.Cluster.Stop(1) })
				},
			}
		}),
		Check: func(f *Findings, runs []*Run) {
			r := runs[0]
			bounded(f, r, clients)
			before, after := r.Log.Rate(10*delay, died), r.Log.Rate(died+time.Second, r.length())
			f.Within("answers a second afterwards, of those before", (1-share)*0.85, after/before, (1-share)*1.1)
			withoutServer(f, r, share*(r.length()-died).Seconds()/r.length().Seconds())
			names := r.Report.Named("RECONNECT")
			f.Holds("reconnects are a row", len(names) > 0, "a row", orMissing(names))
		},
	}
}

// bounded allows each client one failed and one unknown request when its connection breaks, and one
// more.
func bounded(f *Findings, r *Run, clients float64) {
	f.Within("failed and unknown requests: no busy loop", 0, r.Record.Totals["failed"]+r.Record.Totals["unknown"], 3*clients)
}

// withoutServer requires a row with the percentage of client time without a server.
func withoutServer(f *Findings, r *Run, share float64) {
	const what = "client time without a server is a row"
	names := r.Report.Named("WITHOUT", "SERVER")
	if len(names) == 0 {
		f.Holds(what, false, "a row", orMissing(names))
		return
	}
	f.Within(what+", %", 100*share-3, r.Report.Value(names[0]), 100*share+3)
}

// slammedDoor counts on the server how often clients of one member reconnect.
func slammedDoor() Case {
	const clients = 30
	after := time.Duration(0)
	return Case{
		Name:     "a member closes every connection",
		Together: true,
		Found:    "clients reconnected and failed without a pause",
		Server:   quick(standin.Put, 5*time.Millisecond, nil),
		Runs: one(func(s Scale) Plan {
			at, length := death(s)
			after = length - at
			return Plan{
				Exit: exitAny, // as above
				Load: fmt.Sprintf("operation: write, duration: %v, clients: %d, timeout: 1s, %s", length, clients, small),
				During: func(ctx context.Context, live *Live) error {
					var slammed error
					err := pause(ctx, at, func() { slammed = live.Cluster.Slam(1) })
					return errors.Join(err, slammed)
				},
			}
		}),
		Check: func(f *Findings, runs []*Run) {
			r := runs[0]
			bounded(f, r, clients)
			f.Within("connections the member saw: at most 20 a second from each of its clients", 1, float64(r.Slammed), clients/3*20*after.Seconds())
		},
	}
}

// outage stops all members for 0.3 s during a load.
func outage() Case {
	const clients = 20
	return Case{
		Name:     "all members are gone for 0.3 s",
		Together: true,
		Found:    "55,668 of 60,000 requests failed in the outage",
		Server:   quick(standin.Put, 10*time.Millisecond, nil),
		Runs: one(func(s Scale) Plan {
			return Plan{
				Exit: exitAny, // as above
				Load: fmt.Sprintf("operation: write, requests: %d, clients: %d, timeout: 5s, %s", s.PickN(4000, 20000), clients, small),
				During: func(ctx context.Context, live *Live) error {
					return errors.Join(pause(ctx, time.Second, func() { each(live.Cluster.Stop) }),
						pause(ctx, 300*time.Millisecond, func() {}), live.Cluster.Restart(0), live.Cluster.Restart(1), live.Cluster.Restart(2))
				},
			}
		}),
		Check: func(f *Findings, runs []*Run) { bounded(f, runs[0], clients) },
	}
}

// each calls do for all three members.
func each(do func(member int)) {
	for member := range 3 {
		do(member)
	}
}
