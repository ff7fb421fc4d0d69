package load

import (
	"testing"

	"github.com/coreos/dbtester/pkg/results"
)

// TestGaps: the longest time without an answer lies before the first, between two, or after
// the last answer, in whatever order the answers become known.
func TestGaps(t *testing.T) {
	for name, tc := range map[string]struct {
		answers []Answers
		want    results.Gap
	}{
		"none":              {nil, results.Gap{FromNS: 10, ToNS: 100, FromStart: true, ToEnd: true}},
		"at the start":      {[]Answers{{60, 70}, {80, 99}}, results.Gap{FromNS: 10, ToNS: 60, FromStart: true}},
		"between":           {[]Answers{{12, 20}, {70, 90}}, results.Gap{FromNS: 20, ToNS: 70}},
		"at the end":        {[]Answers{{12, 30}}, results.Gap{FromNS: 30, ToNS: 100, ToEnd: true}},
		"divided late":      {[]Answers{{12, 20}, {80, 90}, {40, 45}}, results.Gap{FromNS: 45, ToNS: 80}},
		"earlier than all":  {[]Answers{{80, 90}, {50, 55}}, results.Gap{FromNS: 10, ToNS: 50, FromStart: true}},
		"overlapping parts": {[]Answers{{12, 40}, {20, 30}, {35, 60}}, results.Gap{FromNS: 60, ToNS: 100, ToEnd: true}},
	} {
		var g Gaps
		for _, a := range tc.answers {
			g.Add(a)
		}
		if got := g.Longest(10, 100); got != tc.want {
			t.Errorf("%s: the longest gap is %+v, want %+v", name, got, tc.want)
		}
	}
}
