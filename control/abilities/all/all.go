// Package all lists the halves that abilities have in a run.
package all

import (
	"github.com/coreos/dbtester/control/abilities"
	"github.com/coreos/dbtester/control/abilities/capacity"
	"github.com/coreos/dbtester/control/abilities/consistency"
	"github.com/coreos/dbtester/control/abilities/deaths"
	"github.com/coreos/dbtester/control/abilities/discovery"
	"github.com/coreos/dbtester/control/abilities/faults"
	"github.com/coreos/dbtester/control/abilities/guard"
	"github.com/coreos/dbtester/control/abilities/locks"
	"github.com/coreos/dbtester/control/abilities/membermetrics"
	"github.com/coreos/dbtester/control/abilities/profile"
	"github.com/coreos/dbtester/control/abilities/resources"
	"github.com/coreos/dbtester/control/abilities/upkeep"
	"github.com/coreos/dbtester/control/abilities/watchers"
)

// Halves returns each ability's half, in the order in which they are described.
func Halves(r *abilities.Run) []abilities.Half {
	return []abilities.Half{capacity.New(r), guard.New(r), membermetrics.New(r), resources.Half{Run: r}, profile.New(r), upkeep.New(r), faults.New(r), consistency.New(r), deaths.New(r), locks.New(r), watchers.New(r), discovery.New(r)}
}
