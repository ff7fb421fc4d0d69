package results

import (
	"github.com/coreos/dbtester/pkg/results/declared"
)

// Settings records which member settings differ from the release's defaults.
type Settings struct {
	// Release is the release with these defaults: the requested version, or that of the built-in
	// server; "" if it was not known, which stands for the newest.
	Release string             `json:"release,omitempty"`
	Changed []declared.Setting `json:"changed"`
}
