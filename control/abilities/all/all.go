// Package all lists the halves of all abilities.
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

// Halves returns the half of each ability, in the order of their descriptions.
func Halves(r *abilities.Run) []abilities.Half {
	return []abilities.Half{capacity.New(r), guard.New(r), membermetrics.New(r), resources.Half{Run: r}, profile.New(r), upkeep.New(r), faults.New(r), consistency.New(r), deaths.New(r), locks.New(r), watchers.New(r), discovery.New(r)}
}
