package analyze

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/coreos/dbtester/pkg/results"
)

// clientGroup is the part of a load with one number of clients, or, where that
// matters, with one number and one rate.
type clientGroup struct {
	label   string
	clients int
	rate    [2]float64
	ok      float64 // requests answered
	seconds float64
	latency sums
	p99     Cell
	unix    map[int64]bool // the whole seconds in it
}

// byClients groups a load by its numbers of clients, ascending: the steps' own
// summaries where there are any, else the recorded seconds that one step had to
// itself.
func (c *column) byClients() []clientGroup {
	groups := c.groupSeconds(func(s second) bool { return c.whole(s.unix) })
	for _, g := range c.groupSeconds(func(second) bool { return true }) {
		if !slices.ContainsFunc(groups, func(w clientGroup) bool { return w.clients == g.clients }) {
			groups = append(groups, g)
		}
	}
	slices.SortFunc(groups, func(a, b clientGroup) int { return a.clients - b.clients })
	if len(c.steps) == 0 {
		return groups
	}
	for i := range groups {
		groups[i].take(c.steps, func(s results.StepSummary) bool { return s.Clients == groups[i].clients })
	}
	return groups
}

// take puts the true numbers of the steps in place of those of the seconds.
func (g *clientGroup) take(steps []results.StepSummary, keep func(results.StepSummary) bool) {
	h := results.NewHistogram()
	var merged results.Latency
	g.ok, g.seconds, g.latency = 0, 0, sums{}
	for _, s := range steps {
		if !keep(s) {
			continue
		}
		g.ok += float64(s.OK)
		g.seconds += s.Window.Seconds()
		g.latency.add(sumsOf(s.Latency))
		merged = merged.Merge(s.Latency)
		h.Merge(s.Histogram)
	}
	g.p99 = percentile(distributionOf(merged, h), .99)
}

// stages are the parts of a load that the table tells apart: by clients, and by
// rates if it had several.
func (c *column) stages() []clientGroup {
	if !c.steppedRates() || len(c.steps) == 0 {
		return c.byClients()
	}
	var out []clientGroup
	for _, s := range c.run.Steps {
		label := c.stepLabel(s)
		if slices.ContainsFunc(out, func(g clientGroup) bool { return g.label == label }) {
			continue
		}
		g := clientGroup{label: label, clients: s.Clients, rate: rateOf(s)}
		g.take(c.steps, func(sum results.StepSummary) bool {
			at := slices.IndexFunc(c.run.Steps, func(r results.Step) bool { return r.Index == sum.Step })
			return at >= 0 && c.stepLabel(c.run.Steps[at]) == label
		})
		out = append(out, g)
	}
	return out
}

func (c *column) groupSeconds(keep func(second) bool) []clientGroup {
	var out []clientGroup
	for _, s := range c.seconds {
		if !keep(s) {
			continue
		}
		at := slices.IndexFunc(out, func(g clientGroup) bool { return g.clients == s.clients })
		if at < 0 {
			at = len(out)
			out = append(out, clientGroup{label: clientsText(s.clients), clients: s.clients, unix: map[int64]bool{}, p99: missing("a classic run does not record it by step")})
		}
		g := &out[at]
		g.ok += s.ok
		g.seconds++
		g.latency.add(s.latency)
		g.unix[s.unix] = true
	}
	return out
}

// throughput and meanLatency are true means: requests over seconds and latencies
// over requests.
func (g clientGroup) throughput() float64 { return g.ok / g.seconds }

func (g clientGroup) meanLatency() float64 {
	if g.latency.count == 0 {
		return math.NaN()
	}
	return g.latency.sum / g.latency.count
}

// value is the true mean of a quantity of the series: for what was sampled, the
// mean of the sampled whole seconds.
func (g clientGroup) value(s *series, name string) float64 {
	switch name {
	case "AVG-THROUGHPUT":
		return g.throughput()
	case "AVG-LATENCY-MS":
		return g.meanLatency()
	}
	sum, n := 0.0, 0.0
	values := s.column(name)
	for i, unix := range s.unix {
		if values != nil && g.unix[unix] && !math.IsNaN(values[i]) {
			sum += values[i]
			n++
		}
	}
	return sum / n // NaN without a sample
}

