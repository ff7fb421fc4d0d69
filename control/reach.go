package control

import (
	"slices"
	"strings"

	"github.com/coreos/dbtester/control/before/forecast"
	"github.com/coreos/dbtester/pkg/config"
)

// Reach returns the limits and permissions that agents of generators need. A run checks them before
// it starts anything.
func Reach(e *config.Experiment) (list []forecast.Finding) {
	if !e.ByGenerators() {
		return nil
	}
	add := func(db *config.Database, key, text string) {
		f := forecast.Finding{Place: e.DatabasePlace(db, key), Text: key + ": " + text}
		if !slices.Contains(list, f) { // sweep points share a place
			list = append(list, f)
		}
	}
	for i := range e.Databases {
		db := &e.Databases[i]
		if !db.Steps.Load {
			continue
		}
		if hosts := db.EndpointHosts(); len(hosts) > 0 {
			add(db, "endpoints", "generators connect to members without agents only if their own agents have --allow-targets "+strings.Join(hosts, ","))
		}
		if db.TLS != nil {
			add(db, "tls", "generators read its files only below the folders that their agents have as --secrets-dir")
		}
		if db.Auth != nil && db.Auth.PasswordFile != "" {
			add(db, "auth", "generators read the password only below the folders that their agents have as --secrets-dir")
		} else if db.Auth != nil {
			add(db, "auth", "generators read the password only if their agents have --secrets-env "+db.Auth.PasswordEnv)
		}
	}
	return list
}
