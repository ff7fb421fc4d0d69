package consistency

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
)

// TestCheck compares the judge with two others at full scale and writes its results to the file
// that DBTESTER_CONSISTENCY_CHECK names. `make consistency-check` runs it.
func TestCheck(t *testing.T) {
	path := os.Getenv("DBTESTER_CONSISTENCY_CHECK")
	if path == "" {
		t.Skip("compares 100,000 histories and judges 100 million requests: make consistency-check")
	}
	honest, err := strconv.Atoi(os.Getenv("DBTESTER_CONSISTENCY_HONEST"))
	if err != nil {
		t.Fatalf("DBTESTER_CONSISTENCY_HONEST must be a number of requests: %v", err)
	}
	var out strings.Builder
	out.WriteString("# Consistency checks, checked\n\nBy `make consistency-check`: the seeds are fixed, so the numbers are the same on every machine.\n")
	checkVerdicts(t, &out)
	checkLies(t, &out)
	checkHonest(t, &out, honest)
	if t.Failed() {
		return
	}
	if err := os.WriteFile(path, []byte(out.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// checkVerdicts compares verdicts on random histories.
func checkVerdicts(t *testing.T, out *strings.Builder) {
	out.WriteString(`
## Verdicts

Random histories of 4 to 29 requests of 2 to 6 clients on one key. Half of them have writes of unknown outcome, a quarter failed ones, half lies: values that were there before, and failed writes that took effect. The judge gets the requests in batches, in the order in which they end. "every order" tries all orders of the requests on a register; Porcupine is ` + "`github.com/anishathalye/porcupine`" + `. Neither knows of zones. A false alarm is a violation in a history that is linearizable.

| requests | compared with | histories | not linearizable | false alarms | missed |
|---|---|---|---|---|---|
`)
	for _, c := range []struct {
		requests, with string
		histories      int
		recipe         func(*rand.Rand) recipe
		exact          bool
		legal          func([]Op, int64) bool
	}{
		{"writes and reads", "every order", 60_000, exactRecipe, true, linearizable},
		{"writes and reads", "Porcupine", 20_000, exactRecipe, true, byPorcupine},
		{"with swaps and deletes", "Porcupine", 20_000, soundRecipe, false, byPorcupine},
	} {
		var s tally
		r := rand.New(rand.NewPCG(21, 22))
		for range c.histories {
			s.compare(t, r, c.recipe(r), c.exact, c.legal)
		}
		fmt.Fprintf(out, "| %s | %s | %d | %d | %d | %d |\n", c.requests, c.with, s.histories, s.wrong, s.differing, s.missed)
	}
}

// checkLies reports the time until each planted lie is found.
func checkLies(t *testing.T, out *strings.Builder) {
	out.WriteString("\n## Lies\n\nA store of 50 keys and 16 clients in simulated time, 50,000 requests a second. One in 2,000 requests is answered with the lie, where it can be; one write in 1,000 times out and one fails. It is looked for after every 1,000 requests, at most 1,000,000.\n\n| lie | lies told | requests until it is found | found as |\n|---|---|---|---|\n")
	for _, p := range plantedLies() {
		s, j, made := p.find(1_000_000)
		totals := j.Totals()
		found, as := strconv.Itoa(made), ""
		if totals.Violations.All() > 0 {
			as = string(j.Witnesses()[0].Class)
		} else {
			found, as = "none", "legal: no alarm"
		}
		if (p.found == nil) != (totals.Violations.All() == 0) {
			t.Errorf("%s: %+v after %d requests", p.lie, totals.Violations, made)
		}
		fmt.Fprintf(out, "| %s | %d | %s | %s |\n", p.lie, s.lies, found, as)
	}
}

// checkHonest judges a store that tells the truth.
func checkHonest(t *testing.T, out *strings.Builder, requests int) {
	out.WriteString("\n## An honest store\n\nThe same store without lies; one in 100 writes times out, in the third row one in 1,000, and half of those take effect.\n\n| keys | clients | requests | judged | violations | late |\n|---|---|---|---|---|---|\n")
	for _, s := range []*store{
		{clients: 1000, keys: 10_000, writes: 0.5, unknown: 0.01, failed: 0.001},
		{clients: 64, keys: 1, writes: 0.5, unknown: 0.01, failed: 0.001},
		{clients: 64, keys: 1000, writes: 0.3, unknown: 0.001, failed: 0.001, swaps: 0.2, deletes: 0.1},
	} {
		j := s.judge(Options{})
		for range requests / 50_000 / 3 {
			s.run(j, 50_000)
		}
		s.finish(j)
		totals := j.Totals()
		if totals.Violations.All() > 0 || totals.Judged != totals.Operations {
			t.Errorf("an honest store of %d keys: %+v", s.keys, totals)
		}
		fmt.Fprintf(out, "| %d | %d | %d | %d | %d | %d |\n", s.keys, s.clients, totals.Operations, totals.Judged, totals.Violations.All(), totals.Late)
	}
}
