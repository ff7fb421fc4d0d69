package config

import (
	"time"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/workload"
	"github.com/coreos/dbtester/pkg/yamlfile"
)

const (
	// someSessions is the fewest sessions granted before a load.
	someSessions = 1000
	// sessionTTL and searchTTL are the session TTLs for a load, and for a search for its rates,
	// whose length is unknown.
	sessionTTL = 10 * time.Minute
	searchTTL  = time.Hour
)

// sessionFields declares the sessions that operations use.
func sessionFields() []field[loadSpec] {
	return []field[loadSpec]{
		loadKey[int64]{
			Row: row{Name: "sessions", Unit: "sessions", Usually: "1000, or as many as the load needs",
				Meaning: "number of sessions that are granted before the load, for [operations that take some](#sessions)"},
			Kind: yamlfile.WholeKind(), At: func(l *loadSpec) *int64 { return &l.Sessions },
			Shown: func(l *loadSpec) bool { return l.Sessions > 0 },
		}.Field(),
		loadKey[time.Duration]{
			Row: row{Name: "session_ttl", Usually: "`10m`, or twice the load's `duration` if that is longer; `1h` in a search",
				Meaning: "time to live of the sessions of `grant`, `keepalive` and `revoke`"},
			Kind: yamlfile.DurationKind(), At: func(l *loadSpec) *time.Duration { return &l.SessionTTL },
			Shown: func(l *loadSpec) bool { return l.SessionTTL > 0 },
		}.Field(),
	}
}

// sessions resolves the sessions that operations use.
func (r *loadResolver) sessions(l *workload.Load) {
	number, ttl := r.spec.Place("sessions"), r.spec.Place("session_ttl")
	if !l.Any(workload.Op.OfSessions) {
		for _, p := range yamlfile.PlacesInOrder(number, ttl) {
			r.idle(p, "no operation of the load is of sessions")
		}
		l.Sessions, l.SessionTTL = 0, 0
		return
	}
	r.sessionTTL(l)
	if !l.Any(workload.Op.NeedsSession) {
		if number.Set() {
			r.idle(number, "no operation of the load takes a session that has begun")
		}
		l.Sessions = 0
		return
	}
	used, known := l.SessionsUsed()
	if !known || r.searched && used > 0 {
		r.Errorf(r.at("mix", "operation", "workload"), "revoke ends more sessions than grant begins, so it must be known how many requests there are: give requests, or a rate with a duration, or as much grant as revoke")
		return
	}
	least := used
	if used == 0 || len(l.Operations()) > 1 {
		least += int64(l.MostClients()) // each client uses one
	}
	if !number.Set() {
		l.Sessions = max(someSessions, least+(least-used)/2)
	}
	switch {
	case l.Sessions < least:
		r.Errorf(r.at("sessions"), "sessions must be at least %d (%d that the load ends beyond those that it begins, and %d that its clients have at the same time), got %d", least, used, least-used, l.Sessions)
	case l.Sessions > workload.MostSessions:
		r.Errorf(r.at("sessions"), "sessions must be at most %d, got %d", workload.MostSessions, l.Sessions)
	}
	r.renewedInTime(*l)
}

// sessionTTL resolves the TTL.
func (r *loadResolver) sessionTTL(l *workload.Load) {
	p := r.spec.Place("session_ttl")
	if !p.Set() {
		length := time.Duration(0)
		for _, s := range l.Stretches() {
			length += s.Duration
		}
		if l.SessionTTL = max(sessionTTL, 2*length); r.searched {
			l.SessionTTL = searchTTL
		}
	}
	facts := database.SessionFactsOf(r.db.entry.Info, r.db.Options)
	switch {
	case l.SessionTTL <= 0:
		r.Errorf(p.At, "session_ttl must be positive, got %v", l.SessionTTL)
	case facts != nil && facts.Granted(l.SessionTTL) != l.SessionTTL:
		r.Warnf(r.at("session_ttl"), "session_ttl: %s grants TTLs of %s: its sessions get %v", r.db.entry.Name, facts.Bounds(), facts.Granted(l.SessionTTL))
	}
}

// renewedInTime warns about sessions that end before the next keepalive renews them.
func (r *loadResolver) renewedInTime(l workload.Load) {
	mix := l.Shares()
	perBlock := int64(0)
	for i, n := range workload.PerBlock(mix) {
		if op := mix[i].Operation; op.NeedsSession() && op.Sessions() == 0 {
			perBlock += n
		}
	}
	for _, s := range l.Stretches() {
		rate := s.Rate * float64(perBlock) / workload.Block
		if between := time.Duration(float64(l.Sessions) / rate * float64(time.Second)); rate > 0 && !r.searched && between > l.SessionTTL {
			r.Warnf(r.at("session_ttl", "sessions", "rate"), "sessions: %.0f renewals a second renew each of %d sessions once in %v, so those end after their TTL of %v", rate, l.Sessions, between.Round(time.Second), l.SessionTTL)
			return
		}
	}
}
