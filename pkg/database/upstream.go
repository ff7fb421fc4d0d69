package database

import (
	"github.com/coreos/dbtester/pkg/results/declared"
)

// Upstream is a driver that knows the defaults of each database release.
type Upstream interface {
	// SetUpstream changes the options to the defaults of a release; version is plain, such as
	// "3.6.16". Options that no release has keep the dbtester defaults.
	SetUpstream(version string)
	// Changed returns a planned member's settings that differ from the release defaults, except
	// addresses, names and directories.
	Changed(version string) []declared.Setting
}

// Differing returns the settings that differ from their defaults.
func Differing(all ...declared.Setting) []declared.Setting {
	var list []declared.Setting
	for _, s := range all {
		if s.Value != s.Default {
			list = append(list, s)
		}
	}
	return list
}

// Since reports whether a plain version is first or later; first must be complete. An unknown
// version, "", counts as the newest.
func Since(version, first string) bool {
	return version == "" || CheckOldest("", version, first) == nil
}
