package run

import "testing"

// TestLargest: the stage that represents a load has the most clients, and among those it asks for
// the most, which a closed loop does; stages on the way back come last.
func TestLargest(t *testing.T) {
	for name, test := range map[string]struct {
		stages []*Stage
		want   int
	}{
		"one":                        {[]*Stage{{Clients: 1}}, 0},
		"more clients":               {[]*Stage{{Clients: 1}, {Clients: 100}, {Clients: 10}}, 1},
		"higher rate":                {[]*Stage{{Clients: 10, Rate: [2]float64{100, 100}}, {Clients: 10, Rate: [2]float64{50, 200}}}, 1},
		"closed loop after a rate":   {[]*Stage{{Clients: 10, Rate: [2]float64{300, 300}}, {Clients: 10}}, 1},
		"rate after a closed loop":   {[]*Stage{{Clients: 10}, {Clients: 10, Rate: [2]float64{300, 300}}}, 0},
		"more clients with a rate":   {[]*Stage{{Clients: 10}, {Clients: 20, Rate: [2]float64{300, 300}}}, 1},
		"the way back, more clients": {[]*Stage{{Clients: 10}, {Clients: 20, Down: true}}, 0},
		"the way back first":         {[]*Stage{{Clients: 20, Down: true}, {Clients: 10}}, 1},
	} {
		if got := Largest(test.stages); got != test.want {
			t.Errorf("%s: stage %d, want %d", name, got, test.want)
		}
	}
}
