package mark

import (
	"fmt"
	"strings"
)

// Table documents all marks in Markdown.
func Table() string {
	var b strings.Builder
	b.WriteString("| mark | weight | means | can change | remedy |\n|---|---|---|---|---|\n")
	for _, k := range Kinds() {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", k.Code, k.Weight, k.Help, k.changes(), k.Remedy)
	}
	return b.String()
}

// changes names the numbers that such marks can change.
func (k Kind) changes() string {
	all := Effect{Number: None, Share: new(float64)}
	for _, s := range k.Sentences {
		e := Unknown(Both)
		if s.Effect != nil {
			e = s.Effect(nil)
		}
		all = all.Wider(e)
	}
	if all.Number == None {
		return "nothing"
	}
	return string(all.Number)
}
