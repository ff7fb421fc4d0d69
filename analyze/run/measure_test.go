package run

import (
	"math"
	"testing"
)

func TestMeasure(t *testing.T) {
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		if m := Measured(v, 3); m.Known() || m.Inapplicable || !math.IsNaN(m.Float()) {
			t.Errorf("Measured(%v) = %+v, want it missing and a gap", v, m)
		}
	}
	if m := Measured(2, 3); !m.Known() || m.N != 3 || m.Float() != 2 || m.AtLeast() {
		t.Errorf("Measured(2, 3) = %+v", m)
	}
	if m := Inapplicable("only a %s has it", "rate"); m.Known() || !m.Inapplicable || m.Missing != "only a rate has it" {
		t.Errorf("Inapplicable = %+v", m)
	}
	atLeast := Measure{Value: 2, Low: 2, High: math.Inf(1)}.Times(1000)
	if atLeast.Value != 2000 || atLeast.Low != 2000 || !atLeast.AtLeast() {
		t.Errorf("2 s at least are %+v in ms", atLeast)
	}
}
