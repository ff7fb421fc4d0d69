package yamlfile

import (
	"fmt"
	"strconv"
	"strings"
)

// Table returns the rows for the keys as a Markdown table.
func (s Section[S]) Table() string {
	var b strings.Builder
	b.WriteString("| key | unit | default | meaning |\n|---|---|---|---|\n")
	for _, f := range s.Fields {
		if f.Hidden {
			continue
		}
		usual := f.Usually
		if f.Preset != "" {
			usual = "`" + f.Preset + "`"
			if _, err := strconv.ParseFloat(f.Preset, 64); err == nil {
				usual = f.Preset
			}
		}
		row := fmt.Sprintf("| `%s` | %s | %s | %s |", f.Name, f.Unit, usual, f.Meaning)
		b.WriteString(strings.ReplaceAll(row, "|  |", "| |"))
		b.WriteByte('\n')
	}
	return b.String()
}
