package run

import (
	"fmt"
	"strconv"

	"github.com/coreos/dbtester/pkg/files/pattern"
)

// Records of older releases have no values in their marks. What is asked of them is read from
// their texts here.

// Step returns the number of the step that a mark is about, from 1; 0 if it is about the
// whole load.
func (m Mark) Step() int {
	if len(m.Values)+len(m.Words) > 0 {
		return int(m.Values["step"])
	}
	return stepInText(m.Mark.Text)
}

// stepInText is the number of the step that a text begins with; 0 if it begins otherwise.
func stepInText(text string) (step int) {
	if n, _ := fmt.Sscanf(text, "step %d,", &step); n == 0 {
		return 0
	}
	return step
}

// share finds the first percentage of a text.
var share = pattern.New(`([0-9.]+) ?%`)

// shareInText is the first percentage of a text; 0 if it has none.
func shareInText(text string) float64 {
	if m := share().FindStringSubmatch(text); m != nil {
		if v, err := strconv.ParseFloat(m[1], 64); err == nil {
			return v
		}
	}
	return 0
}
