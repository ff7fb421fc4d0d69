package analyze

import (
	"math"
	"slices"
	"strconv"
)

// clientGroup is the seconds of a load with one number of clients.
type clientGroup struct {
	clients int
	ok      float64 // answered in these seconds
	seconds float64
	latency sums
	unix    map[int64]bool
}

// byClients groups a load by its numbers of clients, ascending. Only seconds
// that one step had to itself count, as long as there are any: what two steps
// share belongs to neither.
func (c *column) byClients() []clientGroup {
	whole := c.groupSeconds(func(s second) bool { return c.whole(s.unix) })
	any := c.groupSeconds(func(second) bool { return true })
	for i, g := range any {
		if at := slices.IndexFunc(whole, func(w clientGroup) bool { return w.clients == g.clients }); at >= 0 {
			any[i] = whole[at]
		}
	}
	slices.SortFunc(any, func(a, b clientGroup) int { return a.clients - b.clients })
	return any
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
			out = append(out, clientGroup{clients: s.clients, unix: map[int64]bool{}})
		}
		g := &out[at]
		g.ok += s.ok
		g.seconds++
		g.latency.add(s.latency)
		g.unix[s.unix] = true
	}
	return out
}

// value is the true mean of a quantity over the group's seconds: requests over
// seconds, latencies over requests, and the mean of the sampled seconds of
// everything else.
func (g clientGroup) value(s *series, name string) float64 {
	switch name {
	case "AVG-THROUGHPUT":
		return g.ok / g.seconds
	case "AVG-LATENCY-MS":
		if g.latency.count == 0 {
			return math.NaN()
		}
		return g.latency.sum / g.latency.count
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
