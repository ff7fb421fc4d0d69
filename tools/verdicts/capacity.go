package main

import (
	"fmt"
	"io"
	"math"

	"github.com/coreos/dbtester/pkg/stats/capacity"
)

// answer is the result of a method for one server. rate, low and high are in requests per second.
type answer struct {
	rate, low, high float64 // low and high are 0 without an interval
	windows         int
	stalls          bool
	held            float64
}

// method searches for the capacity of a server.
type method struct {
	name   string
	search func(*server, capacity.Options) answer
}

func methods() []method {
	return []method{
		{"posterior", searchPosterior},
		{"isotonic fit, bootstrap", searchIsotonic},
		{"bisection", searchBisection},
		{"findmax", searchFindmax},
	}
}

// searchPosterior is the search that dbtester makes, without the hold.
func searchPosterior(s *server, o capacity.Options) answer {
	a, _ := searchWindows(s, o)
	return a
}

// seen is a window as other methods take it.
type seen struct {
	rate float64
	pass bool
}

func searchWindows(s *server, o capacity.Options) (answer, []seen) {
	search, err := capacity.New(o)
	if err != nil {
		panic(err) // the options come from this program
	}
	var windows []seen
	for {
		probe, more := search.Next()
		if !more {
			break
		}
		outcome := search.Observe(s.window(o, probe.Rate))
		windows = append(windows, seen{probe.Rate, outcome == capacity.Pass})
	}
	v := search.Verdict()
	return answer{v.Rate, v.Low, v.High, v.Windows, v.Reason == capacity.Stalls, v.Held}, windows
}

// scored counts how often a method is right.
type scored struct {
	inside, close, stalls int
	width, windows        float64 // means
	intervals             bool
}

// searched is an answer and the capacity in the middle of the search.
type searched struct {
	answer
	middle float64
}

// score runs m on n servers. truth is the capacity of a server without drift; the truth for a
// drifting server is its capacity in the middle of the search.
func score(m method, kind serverKind, o capacity.Options, truth float64, n, row int) scored {
	searches := inParallel(n, func(i int) searched {
		s := newServer(kind, seedOf(i+1, row))
		a := m.search(s, o)
		return searched{a, truth * math.Exp(s.drifted(s.spent/2))}
	})
	var out scored
	const resolution = 1.002 // how exact the truth itself is
	for _, a := range searches {
		if a.low > 0 {
			out.intervals = true
			out.width += (a.high - a.low) / a.middle / float64(n)
		}
		if a.low <= a.middle*resolution && a.middle/resolution <= a.high {
			out.inside++
		}
		if math.Abs(a.rate/a.middle-1) <= .05 {
			out.close++
		}
		if a.stalls {
			out.stalls++
		}
		out.windows += float64(a.windows) / float64(n)
	}
	return out
}

// searchOptions returns the options for all simulated searches.
func searchOptions() capacity.Options {
	o := capacity.Defaults()
	o.Hold = false
	return o
}

// capacityTable prints every method on every server: that of dbtester on n servers of each kind,
// the others on the first of these.
func capacityTable(out io.Writer, n, rivals, truthWindows int) {
	fmt.Fprintf(out, "| server | method | searches | truth | truth in interval | within 5 %% | stalls named | interval's width | windows |\n|---|---|---|---|---|---|---|---|---|\n")
	o := searchOptions()
	for k, kind := range serverKinds() {
		stalled := kind.stallEvery > 0
		t, text := 0.0, "no rate"
		if !stalled {
			t = truth(kind, o, truthWindows)
			text = fmt.Sprintf("%.0f/s", t)
		}
		for i, m := range methods() {
			n := n
			if i > 0 {
				n = min(n, rivals)
			}
			c := score(m, kind, o, t, n, 100+k) // all methods have the same servers
			percent := func(count int, applies bool) string {
				if !applies {
					return "-"
				}
				return fmt.Sprintf("%.1f %%", 100*float64(count)/float64(n))
			}
			width := "-"
			if c.intervals && !stalled {
				width = fmt.Sprintf("%.1f %%", 100*c.width)
			}
			fmt.Fprintf(out, "| %s | %s | %d | %s | %s | %s | %s | %s | %.1f |\n", kind.name, m.name, n, text,
				percent(c.inside, !stalled && c.intervals), percent(c.close, !stalled), percent(c.stalls, m.name == "posterior"), width, c.windows)
		}
	}
}
