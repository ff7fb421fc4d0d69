package control

import (
	"fmt"

	"github.com/coreos/dbtester/control/before/forecast"
	"github.com/coreos/dbtester/pkg/ability/faults"
	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/member/toolbox"
)

// upgradesOf returns the releases to which members are upgraded during the load.
func upgradesOf(db *config.Database) []string {
	return faults.Versions(faults.Keys().Of(db.Abilities))
}

// checkUpgrades returns why members cannot be upgraded from their release, which --use-version
// may have changed after the file was read.
func checkUpgrades(e *config.Experiment, entry database.Database, db *config.Database) error {
	from := release(e, entry, db)
	if from == "" {
		from = entry.Info.Embedded
	}
	return faults.CheckUpgrades(faults.Keys().Of(db.Abilities), from, len(db.Hosts))
}

// upgradeFindings returns why members cannot be upgraded to the releases named in faults, or the
// steps that must come first.
func upgradeFindings(entry database.Database, db *config.Database, known Agents) (list []forecast.Finding) {
	for _, f := range faults.Keys().Of(db.Abilities) {
		if f.Version == "" {
			continue
		}
		if finding := upgradeFinding(entry, db, known, f); finding.Text != "" {
			list = append(list, finding)
		}
	}
	return list
}

func upgradeFinding(entry database.Database, db *config.Database, known Agents, f faults.Fault) forecast.Finding {
	here := onLoopback(db)
	if !here {
		known.Release = nil // other machines have their own caches
	}
	refused := func(format string, args ...any) forecast.Finding {
		return forecast.Finding{Place: f.Place, Text: "version: " + fmt.Sprintf(format, args...), Refused: true}
	}
	choice, err := toolbox.Choose(toolbox.Want{Database: entry, Version: f.Version, Install: db.Install}, known.Tools, known.find)
	switch {
	case err != nil:
		return refused("%v", err)
	case choice.Origin == toolbox.Given:
		return refused("the executable %s runs whatever the version, so that nothing is upgraded", choice.Given[entry.Info.Tools[0]])
	case choice.Origin != toolbox.Absent:
		return forecast.Finding{}
	}
	if _, err := entry.Recipes(choice.Version); err != nil {
		return refused("%v", err)
	}
	if db.Install || known.Release == nil {
		return forecast.Finding{}
	}
	finding := refused("%s, or install: true", uncachedText(entry, known, choice.Version))
	finding.Refused = false // the agents refuse it themselves
	return finding
}
