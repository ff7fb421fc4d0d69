package setting

import (
	"encoding/json"

	"github.com/coreos/dbtester/analyze/run"
)

// declared returns the run's part of the resolved experiment in the manifest: the values
// of its database by their names in JSON. It is nil of records without one.
func declared(r *run.Run) map[string]json.RawMessage {
	if r.Info.Manifest == nil {
		return nil
	}
	var experiment struct {
		Databases []map[string]json.RawMessage `json:"databases"`
	}
	if json.Unmarshal(r.Info.Manifest.Config, &experiment) != nil {
		return nil
	}
	for _, d := range experiment.Databases {
		var id string
		if json.Unmarshal(d["id"], &id) == nil && id == r.Info.Record.ID {
			return d
		}
	}
	return nil
}

// encryption is whether clients use TLS, "" if the records do not show it.
func encryption(r *run.Run) string {
	d := declared(r)
	switch tls := string(d["tls"]); {
	case d == nil:
		return ""
	case tls == "" || tls == "null":
		return "none"
	}
	return "TLS"
}
