package chart

import (
	"math"
	"slices"
	"strconv"

	"github.com/coreos/dbtester/analyze/run"
)

// value is the true mean of a quantity in a stage. For a sampled quantity it is the mean over the
// sampled whole seconds.
func value(g run.ClientStage, s *Series, name string) float64 {
	switch name {
	case "AVG-THROUGHPUT":
		return g.Throughput.Float()
	case "AVG-LATENCY-MS":
		return g.Latency.Float()
	}
	sum, n := 0.0, 0.0
	values := s.column(name)
	for i, unix := range s.Unix {
		if values != nil && g.Unix[unix] && !math.IsNaN(values[i]) {
			sum += values[i]
			n++
		}
	}
	return sum / n // NaN if nothing was sampled
}

// ByClientLines returns the classic file with a quantity by second, each with its client count.
func ByClientLines(runs []*run.Run, all []*Series, name string) Lines {
	var l Lines
	longest := 0
	numbers, values := make([][]float64, len(runs)), make([][]float64, len(runs))
	for i, r := range runs {
		l.Header = append(l.Header, "CONTROL-CLIENT-NUM-"+r.Info.Name(), name+"-"+r.Info.Name())
		longest = max(longest, len(all[i].Unix))
		numbers[i], values[i] = all[i].column("CONTROL-CLIENT-NUM"), all[i].column(name)
	}
	l.Each = func(write func([]byte)) {
		var line []byte
		for row := range longest {
			line = line[:0]
			for i := range runs {
				if i > 0 {
					line = append(line, ',')
				}
				known := row < len(numbers[i]) && row < len(values[i])
				if known {
					line = appendDecimal(line, numbers[i][row], 0)
				}
				line = append(line, ',')
				if known {
					line = appendDecimal(line, values[i][row], -1)
				}
			}
			write(append(line, '\n'))
		}
	}
	return l
}

// ByClientMeans returns the mean of a quantity by client count. A client count that a run did not
// have gets an empty field.
func ByClientMeans(runs []*run.Run, all []*Series, name string) [][]string {
	header := []string{"CONTROL-CLIENT-NUM"}
	numbers := map[int]bool{}
	stages := make([][]run.ClientStage, len(runs))
	for i, r := range runs {
		header = append(header, name+"-"+r.Info.Name())
		stages[i] = r.ByClients()
		for _, g := range stages[i] {
			numbers[g.Clients] = true
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
		for i := range runs {
			text := ""
			for _, g := range stages[i] {
				if g.Clients == n {
					text = decimal(value(g, all[i], name), 4)
				}
			}
			line = append(line, text)
		}
		out = append(out, line)
	}
	return out
}
