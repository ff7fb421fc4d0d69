// Package capacity declares the search for the rate that a database sustains under a latency limit.
package capacity

import (
	"cmp"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/coreos/dbtester/pkg/ability"
	"github.com/coreos/dbtester/pkg/workload"
	"github.com/coreos/dbtester/pkg/yamlfile"
)

// Bounds on a search.
const (
	shortestWindow = 100 * time.Millisecond
	fewestWindows  = 12
	mostWindows    = 1000
	// firstRate is in requests per second. clients is a default: 500 clients can wait 20 ms each
	// at 25,000 requests per second.
	firstRate = 250
	clients   = 500
	// highestQuantile bounds the quantile that a search may limit: 1 request in 10,000 is above it.
	highestQuantile = 99.99
)

// Ability returns the declaration.
func Ability() ability.Ability {
	return ability.Ability{Name: "capacity", Keys: Keys(), Whole: true, Record: Record(), Search: search()}
}

// Of returns the search that the values ask for, or nil.
func Of(v ability.Values) *Plan {
	if c := Keys().Of(v); c != (Plan{}) {
		return &c
	}
	return nil
}

func search() *ability.Search {
	return &ability.Search{
		Key: Keys().Key, Words: "a search for a capacity", Load: load,
		Lasts: func(v ability.Values, rate float64) (all, step time.Duration) {
			c := Keys().Of(v)
			return c.Longest(rate), c.Settle + max(c.LastWindow(rate), c.WindowAt(rate), c.WarmUp)
		},
	}
}

// Keys declares the keys in an experiment file.
func Keys() ability.Section[Plan] {
	return ability.Section[Plan]{
		Key: "capacity", Meaning: "searches for the rate that each database sustains under a latency limit, instead of running one load: the [`capacity` keys](#keys-of-capacity)",
		Fields: section, Resolved: resolve,
		Shown: func(c Plan, _ workload.Load) *yamlfile.Node {
			if c == (Plan{}) {
				return nil
			}
			return section().Show(&c).Flow()
		},
	}
}

// section declares the search.
func section() yamlfile.Section[Plan] {
	length := func(name, preset, meaning string, at func(*Plan) *time.Duration) yamlfile.Field[Plan] {
		return yamlfile.Key[Plan, time.Duration]{Row: yamlfile.Row{Name: name, Preset: preset, Meaning: meaning}, Kind: yamlfile.DurationKind(), At: at}.Field()
	}
	share := func(name, preset, meaning string, at func(*Plan) *workload.Percent) yamlfile.Field[Plan] {
		return yamlfile.Key[Plan, workload.Percent]{Row: yamlfile.Row{Name: name, Preset: preset, Meaning: meaning}, Kind: ability.PercentKind(), At: at}.Field()
	}
	return yamlfile.Section[Plan]{Fields: []yamlfile.Field[Plan]{
		yamlfile.Key[Plan, time.Duration]{
			Row:  yamlfile.Row{Name: "latency", Preset: "20ms", Meaning: "the latency limit, counted from when a request was due"},
			Kind: yamlfile.ShortDurationKind(), At: func(c *Plan) *time.Duration { return &c.Latency },
		}.Field(),
		yamlfile.Key[Plan, workload.Percent]{
			Row:  yamlfile.Row{Name: "at", Preset: "p99", Meaning: "percentile of all offered requests that must stay within the limit, from `p50` to `p99.99`: a window must have a request above it at a rate that the clients carry"},
			Kind: quantileKind(), At: func(c *Plan) *workload.Percent { return &c.At },
		}.Field(),
		share("errors", "0.1%", "largest share of requests that may fail", func(c *Plan) *workload.Percent { return &c.Errors }),
		length("window", "8s", "how long one rate is measured, at least `100ms`; at low rates up to four times as long, until 5 requests may miss the limit", func(c *Plan) *time.Duration { return &c.Window }),
		length("settle", "2s", "unmeasured time at the same rate before each window", func(c *Plan) *time.Duration { return &c.Settle }),
		length("warm_up", "0s", "time at the first rate before the first window; servers that compile while they run, such as ZooKeeper, need it", func(c *Plan) *time.Duration { return &c.WarmUp }),
		share("share", "80%", "the share of windows that pass at the rate in question, from `50%` to `95%`", func(c *Plan) *workload.Percent { return &c.Share }),
		share("tolerance", "6%", "interval width, relative to its rate, at which the search ends, from `0.1%` to `50%`", func(c *Plan) *workload.Percent { return &c.Tolerance }),
		yamlfile.Key[Plan, int]{
			Row:  yamlfile.Row{Name: "windows", Unit: "windows", Preset: "40", Meaning: "largest number of windows in a search, from 12 to 1,000"},
			Kind: yamlfile.SmallKind(), At: func(c *Plan) *int { return &c.Windows },
		}.Field(),
		length("hold", "60s", "length of a final window at the rate that was found, or at a lower rate that holds for this long; `0s` means none", func(c *Plan) *time.Duration { return &c.Hold }),
	}}
}

