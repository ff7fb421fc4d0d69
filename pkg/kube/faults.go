package kube

import (
	"fmt"
	"slices"

	"github.com/coreos/dbtester/pkg/ability/faults"
	"github.com/coreos/dbtester/pkg/config"
)

// podFaults returns the fault kinds an agent without rights applies in its container: they signal
// its own children, or filter their calls.
func podFaults() []string { return []string{"disk", "kill", "pause", "restart"} }

// faultsOf returns the fault kinds that members in pods have, sorted.
func faultsOf(e *config.Experiment) (kinds []string) {
	for _, db := range e.Databases {
		for _, f := range faults.Keys().Of(db.Abilities) {
			if len(db.Hosts) > 0 && f.Kind != faults.Command {
				kinds = append(kinds, f.Kind)
			}
		}
	}
	slices.Sort(kinds)
	return slices.Compact(kinds)
}

// faultProblems returns why pods cannot have the faults in e, with their places: each once, also if
// several databases have the fault.
func faultProblems(e *config.Experiment) (problems []string) {
	for _, db := range e.Databases {
		for _, f := range faults.Keys().Of(db.Abilities) {
			switch {
			case f.Kind == faults.Command:
				problems = append(problems, fmt.Sprintf("%s: the fault %s runs a program, and the image has none besides dbtester: run control outside of the pods, with the cluster as endpoints", f.Place, f.Kind))
			case len(db.Hosts) > 0 && !slices.Contains(podFaults(), f.Kind):
				problems = append(problems, fmt.Sprintf("%s: the fault %s needs rights that the agents' containers do not have: pods have %v", f.Place, f.Kind, podFaults()))
			}
		}
	}
	slices.Sort(problems)
	return slices.Compact(problems)
}
