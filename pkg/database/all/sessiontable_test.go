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

var update = flag.Bool("update", false, "write the tables of sessions, locks and watches again")

// The tables of sessions, locks and watches in the documentation equal those from the drivers.
func TestSessionTable(t *testing.T) {
	all := append(Registry().All(), fake.Database())
	for _, table := range []struct{ file, head, want string }{
		{"../../../docs/sessions.md", database.SessionTableHead, database.SessionTable(all)},
		{"../../../docs/locks.md", database.LockTableHead, database.LockTable(all)},
		{"../../../docs/watches.md", database.WatchTableHead, database.WatchTable(all)},
	} {
		data, err := os.ReadFile(table.file)
		if err != nil {
			t.Fatalf("read the documentation: %v", err)
		}
		before, rest, found := strings.Cut(string(data), table.head)
		old, after, ends := strings.Cut(rest, "\n\n")
		if !found || !ends {
			t.Fatalf("%s has no table that begins with %s", table.file, table.head)
		}
		if got := table.head + old + "\n"; got != table.want && !*update {
			t.Errorf("%s differs from the drivers (run go test ./pkg/database/all -update):\n%s", table.file, cmp.Diff(got, table.want))
		}
		if *update {
			if err := os.WriteFile(table.file, []byte(before+table.want+"\n"+after), 0o644); err != nil {
				t.Fatalf("write the documentation: %v", err)
			}
		}
	}
}

// The page on scenarios has the TTLs that database rules need for a promise.
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
