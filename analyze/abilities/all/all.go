// Package all lists the halves of abilities that reports show.
package all

import (
	"github.com/coreos/dbtester/analyze/abilities"
	"github.com/coreos/dbtester/analyze/abilities/ageing"
	"github.com/coreos/dbtester/analyze/abilities/capacity"
	"github.com/coreos/dbtester/analyze/abilities/cause"
	"github.com/coreos/dbtester/analyze/abilities/consistency"
	"github.com/coreos/dbtester/analyze/abilities/deaths"
	"github.com/coreos/dbtester/analyze/abilities/discovery"
	"github.com/coreos/dbtester/analyze/abilities/faults"
	"github.com/coreos/dbtester/analyze/abilities/locks"
	"github.com/coreos/dbtester/analyze/abilities/membermetrics"
	"github.com/coreos/dbtester/analyze/abilities/profile"
	"github.com/coreos/dbtester/analyze/abilities/resources"
	"github.com/coreos/dbtester/analyze/abilities/stalls"
	"github.com/coreos/dbtester/analyze/abilities/upkeep"
	"github.com/coreos/dbtester/analyze/abilities/watchers"
	"github.com/coreos/dbtester/analyze/run"
	declared "github.com/coreos/dbtester/pkg/ability/all"
)

// Halves returns each ability's part in reports. If several abilities disturbed a load, the
// sentence comes from the first ability that has its own, or else from the first ability.
func Halves() []abilities.Half {
	return []abilities.Half{faults.Half{}, upkeep.Half{}, profile.Half{}, consistency.Half{}, deaths.Half{}, locks.Half{}, watchers.Half{}, discovery.Half{}, stalls.Half{}, ageing.Half{}, cause.Half{}, membermetrics.Half{}, resources.Half{}, capacity.Half{}}
}

// Sections returns the abilities with a section in the table before all others.
func Sections() (list []abilities.Sectioner) {
	for _, half := range Halves() {
		if s, ok := half.(abilities.Sectioner); ok {
			list = append(list, s)
		}
	}
	return list
}

// Sought returns the rates that loads are sent to find.
func Sought() (list []abilities.Sought) {
	for _, half := range Halves() {
		if s, ok := half.(abilities.Searcher); ok {
			list = append(list, s.Sought())
		}
	}
	return list
}

// SoughtBy returns the rate that a run searched for, or nil.
func SoughtBy(r *run.Run) *abilities.Sought {
	for _, s := range Sought() {
		if s.By(r) {
			return &s
		}
	}
	return nil
}

// Rows returns the rows that abilities add, each after the row that it names.
func Rows() (rows []abilities.Row) {
	for _, half := range Halves() {
		if t, ok := half.(abilities.Tabler); ok {
			rows = append(rows, t.Rows()...)
		}
	}
	for _, a := range declared.Abilities() {
		rows = append(rows, abilities.Observed(a.Observes)...)
	}
	return rows
}
