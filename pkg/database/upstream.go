package database

import (
	"github.com/coreos/dbtester/pkg/results/declared"
)

// Upstream is a driver that knows the defaults of its database's releases.
type Upstream interface {
	// SetUpstream changes the options to the defaults of a release, a plain version such as
	// "3.6.16". Options that no release has keep dbtester's.
	SetUpstream(version string)
	// Changed returns the settings with which a planned member runs that differ from the
	// defaults of the release. Addresses, names and directories are not among them.
	Changed(version string) []declared.Setting
}

// Differing returns the settings whose value is not the default.
func Differing(all ...declared.Setting) []declared.Setting {
	var list []declared.Setting
	for _, s := range all {
		if s.Value != s.Default {
			list = append(list, s)
		}
	}
	return list
}

// Since reports whether a plain version is not before another in full. An unknown version,
// "", is the newest.
func Since(version, first string) bool {
	return version == "" || CheckOldest("", version, first) == nil
}
