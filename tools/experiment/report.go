package experiment

import (
	"encoding/json"
	"fmt"
)

// Report maps row names to their values in a report on one database. If several rows have the same
// name, it has the first value.
type Report map[string]float64

// ReadReport reads a report in JSON, in which the rows in must need values.
func ReadReport(text string, must ...string) (Report, error) {
	var r struct {
		Table struct {
			Rows []struct {
				Name  string
				Cells []struct{ Value *float64 }
			}
		}
	}
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return nil, fmt.Errorf("read the report: %w", err)
	}
	found := Report{}
	for _, row := range r.Table.Rows {
		if _, before := found[row.Name]; !before && len(row.Cells) == 1 && row.Cells[0].Value != nil {
			found[row.Name] = *row.Cells[0].Value
		}
	}
	for _, name := range must {
		if _, there := found[name]; !there {
			return nil, fmt.Errorf("the report has no %s", name)
		}
	}
	return found, nil
}
