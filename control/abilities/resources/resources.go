// Package resources describes the limits on member processes.
package resources

import (
	"fmt"
	"strings"

	"github.com/coreos/dbtester/control/abilities"
	"github.com/coreos/dbtester/pkg/ability/resources"
)

// Half describes the limits. Agents apply them to their members.
type Half struct{ Run *abilities.Run }

// Describe lists the limits, and the environment variables with which Go programs keep them.
func (h Half) Describe() []string {
	l := resources.Keys().Of(h.Run.DB.Abilities)
	if !l.Any() {
		return nil
	}
	return []string{fmt.Sprintf("resources of each member: %s (%s)", l, strings.Join(l.Env(), " "))}
}
