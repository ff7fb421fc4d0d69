package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/coreos/dbtester/tools/audit/standin"
)

// cases returns all cases in table order.
func cases() []Case {
	return []Case{
		overloadCoolDown(), overloadWarmUp(), straggler(),
		oneStep(), allFailed(), allFailedExpected(), timeouts(), timeoutsExpected(), shed(),
		deadMember("none"), deadMember("next"), slammedDoor(), outage(),
		frozenClient(), frozenLoop(), frozenServer(), lightLoad(),
		mixedSteps(), corrupted(), otherKey(), sameFileTwice(),
		rankRule(), standardReader(), shortRows(), perMember(), differences(),
	}
}

// throughput compares the three throughputs with the server log for the window.
func throughput(f *Findings, r *Run, from, to time.Duration) {
	lowest, average, highest := r.Report.Value("MIN-THROUGHPUT"), r.Report.Value("AVG-THROUGHPUT"), r.Report.Value("MAX-THROUGHPUT")
	f.Near("AVG-THROUGHPUT is what ended ok in the window", r.Log.Rate(from, to), average, 0.02)
	f.Within("MIN <= AVG <= MAX of throughput", lowest, average, highest)
}

func overloadCoolDown() Case {
	length, cool := 4200*time.Millisecond, time.Second
	return Case{
		Name:   "overload with cool-down",
		Found:  "AVG 2,000/s with MAX 950/s: requests due in the window counted whenever they ended; exit 0",
		Server: served,
		Runs: one(func(s Scale) Plan {
			return Plan{Exit: exitInvalid, Load: fmt.Sprintf("operation: write, rate: 1000, duration: %v, cool_down: %v, clients: 50, timeout: 60s, %s", s.Pick(length, 20*time.Second), cool, small)}
		}),
		Check: func(f *Findings, runs []*Run) {
			r := runs[0]
			throughput(f, r, 0, r.length()-cool)
			m, ok := r.Record.Marked("rate not sustained", "achieved")
			f.Holds("45 % of the asked rate is INVALID", ok && m.Invalid, "an invalid mark on the rate", r.Record.Codes())
		},
	}
}

func overloadWarmUp() Case {
	length, warm := 4200*time.Millisecond, time.Second
	return Case{
		Name:   "overload with warm-up",
		Found:  "AVG 1,040/s below MIN 1,184/s with a server steady at 1,400/s",
		Server: served,
		Runs: one(func(s Scale) Plan {
			return Plan{Exit: exitInvalid, Load: fmt.Sprintf("operation: write, rate: 700, duration: %v, warm_up: %v, clients: 50, timeout: 60s, %s", s.Pick(length, 20*time.Second), warm, small)}
		}),
		Check: func(f *Findings, runs []*Run) {
			r := runs[0]
			// Without a cool-down the window may end with the duration or with the last answer. The
			// servers are always busy, so the rate is the same in both cases.
			throughput(f, r, warm, r.length())
		},
	}
}

func oneStep() Case {
	return Case{
		Name:   "one of two steps overloads",
		Found:  "one verdict for all steps",
		Server: served,
		Runs: one(func(s Scale) Plan {
			d := s.Pick(1500*time.Millisecond, 10*time.Second)
			return Plan{Exit: exitInvalid, Load: fmt.Sprintf("operation: write, steps: [{clients: 20, rate: 100, duration: %v}, {clients: 20, rate: 1000, duration: %v}], timeout: 60s, %s", d, d, small)}
		}),
		Together: true,
		Check: func(f *Findings, runs []*Run) {
			var invalid []string
			for _, m := range runs[0].Record.Marks {
				if m.Invalid {
					invalid = append(invalid, m.Text)
				}
			}
			f.Holds("INVALID names step 2 alone", len(invalid) == 1 && strings.Contains(invalid[0], "step 2"), "one mark of step 2", orMissing(invalid))
		},
	}
}

func straggler() Case {
	return Case{
		Name:   "one straggler in a closed loop",
		Found:  "AVG 489/s instead of 1,457/s, MIN 0, SLOWEST 73 ms although one request took 10 s",
		Server: quick(standin.Put, 5*time.Millisecond, func(r standin.Request) standin.Action { return standin.Action{Hang: r.N == 300} }),
		Runs: one(func(s Scale) Plan {
			return Plan{Load: fmt.Sprintf("operation: write, duration: %v, timeout: %v, clients: 5, %s", s.Pick(4*time.Second, 5*time.Second), s.Pick(6*time.Second, 10*time.Second), small)}
		}),
		Check: func(f *Findings, runs []*Run) {
			r := runs[0]
			throughput(f, r, 0, r.length())
			slowest := r.Report.Value("SLOWEST-LATENCY")
			f.Within("SLOWEST-LATENCY, ms", 0.999*1000*r.timeout().Seconds(), slowest, 1.02*1000*r.timeout().Seconds())
			f.atLeast("SLOWEST-LATENCY", r)
		},
	}
}
