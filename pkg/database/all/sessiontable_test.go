package all

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/database/fake"
)

var update = flag.Bool("update", false, "write the table of sessions again")

// The documentation's table of sessions equals the drivers' statements.
func TestSessionTable(t *testing.T) {
	const file = "../../../docs/sessions.md"
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("read the documentation of sessions: %v", err)
	}
	before, rest, found := strings.Cut(string(data), database.SessionTableHead)
	old, after, ends := strings.Cut(rest, "\n\n")
	if !found || !ends {
		t.Fatalf("%s has no table of sessions", file)
	}
	want := database.SessionTable(append(Registry().All(), fake.Database()))
	if got := database.SessionTableHead + old + "\n"; got != want && !*update {
		t.Errorf("%s differs from the drivers (run go test ./pkg/database/all -update):\n%s", file, cmp.Diff(got, want))
	}
	if *update {
		if err := os.WriteFile(file, []byte(before+want+"\n"+after), 0o644); err != nil {
			t.Fatalf("write the documentation of sessions: %v", err)
		}
	}
}

// The page on scenarios has the TTLs that the databases' rules need for a promise.
func TestScenarioPromises(t *testing.T) {
	const file = "../../../docs/scenarios.md"
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range Registry().All() {
		facts := database.SessionFactsOf(d.Info, d.New())
		if facts == nil {
			continue
		}
		ttl, kept := facts.LongestTTL(20 * time.Second)
		earliest, latest := facts.Ends(ttl, 1)
		_, shortest := facts.Ends(facts.Least, 1)
		want := fmt.Sprintf("\n| %s | %v | %v to %v | %v |\n", d.Name, ttl, earliest, latest, shortest)
		if !kept || !strings.Contains(string(page), want) {
			t.Errorf("%s lacks %q (kept: %v)", file, want, kept)
		}
	}
}
