package all

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/coreos/dbtester/pkg/observation"
)

var update = flag.Bool("update", false, "write the table of observed values again")

// TestTable compares the table of observed values in the documentation with the declarations.
func TestTable(t *testing.T) {
	const file = "../../../docs/numbers.md"
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(data), "| file | column |")
	old, after, ends := strings.Cut(rest, "\n\n")
	if !found || !ends {
		t.Fatalf("%s has no table of observed values", file)
	}
	var groups []observation.Group
	for _, a := range Abilities() {
		groups = append(groups, a.Observes...)
	}
	want := observation.Table(groups)
	if got := "| file | column |" + old + "\n"; got != want && !*update {
		t.Errorf("%s differs from the declarations (run go test ./pkg/ability/all -update):\n%s", file, cmp.Diff(got, want))
	}
	if *update {
		if err := os.WriteFile(file, []byte(before+want+"\n"+after), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// Group names are unique, as are value names within a group, and so are the files and columns named
// after them.
func TestNames(t *testing.T) {
	seen := map[string]bool{}
	for _, a := range Abilities() {
		for _, g := range a.Observes {
			for _, v := range g.Values {
				if name := g.Name + "." + v.Name; seen[name] || v.Unit == "" || v.Definition == "" {
					t.Errorf("%s is declared twice, or without its unit or definition", name)
				} else {
					seen[name] = true
				}
			}
		}
	}
}
