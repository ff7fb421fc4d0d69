package control

import (
	"fmt"
	"strings"

	"github.com/coreos/dbtester/pkg/files/plaintext"
	"github.com/coreos/dbtester/pkg/mark"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/workload"
)

// noteSessions records counts for the sessions and locks taken by requests, and marks runs that
// left some. unknown names the parts without counts.
func (r *run) noteSessions(s *results.LoadSessions, unknown []string) {
	if s == nil && len(unknown) == 0 || r.record.LoadStart.IsZero() && (s == nil || s.Left == 0) {
		return
	}
	if s == nil {
		s = &results.LoadSessions{TTL: r.db.Load.SessionTTL}
	}
	if r.noteLocks(s.Locks, unknown); !r.db.Load.Any(workload.Op.OfSessions) {
		return
	}
	s.Locks = nil
	r.record.Sessions = s
	why := plaintext.Joined(s.Why)
	if len(unknown) > 0 {
		why = strings.TrimPrefix(why+fmt.Sprintf("; those of %s are not known", strings.Join(unknown, " and ")), "; ")
	}
	r.journal.say("sessions of the load: %d granted before it, %d begun and %d ended by it, %d ended after it, %d expired, %d left", s.Granted, s.Begun, s.Revoked, s.Ended, s.Expired, s.Left)
	if s.Left > 0 || len(unknown) > 0 {
		values, words := mark.Values{"not_granted": 0, "left": float64(s.Left), "wanted": float64(s.Granted + s.Begun)}, mark.Words{"why": why}
		r.record.Mark(mark.SessionsShort, values, words)
		r.journal.say("%s", mark.Text(mark.SessionsShort, values, words))
	}
}