// quantileKind accepts a quantile such as p99 or p99.9, from p50 to p99.99.
func quantileKind() yamlfile.Kind[workload.Percent] {
	return yamlfile.Kind[workload.Percent]{
		Unit: "quantile",
		Parse: func(r *yamlfile.Reader, key string, node *yamlfile.Node) (workload.Percent, bool) {
			text, ok := yamlfile.Filled(r, key, node)
			if !ok {
				return 0, false
			}
			digits, named := strings.CutPrefix(text, "p")
			f, err := strconv.ParseFloat(digits, 64)
			if !named || err != nil || !(f >= 50 && f <= highestQuantile) {
				r.Errorf(node, "%s: want a quantile from p50 to p%v, such as p99, got %q", key, highestQuantile, text)
				return 0, false
			}
			return workload.Percent(f), true
		},
		Node:   func(p workload.Percent) *yamlfile.Node { return yamlfile.TextNode(Plan{At: p}.Quantile()) },
		Schema: yamlfile.Schema{"type": "string", "pattern": `^p[5-9][0-9](\.[0-9]+)?$`},
	}
}

// resolve resolves the search in a file. Without a search the plan is zero.
func resolve(r *yamlfile.Reader, _, all yamlfile.Written[Plan], _ *ability.Database) Plan {
	if !all.Given() {
		return Plan{}
	}
	c := section().Filled(all)
	must := func(ok bool, key, format string, args ...any) {
		if !ok {
			r.Errorf(cmp.Or(all.NodeOf(key), all.Node), key+" "+format, args...)
		}
	}
	must(c.Latency > 0, "latency", "must be positive, got %v", c.Latency)
	must(c.Errors < 100, "errors", "must be less than 100%%, got %v", c.Errors)
	must(c.Window >= shortestWindow, "window", "must be at least %v, got %v", shortestWindow, c.Window)
	must(c.Window >= 2*c.Latency, "window", "must be at least twice the latency (%v), got %v", c.Latency, c.Window)
	must(c.Share >= 50 && c.Share <= 95, "share", "must be from 50%% to 95%%, got %v", c.Share)
	must(c.Tolerance >= .1 && c.Tolerance <= 50, "tolerance", "must be from 0.1%% to 50%%, got %v", c.Tolerance)
	must(c.Windows >= fewestWindows && c.Windows <= mostWindows, "windows", "must be from %d to %d, got %d", fewestWindows, mostWindows, c.Windows)
	must(c.Hold == 0 || c.Hold >= c.Window, "hold", "must be 0s or at least the window (%v), got %v", c.Window, c.Hold)
	return c
}

// load adapts a load to a search: updates to existing keys unless the file gives an operation, for
// the longest stretch at one rate. Its rate is that of the first window.
func load(r *yamlfile.Reader, v ability.Values, keys ability.LoadKeys, l *workload.Load) {
	c := Keys().Of(v)
	given := func(key string) bool { return keys.Place(key).Set() }
	for _, key := range []string{"requests", "steps", "rate_end", "ramp"} {
		if p := keys.Place(key); p.Set() {
			r.Errorf(p.At, "%s: a search for a capacity decides how long and at which rates requests are sent; leave it out", p.Key)
		}
	}
	same := func(key string, is, want time.Duration) {
		if p := keys.Place(key); p.Set() && is != want {
			r.Errorf(p.At, "%s: a search for a capacity has windows, with settle before each; leave it out", p.Key)
		}
	}
	if l.Rate == 0 {
		l.Rate = firstRate
	}
	length := c.Settle + c.LastWindow(max(l.Rate, c.Least()))
	same("duration", l.Duration, length)
	same("warm_up", l.WarmUp, c.Settle)
	same("cool_down", l.CoolDown, 0)
	if p := keys.Place("backlog"); p.Set() && l.Backlog != workload.BacklogShed {
		r.Errorf(p.At, "backlog: a search for a capacity sheds requests that find every client busy; leave it out")
	}
	if p := keys.Place("bind"); p.Set() && l.Bind != workload.BindAny {
		r.Errorf(p.At, "bind: a search for a capacity gives a request to any client that is free; leave it out")
	}
	if p := keys.Place("arrival"); p.Set() && l.Arrival.Waves() {
		r.Errorf(p.At, "arrival: a search for a capacity needs constant rates, got %s", l.Arrival)
	}
	if c.Latency >= l.Timeout {
		r.Errorf(keys.At("timeout"), "timeout must be more than the latency of capacity (%v), got %v", c.Latency, l.Timeout)
	}
	if !given("operation") && !given("mix") && !given("workload") {
		l.Operation = workload.OpUpdate
	}
	if !given("clients") {
		l.Clients = clients
	}
	if carried := float64(l.Clients) / c.Latency.Seconds(); c.Latency > 0 && c.Window >= shortestWindow && c.Least() > carried {
		r.Errorf(keys.At("clients"), "clients: a window of %v has a request above %s from %.0f requests/s on, and %d clients carry at most %.0f within %v; give more clients, a longer window or a lower quantile",
			c.Window, c.Quantile(), math.Ceil(c.Least()), l.Clients, carried, c.Latency)
	}
	l.Requests, l.Duration, l.Steps, l.WarmUp, l.Backlog = 0, length, nil, c.Settle, workload.BacklogShed
}