// stepRows are the rows of stepped loads, one set for each number of clients and
// rate.
func stepRows(columns []*column) (out []row) {
	stages := map[*column][]clientGroup{}
	var told []clientGroup
	for _, c := range columns {
		stages[c] = c.stages()
		if c.stepped() || c.steppedRates() {
			told = append(told, stages[c]...)
		}
	}
	slices.SortStableFunc(told, func(a, b clientGroup) int {
		return cmp.Or(cmp.Compare(a.clients, b.clients), slices.Compare(a.rate[:], b.rate[:]))
	})
	said := map[string]bool{}
	for _, stage := range told {
		if said[stage.label] {
			continue
		}
		said[stage.label] = true
		of := func(get func(clientGroup) Cell) func(*column) Cell {
			return func(c *column) Cell {
				for _, g := range stages[c] {
					if g.label == stage.label {
						return get(g)
					}
				}
				return inapplicable("it had no step of %s", stage.label)
			}
		}
		out = append(out, rowsOfStage(stage.label, of)...)
	}
	return out
}

func rowsOfStage(label string, of func(func(clientGroup) Cell) func(*column) Cell) []row {
	at := label + ": "
	return []row{
		{name: at + "AVG-THROUGHPUT", unit: "requests/s", definition: "AVG-THROUGHPUT of the steps with " + label, cell: of(func(g clientGroup) Cell {
			return number(g.throughput(), int64(g.ok), "%s", perSecondText(g.throughput()))
		})},
		{name: at + "AVG-LATENCY", unit: "ms", definition: "AVG-LATENCY of the steps with " + label, cell: of(func(g clientGroup) Cell {
			return number(g.meanLatency(), int64(g.latency.count), "%.4f ms", g.meanLatency())
		})},
		{name: at + "Latency p99", unit: "ms", definition: "Latency p99 of the steps with " + label, cell: of(func(g clientGroup) Cell { return g.p99 })},
	}
}

// byClientRecords is the classic file of a quantity's seconds with the number of
// clients beside each.
func byClientRecords(columns []*column, all []*series, name string) [][]string {
	var header []string
	longest := 0
	for i, c := range columns {
		header = append(header, "CONTROL-CLIENT-NUM-"+c.tag, name+"-"+c.tag)
		longest = max(longest, len(all[i].unix))
	}
	out := [][]string{header}
	for row := range longest {
		var line []string
		for i := range columns {
			numbers, values := all[i].column("CONTROL-CLIENT-NUM"), all[i].column(name)
			if row < len(numbers) && row < len(values) {
				line = append(line, decimal(numbers[row], 0), decimal(values[row], -1))
			} else {
				line = append(line, "", "")
			}
		}
		out = append(out, line)
	}
	return out
}

// byClientAggregated is a quantity's mean by number of clients. Databases may
// have run different numbers; what one did not run is empty.
func byClientAggregated(columns []*column, all []*series, name string) [][]string {
	header := []string{"CONTROL-CLIENT-NUM"}
	numbers := map[int]bool{}
	groups := make([][]clientGroup, len(columns))
	for i, c := range columns {
		header = append(header, name+"-"+c.tag)
		groups[i] = c.byClients()
		for _, g := range groups[i] {
			numbers[g.clients] = true
		}
	}
	var order []int
	for n := range numbers {
		order = append(order, n)
	}
	slices.Sort(order)
	out := [][]string{header}
	for _, n := range order {
		line := []string{strconv.Itoa(n)}
		for i := range columns {
			text := ""
			for _, g := range groups[i] {
				if g.clients == n {
					text = decimal(g.value(all[i], name), 4)
				}
			}
			line = append(line, text)
		}
		out = append(out, line)
	}
	return out
}

func clientsText(n int) string { return fmt.Sprintf("%d client%s", n, plural(n)) }

// plural is the ending of a noun after a number.
func plural(n int) string {
	if n == 1 {
		return ""
	}
	return "s"
}
