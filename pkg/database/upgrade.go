package database

import (
	"fmt"
	"slices"
	"strings"
)

// CheckUpgrade returns why one release of a database cannot take over the data of another: it is
// the same or an earlier release, has another major version, or skips a minor version. Versions may
// have a "v". Incomplete versions are refused.
func CheckUpgrade(from, to string) error {
	from, to = PlainVersion(from), PlainVersion(to)
	old, later := numbers(from), numbers(to)
	switch {
	case len(old) < 2 || len(later) < 3:
		return fmt.Errorf("an upgrade needs versions in full, such as 3.6.16, got %q and %q", from, to)
	case from == to:
		return fmt.Errorf("the members run %s already", from)
	case precedes(to, from):
		return fmt.Errorf("%s comes before %s: a downgrade is not an upgrade, and databases may refuse the data of later releases", to, from)
	case later[0] != old[0] || later[1] > old[1]+1:
		return fmt.Errorf("an upgrade from %s to %s skips releases: go to %d.%d first", from, to, old[0], old[1]+1)
	}
	return nil
}

// precedes reports whether plain version a comes before b. A release candidate comes before its
// release.
func precedes(a, b string) bool {
	c := slices.Compare(numbers(a), numbers(b))
	return c < 0 || c == 0 && strings.Contains(a, "-") && !strings.Contains(b, "-")
}
