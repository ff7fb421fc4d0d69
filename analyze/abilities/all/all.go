// Package all lists what reports show of abilities.
package all

import (
	"github.com/coreos/dbtester/analyze/abilities"
	"github.com/coreos/dbtester/analyze/abilities/profile"
	"github.com/coreos/dbtester/analyze/abilities/upkeep"
)

// Halves returns what reports show of each ability.
func Halves() []abilities.Half {
	return []abilities.Half{upkeep.Half{}, profile.Half{}}
}
