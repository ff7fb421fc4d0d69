package results

import (
	"github.com/coreos/dbtester/pkg/results/declared"
)

// Settings records which settings of a database's members differ from the release's defaults.
type Settings struct {
	// Release is the release with these defaults: the requested version, or the built-in
	// server's; "" if it was not known, which stands for the newest.
	Release string             `json:"release,omitempty"`
	Changed []declared.Setting `json:"changed"`
}
