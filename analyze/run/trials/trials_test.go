package trials

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/results"
)

func TestSpread(t *testing.T) {
	for _, tt := range []struct {
		values []float64
		want   Spread
		doubt  string
	}{
		{nil, Spread{}, ""},
		{[]float64{3}, Spread{3, 3, 3, 1}, ""},
		{[]float64{3, 1}, Spread{2, 1, 3, 2}, "least and most of 2 trials"},
		{[]float64{5, 1, 2, 4, 3}, Spread{3, 1, 5, 5}, "least and most of 5 trials"},
		{[]float64{6, 5, 1, 2, 4, 3}, Spread{3.5, 1, 6, 6}, "95 % interval of the median, 6 trials"},
		// The ranks in statistical tables: 9 values 2..8, 10 2..9, 20 6..15.
		{upTo(9), Spread{5, 2, 8, 9}, "95 % interval of the median, 9 trials"},
		{upTo(10), Spread{5.5, 2, 9, 10}, "95 % interval of the median, 10 trials"},
		{upTo(20), Spread{10.5, 6, 15, 20}, "95 % interval of the median, 20 trials"},
	} {
		got := SpreadOf(tt.values)
		if got != tt.want || got.Doubt() != tt.doubt {
			t.Errorf("spread of %v = %+v (%s), want %+v (%s)", tt.values, got, got.Doubt(), tt.want, tt.doubt)
		}
	}
}

func upTo(n int) (values []float64) {
	for i := range n {
		values = append(values, float64(n-i))
	}
	return values
}

// The interval holds the true median of a skewed distribution in at least 95 % of many samples.
func TestSpreadCovers(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	const median = 0.6931471805599453
	for _, n := range []int{6, 9, 15} {
		held := 0
		for range 2000 {
			values := make([]float64, n)
			for i := range values {
				values[i] = random.ExpFloat64()
			}
			if s := SpreadOf(values); s.Low <= median && median <= s.High {
				held++
			}
		}
		if held < 1880 {
			t.Errorf("of 2,000 intervals of %d values %d hold the median, want 95 %%", n, held)
		}
	}
}

func TestGroups(t *testing.T) {
	one := func(tag, title string, trial, of int) *run.Run {
		m := &results.Manifest{Title: title, Trial: trial, Trials: of, Config: json.RawMessage(`{"a":1}`)}
		return &run.Run{Info: run.Info{Tag: tag, Manifest: m, Record: &results.DatabaseRun{Tag: tag}}}
	}
	a2, a1, b1 := one("etcd", "a", 2, 2), one("etcd", "a", 1, 2), one("consul", "a", 1, 2)
	other, single, again := one("etcd", "b", 1, 2), one("etcd", "c", 1, 1), one("etcd", "c", 1, 1)
	a1.Info.Tag = "etcd #2"
	other.Info.Tag = "etcd #3"
	classic := &run.Run{Info: run.Info{Tag: "old", Record: &results.DatabaseRun{Tag: "old"}}}
	groups := Groups([]*run.Run{a2, b1, a1, other, single, again, classic, classic})
	want := [][]*run.Run{{a1, a2}, {b1}, {other}, {single}, {again}, {classic}, {classic}}
	if len(groups) != len(want) {
		t.Fatalf("%d groups, want %d: %+v", len(groups), len(want), groups)
	}
	for i := range want {
		if !slices.Equal(groups[i].Runs, want[i]) {
			t.Errorf("group %d is %+v, want %+v", i, groups[i].Runs, want[i])
		}
	}
	if names := Names(groups); groups[0].Name != "etcd" || names["etcd #2"] != "etcd" || names["etcd #3"] != "etcd #3" {
		t.Errorf("names are %v", names)
	}
}
