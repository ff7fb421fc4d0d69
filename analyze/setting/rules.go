package setting

import (
	"slices"
	"strings"

	"github.com/coreos/dbtester/analyze/abilities"
	"github.com/coreos/dbtester/analyze/abilities/all"
	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/results"
)

// Unlisted returns the declared keys in which runs may differ without notice, with the reason.
func Unlisted() map[string]string {
	const (
		names  = "it names things"
		places = "it is a place of files"
		after  = "it acts after the load"
		shown  = "it chooses what a report shows"
	)
	return map[string]string{
		"path": places, "results": places, "agent_certs": places, "export": places, "inputs": places, "report": places,
		"title": names, "description": names, "id": names, "label": names, "tag": names, "load.workload": "its mix is compared",
		"name": "it is the database", "classic": "it is the form of the file", "plots": shown, "need": shown,
		"trials": "each trial is a run", "settle": "it acts before the load", "upload": after, "cleanup": after, "reuse": "it allows keys of others", "steps.upload": after,
		"hosts": "the members and their machines are compared", "generators": "the machines of the client are compared",
		"swept": "what a sweep varies is compared", "load.first_key": "it follows from the keys that were found",
		"tls": "the encryption is compared", "auth": "the credentials are compared",
		"defaults": "the options are compared",
	}
}

// rule states when a setting cannot have changed a number in a run.
type rule struct {
	path  string
	acted func(*run.Run) bool
}

// rules returns the rules; each applies to the paths that start with its own. Every other
// setting always acts.
func rules() []rule {
	list := []rule{
		{"load.failover", lostConnection},
		{"load.drain", queued},
		{"load.backlog", queued},
		{"load.timeout", unanswered},
		{"version", nameless},
		{"use_version", nameless},
		{"install", nameless},
	}
	for _, half := range all.Halves() {
		if s, ok := half.(abilities.Setter); ok {
			for path, acted := range s.Settings() {
				list = append(list, rule{path, acted})
			}
		}
	}
	return list
}

// lostConnection reports whether a client lost a connection or was without a server.
func lostConnection(r *run.Run) bool {
	return slices.ContainsFunc(r.Info.Record.Steps, func(s results.Step) bool {
		return s.ConnectionsLost > 0 || s.Reconnects > 0 || s.WaitingNS > 0
	})
}

// queued reports whether a request may have waited for a client.
func queued(r *run.Run) bool {
	t := r.Info.Record.Totals
	return t == nil || t.Queued+t.Shed+t.Unsent > 0
}

// unanswered reports whether a request may have ended by its deadline.
func unanswered(r *run.Run) bool {
	t := r.Info.Record.Totals
	return t == nil || t.Failed+t.Unknown > 0
}

// nameless reports whether no member named its version.
func nameless(r *run.Run) bool { return len(r.Info.Versions()) == 0 }

// acted reports whether a setting can have changed a number in a run.
func acted(path string, r *run.Run) bool {
	for _, one := range rules() {
		if one.path == path {
			return one.acted(r)
		}
	}
	return true
}

// below reports whether a path is a prefix in the list, or below one.
func below(path string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return path == p || strings.HasPrefix(path, p+".") })
}

// ofOneDatabase returns the keys whose values have a different meaning in each database.
func ofOneDatabase() []string {
	return []string{"version", "use_version", "install", "binary", "endpoints"}
}
