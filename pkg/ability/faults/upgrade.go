package faults

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/coreos/dbtester/pkg/ability"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/yamlfile"
)

// Upgrade is a change to another release during a load: the versions that the member reported
// before and after it.
type Upgrade struct {
	From string `json:"from"`
	To   string `json:"to"`
	// Release is the release with which the member was started; nil if it was not from its agent's
	// cache.
	Release *results.Release `json:"release,omitempty"`
}

// Upgraded declares the entry for an upgrade in member records.
func Upgraded() ability.Record[Upgrade] { return ability.Record[Upgrade]{Key: "upgraded"} }

// Versions returns the releases with which faults start members, in fault order.
func Versions(list []Fault) (versions []string) {
	for _, f := range list {
		if f.Version != "" && !slices.Contains(versions, f.Version) {
			versions = append(versions, f.Version)
		}
	}
	return versions
}

// CheckUpgrades returns why some faults cannot have members run the releases that they name, with
// their places. from is the release that the members run before, "" if not known. There are this
// many members.
func CheckUpgrades(list []Fault, from string, members int) error {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b Fault) int { return cmp.Compare(a.At, b.At) })
	runs := slices.Repeat([]string{from}, members)
	var errs []error
	for _, f := range list {
		if f.Version == "" {
			continue
		}
		for i := range runs {
			if !f.reaches(i) {
				continue
			}
			if err := database.CheckUpgrade(runs[i], f.Version); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", f.Place, err))
				break
			}
			runs[i] = f.Version
		}
	}
	return errors.Join(errs...)
}

// upgrades refuses restarts with a release that members cannot be upgraded to.
func (c checker) upgrades() {
	from := cmp.Or(c.d.Version, c.d.Embedded)
	var upgrading []Fault
	for _, w := range c.items {
		f := w.Is
		if f.Version == "" {
			continue
		}
		at := w.NodeOf("version")
		_, numbered := strconv.Atoi(f.Member)
		switch {
		case numbered != nil && f.Member != Each:
			c.Errorf(cmp.Or(w.NodeOf("member"), w.Node), "an upgrade needs member: each or a number, got %q", f.Member)
		case c.repeat.Times > 1:
			c.Errorf(at, "members are upgraded once: repeat does not go with the version of a fault")
		case c.d.Binary != "":
			c.Errorf(at, "the executable of binary runs whatever the version: leave it out to upgrade from one release to another")
		case from == "":
			c.Errorf(at, "an upgrade needs the version of %s before it: give it a version", c.d.Name)
		default:
			f.Place = c.Place(at)
			upgrading = append(upgrading, f)
			if err := CheckUpgrades(upgrading, from, c.d.Members); err != nil {
				upgrading = upgrading[:len(upgrading)-1]
				c.Errorf(at, "%v", errors.Unwrap(yamlfile.Joined(err)[0]))
			}
		}
	}
}
