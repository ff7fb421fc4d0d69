package run

import (
	"fmt"
	"strconv"

	"github.com/coreos/dbtester/pkg/files/pattern"
)

// Marks in older records have no values. The functions below extract them from the texts.

// Step returns the number of the step that a mark is about, counted from 1; 0 means the whole load.
func (m Mark) Step() int {
	if len(m.Values)+len(m.Words) > 0 {
		return int(m.Values["step"])
	}
	return stepInText(m.Mark.Text)
}

// stepInText returns the step number with which a text begins, or 0.
func stepInText(text string) (step int) {
	if n, _ := fmt.Sscanf(text, "step %d,", &step); n == 0 {
		return 0
	}
	return step
}

// share matches a percentage.
var share = pattern.New(`([0-9.]+) ?%`)

// shareInText returns the first percentage in a text, or 0.
func shareInText(text string) float64 {
	if m := share().FindStringSubmatch(text); m != nil {
		if v, err := strconv.ParseFloat(m[1], 64); err == nil {
			return v
		}
	}
	return 0
}
