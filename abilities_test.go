package dbtester_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/coreos/dbtester/pkg/ability/all"
	"github.com/coreos/dbtester/pkg/sleep/slowtest"
)

// knowAbilities lists the packages that may use the words of abilities outside their rooms, each
// with the reason. Database folders have the facets.
var knowAbilities = map[string]string{
	"pkg/ability/all":             "lists what is declared",
	"control/abilities/all":       "lists what abilities do during a run",
	"analyze/abilities/all":       "lists what reports show",
	"control/judge":               "judges members that the kernel ended at their limit",
	"pkg/process/cgroup":          "limits groups of processes",
	"control":                     "asks agents to limit their members",
	"control/fleet":               "brings back what members used",
	"pkg/kube":                    "gives agents the rights to limit members",
	"analyze/setting":             "compares settings that decide whether runs can be ranked",
	"analyze/answers/compare":     "compares limits of members",
	"analyze/table":               "has the row of the operation lock, which is another thing",
	"pkg/mark":                    "declares every mark",
	"pkg/databasetest":            "tests the facets of drivers",
	"analyze/publish/submission":  "lists the words that every record may have",
	"control/before/forecast":     "computes the data that is left when history is removed",
	"cmd/dbtester":                "checks other releases than the file names, and allows agents kinds of faults",
	"agent":                       "limits its member and applies faults to it",
	"dbtesterpb":                  "is how agents are asked",
	"pkg/fault":                   "declares the kinds of faults",
	"pkg/load/judging":            "gives requests to the judge",
	"pkg/load":                    "prepares guarded transactions, which is another thing",
	"pkg/coordination/session":    "holds the sessions",
	"pkg/coordination/lock":       "has contenders compete for locks",
	"pkg/coordination/service":    "registers instances and has consumers follow them, and lets some die",
	"pkg/ability/discovery":       "lets instances die",
	"control/abilities/discovery": "lets instances die",
	"analyze/abilities/discovery": "shows when the end of an instance was known",
	"pkg/install":                 "locks the folders of its cache, which is another thing",
	"pkg/coordination/watch":      "has the watchers and judges what they hear",
	"pkg/workload":                "has the operation lock, which is another thing",
	"pkg/config":                  "has the operation lock, which is another thing",
	"pkg/load/issuer":             "has the operation lock, which is another thing",
	"pkg/load/requests":           "has the operation lock, which is another thing",
	"pkg/load/contenders":         "has the operation lock, which is another thing",
	"pkg/load/contenders/across":  "has the operation lock, which is another thing",
	"control/issue":               "has the operation lock, which is another thing",
	"agent/generator":             "has the operation lock, which is another thing",
	"analyze/publish/live":        "shows faults while they last",
	"agent/metrics":               "exposes the faults that an agent applies",
	"control/shared":              "bounds sessions, contenders, watchers and instances on clusters that others use",
	"analyze/abilities/cause":     "judges the quota of members",
	"analyze/abilities/profile":   "refuses the profiles of a search",
	"analyze/answers/choose":      "compares what searches found with the reader's need",
	"analyze/chart":               "ranks the figure of a search",
	"analyze/run":                 "reads the windows of a search",
	"control/before/versus":       "refuses sides of which only one is a search",
}

// TestAbilitiesHaveRooms: words of an ability occur only in its rooms.
func TestAbilitiesHaveRooms(t *testing.T) {
	slowtest.Skip(t)
	used := map[string]bool{}
	tree := sources(t)
	for _, a := range all.Abilities() {
		words := regexp.MustCompile(`(?i)\b(` + strings.Join(append([]string{a.Name}, a.Words...), "|") + `)\b`)
		for dir, files := range tree {
			if strings.Contains(dir+"/", "/"+a.Name+"/") || driverOf(dir) != "" || dir == "pkg/database" {
				continue
			}
			for _, file := range files {
				text, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				if found := words.Find(text); found == nil {
					continue
				} else if used[dir] = true; knowAbilities[dir] == "" {
					t.Errorf("%s has the word %q of the ability %s", file, found, a.Name)
				}
			}
		}
	}
	for dir := range knowAbilities {
		if !used[dir] {
			t.Errorf("%s knows no ability: take it from the list", dir)
		}
	}
}
