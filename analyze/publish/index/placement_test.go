package index

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// ran is the JSON file for a report about runs, each given by the boot ids of its client and its
// members.
func ran(title, date string, runs ...[]string) string {
	var all []string
	for _, ids := range runs {
		var members []string
		for _, id := range ids[1:] {
			members = append(members, fmt.Sprintf(`{"host": {"boot_id": %q}}`, id))
		}
		all = append(all, fmt.Sprintf(`{"tag": "etcd", "started": %q, "client": {"boot_id": %q}, "members": [%s]}`, date, ids[0], strings.Join(members, ", ")))
	}
	return fmt.Sprintf(`{"title": %q, "valid": true, "headline": {"verdict": "v.", "trust": {"text": "t."}}, "runs": [%s]}`, title, strings.Join(all, ", "))
}

// generated is a report about a run in which a generator, given by its boot id, issued the load.
func generated(title, date, id string) string {
	return strings.Replace(ran(title, date, []string{"c", "m1", "m2"}), `"members":`, fmt.Sprintf(`"generators": [{"host": {"boot_id": %q}}], "members":`, id), 1)
}

// Reports on separate machines and on shared ones are in separate lists, each sorted by
// time, in the README and on the page.
func TestPlacements(t *testing.T) {
	dir := reports(t, map[string]string{
		"a/all-aggregated.json": ran("Separate, old", "2026-01-01T00:00:00Z", []string{"c", "m1", "m2"}),
		"b/all-aggregated.json": ran("Client shares", "2026-01-02T00:00:00Z", []string{"c", "m1", "c"}),
		"c/all-aggregated.json": ran("Members share", "2026-01-03T00:00:00Z", []string{"c", "m1", "m1"}),
		"d/all-aggregated.json": ran("Separate, new", "2026-01-04T00:00:00Z", []string{"c", "m1", "m2"}, []string{"c", "m3"}),
		"e/all-aggregated.json": ran("One of two shares", "2026-01-05T00:00:00Z", []string{"c", "m1"}, []string{"c", "c"}),
		"f/all-aggregated.json": ran("A member unknown", "2026-01-06T00:00:00Z", []string{"c", "", "m1"}),
		"g/all-aggregated.json": ran("Without a client", "2026-01-07T00:00:00Z", []string{"", "m1", "m2"}),
		"h/all-aggregated.json": ran("Not recorded, shared", "2026-01-08T00:00:00Z", []string{"", "m1", "m1"}),
		"i/all-aggregated.json": older,
		"j/all-aggregated.json": generated("Generator shares", "2026-01-06T00:00:00Z", "m1"),
		"k/all-aggregated.json": generated("Generator unknown", "2026-01-08T00:00:00Z", ""),
		"l/all-aggregated.json": generated("Generator apart", "2026-01-05T00:00:00Z", "g1"),
	})
	entries, err := Find(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Write(dir, "Results", entries); err != nil {
		t.Fatal(err)
	}
	order := []string{"Separate machines", "Generator apart", "Separate, new", "Separate, old", "One shared machine", "Not recorded, shared", "Generator shares", "One of two shares", "Members share", "Client shares",
		"Machines not known", "Generator unknown", "Without a client", "A member unknown", "Reads"}
	for _, name := range []string{Readme, Page} {
		rest := text(t, dir, name)
		for _, want := range order {
			_, after, found := strings.Cut(rest, want)
			if !found {
				t.Errorf("%s: %q does not follow those before it:\n%s", filepath.Join(dir, name), want, rest)
				break
			}
			rest = after
		}
	}
	if one := Markdown(entries[:1]); strings.Count(one, "### ") != 1 {
		t.Errorf("only placements with reports have a list:\n%s", one)
	}
}
