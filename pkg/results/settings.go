package results

import (
	"strings"

	"github.com/coreos/dbtester/pkg/results/declared"
)

// Settings records the settings of a database's members that differ from the defaults of the
// release.
type Settings struct {
	// Release is the release with these defaults: the requested version, or that of the
	// built-in server; "" if it was not known, which stands for the newest.
	Release string             `json:"release,omitempty"`
	Changed []declared.Setting `json:"changed"`
}

// SyncClass returns the class of the run's durability, "" if the records do not show it. Records
// without a class have a text, of which these two forms are known.
func (r *DatabaseRun) SyncClass() declared.Durability {
	switch {
	case r.Durability != "":
		return r.Durability
	case strings.HasPrefix(r.Fsync, "none:"):
		return declared.NeverSynced
	case strings.HasSuffix(r.Fsync, " before a write is answered"):
		return declared.EveryWrite
	}
	return ""
}
