// Package ageing shows how response times, memory and the store's size drift during a load.
package ageing

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/coreos/dbtester/analyze/abilities"
	"github.com/coreos/dbtester/analyze/run"
)

// Half shows drift in reports.
type Half struct{}

var (
	_ abilities.Tabler = Half{}
	_ abilities.Finder = Half{}
	_ abilities.Filer  = Half{}
)

const (
	// fileAgeing is the file name suffix.
	fileAgeing = "ageing.csv"
	// mentioned is the smallest rise over a step that the first screen mentions, in percent.
	mentioned = 5.0
)

// Rows returns a row for each measure that may drift.
func (Half) Rows() (rows []abilities.Row) {
	const how = "; the percentage is of the median; interval: 95 %; p: how probable so clear a drift is without one, corrected for the number of measures and steps; below 0.05 a drift is found; smallest: a drift that would have been found with a probability of 90 %; steps of 30 minutes or longer are judged"
	for _, r := range []struct {
		name, after, definition string
		measure                 int
	}{
		{"AGEING-P50", "STALLS-COINCIDED", "change per hour of the p50 of each minute, of all requests that ended ok in it, over the measured window", run.AgeingP50},
		{"AGEING-P99", "AGEING-P50", "change per hour of the p99 of each minute, as AGEING-P50", run.AgeingP99},
		{"AGEING-MEMORY", "AGEING-P99", "change per hour of the resident memory of all members together, the mean of each minute, as AGEING-P50", run.AgeingMemory},
		{"AGEING-STORE", "AGEING-MEMORY", "change per hour of the size of all members' stores together, as they report it, the mean of each minute, as AGEING-P50", run.AgeingStore},
		{"AGEING-STORE-USED", "AGEING-STORE", "change per hour of the part of the stores that is in use, as AGEING-STORE", run.AgeingStoreUsed},
	} {
		if r.measure == run.AgeingP50 {
			r.definition += how
		}
		rows = append(rows, abilities.Row{
			Name: r.name, Unit: "%/h", After: r.after, Definition: r.definition,
			Cell: func(of *run.Run) (run.Measure, string) { return cell(of, r.measure) },
		})
	}
	return rows
}

// cell returns the drift in a measure. With several steps, the number is the clearest drift.
func cell(r *run.Run, measure int) (run.Measure, string) {
	a := &r.Ageing
	if a.Missing != "" {
		return run.Inapplicable("%s", a.Missing), ""
	}
	var clearest *run.AgeingMeasure
	var texts []string
	why := ""
	for i := range a.Steps {
		s := &a.Steps[i]
		m := &s.Measures[measure]
		if m.Missing != "" {
			why = m.Missing
			continue
		}
		if clearest == nil || m.P < clearest.P {
			clearest = m
		}
		text := describe(m)
		if s.Label != "" {
			text = s.Label + ": " + text
		}
		texts = append(texts, text)
	}
	if clearest == nil {
		return run.Inapplicable("%s", why), ""
	}
	out := run.Measured(clearest.PerHour(clearest.Drift.Slope), int64(clearest.Drift.N))
	out.Low, out.High = clearest.PerHour(clearest.Drift.Low), clearest.PerHour(clearest.Drift.High)
	return out, strings.Join(texts, "; ")
}

// describe returns the text for a drift.
func describe(m *run.AgeingMeasure) string {
	text := "none found: " + interval(m)
	if m.Found() {
		text = interval(m)
	}
	return fmt.Sprintf("%s, p %s, smallest %.2g %%/h, %d minutes", text, probability(m.P), m.PerHour(m.Drift.Smallest), m.Drift.N)
}

// interval returns a drift with its bounds.
func interval(m *run.AgeingMeasure) string {
	return fmt.Sprintf("%s %%/h [%s .. %s]", percent(m.PerHour(m.Drift.Slope)), percent(m.PerHour(m.Drift.Low)), percent(m.PerHour(m.Drift.High)))
}

// percent formats a change with its sign.
func percent(v float64) string {
	digits := 2
	if math.Abs(v) >= 10 {
		digits = 0
	}
	text := strconv.FormatFloat(v, 'f', digits, 64)
	if v > 0 {
		text = "+" + text
	}
	return text
}

// probability formats a p.
func probability(p float64) string {
	if p < 0.0001 {
		return "< 0.0001"
	}
	return strconv.FormatFloat(p, 'f', 4, 64)
}

// Findings returns the largest rise that matters for each database.
func (Half) Findings() []abilities.Finding {
	return []abilities.Finding{{Name: "ageing: a rise of 5 % or more during a step", Short: "ageing", Of: largest}}
}

// largest names the largest rise in some runs. Sizes rise on purpose if the load adds keys.
func largest(runs []*run.Run) string {
	var most *run.AgeingMeasure
	text := ""
	for _, r := range runs {
		for i := range r.Ageing.Steps {
			s := &r.Ageing.Steps[i]
			for k := range s.Measures {
				m := &s.Measures[k]
				if !m.Found() || m.Change() < mentioned || k > run.AgeingP99 && r.Ageing.Grows {
					continue
				}
				if most == nil || m.Change() > most.Change() {
					most = m
					text = fmt.Sprintf("%s %s over %.1f h", run.AgeingMeasures[k], interval(m), float64(len(m.Values))/60)
				}
			}
		}
	}
	return text
}

// FileNames returns the file names.
func (Half) FileNames() []string { return []string{fileAgeing} }

// Files returns one file with a line for each minute.
func (Half) Files(r *run.Run) []abilities.File {
	if len(r.Ageing.Steps) == 0 {
		return nil
	}
	number := func(v float64) string {
		if math.IsNaN(v) {
			return ""
		}
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	records := [][]string{{"step", "minute", "ok", "p50_milliseconds", "p99_milliseconds", "memory_bytes", "store_bytes", "store_used_bytes"}}
	for _, s := range r.Ageing.Steps {
		for i, n := range s.Requests {
			record := []string{strconv.Itoa(s.Index), strconv.Itoa(i + 1), strconv.FormatInt(n, 10)}
			for k := range s.Measures {
				record = append(record, number(s.Measures[k].Values[i]))
			}
			records = append(records, record)
		}
	}
	return []abilities.File{{Name: fileAgeing, Records: records}}
}
