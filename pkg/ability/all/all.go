// Package all lists all abilities.
package all

import (
	"github.com/coreos/dbtester/pkg/ability"
	"github.com/coreos/dbtester/pkg/ability/capacity"
	"github.com/coreos/dbtester/pkg/ability/consistency"
	"github.com/coreos/dbtester/pkg/ability/deaths"
	"github.com/coreos/dbtester/pkg/ability/discovery"
	"github.com/coreos/dbtester/pkg/ability/faults"
	"github.com/coreos/dbtester/pkg/ability/guard"
	"github.com/coreos/dbtester/pkg/ability/locks"
	"github.com/coreos/dbtester/pkg/ability/membermetrics"
	"github.com/coreos/dbtester/pkg/ability/profile"
	"github.com/coreos/dbtester/pkg/ability/resources"
	"github.com/coreos/dbtester/pkg/ability/upkeep"
	"github.com/coreos/dbtester/pkg/ability/watchers"
)

// Abilities returns all abilities, in the order in which files and schemas have their keys.
func Abilities() []ability.Ability {
	return []ability.Ability{guard.Ability(), membermetrics.Ability(), upkeep.Ability(), profile.Ability(), faults.Ability(), consistency.Ability(), deaths.Ability(), locks.Ability(), watchers.Ability(), discovery.Ability(), resources.Ability(), capacity.Ability()}
}
