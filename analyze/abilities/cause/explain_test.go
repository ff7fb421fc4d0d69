package cause

import (
	"testing"

	"github.com/coreos/dbtester/analyze/abilities"
)

// TestAlike: a cause that all databases have in common is stated once.
func TestAlike(t *testing.T) {
	one := func(name, step, verdict, words string, low float64, runs int) abilities.Explained {
		return abilities.Explained{Database: name, Step: step, Runs: 3, Causes: []abilities.Cause{{Verdict: verdict, Words: words, Low: low, High: 100, Runs: runs}}}
	}
	etcd, consul := one("etcd", "", verdictNamed, "its disk", 80, 3), one("consul", "8 clients", verdictNamed, "its disk", 100, 2)
	two := etcd
	two.Causes = append(two.Causes, two.Causes[0])
	for name, c := range map[string]struct {
		databases []abilities.Explained
		want      string
	}{
		"the same":        {[]abilities.Explained{etcd, consul}, "its disk: etcd 80 to 100 %, consul with 8 clients 100 % (2 of 3 runs)"},
		"partly":          {[]abilities.Explained{one("a", "", verdictPartly, "x", 40, 3), one("b", "", verdictPartly, "x", 45, 3)}, "partly x: a 40 to 100 %, b 45 to 100 %"},
		"one database":    {[]abilities.Explained{etcd}, ""},
		"other causes":    {[]abilities.Explained{etcd, one("b", "", verdictNamed, "x", 80, 3)}, ""},
		"other verdicts":  {[]abilities.Explained{etcd, one("b", "", verdictPartly, "its disk", 40, 3)}, ""},
		"none of one":     {[]abilities.Explained{{Database: "b", Runs: 3}, etcd}, ""},
		"several of some": {[]abilities.Explained{etcd, two}, ""},
	} {
		if got := alike(c.databases); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

// TestLabel: the step in a sentence has the preposition that its words need.
func TestLabel(t *testing.T) {
	for step, want := range map[string]string{
		"":                      "etcd",
		"50 clients":            "etcd with 50 clients",
		"50 clients, 300/s due": "etcd with 50 clients, 300/s due",
		"300/s due":             "etcd at 300/s due",
		"closed loop":           "etcd in the closed loop",
	} {
		if got := label(abilities.Explained{Database: "etcd", Step: step}); got != want {
			t.Errorf("%q: got %q, want %q", step, got, want)
		}
	}
}
