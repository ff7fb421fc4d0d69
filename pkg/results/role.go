package results

import "time"

// Role distinguishes the leader from followers, second by second.
type Role string

// The roles. Every member has RoleUnknown in a second in which the leader changed or was
// not known.
const (
	RoleLeader   Role = "leader"
	RoleFollower Role = "follower"
	RoleUnknown  Role = "unknown"
)

// RoleSums are the measured rows of members.csv, summed by the member's role in the second.
type RoleSums map[Role]MemberSecond

// Add adds a row if it is measured. The leader is known as far as the manifest and the
// events name it.
func (r RoleSums) Add(run *DatabaseRun, m *MemberSecond, events []Event) {
	if m.Phase != PhaseMeasure {
		return
	}
	role := RoleUnknown
	if leader := leaderIn(run, m.Second, events); leader >= 0 && m.Member >= 0 {
		if role = RoleFollower; leader == m.Member {
			role = RoleLeader
		}
	}
	sum := r[role]
	sum.Merge(m)
	r[role] = sum
}

// Merge adds other sums.
func (r RoleSums) Merge(o RoleSums) {
	for role, one := range o {
		sum := r[role]
		sum.Merge(&one)
		r[role] = sum
	}
}

// leaderIn returns the member that led throughout a second, -1 if not known.
func leaderIn(run *DatabaseRun, second int64, events []Event) int {
	leader := run.Leader
	from := time.Unix(second, 0)
	for _, e := range events {
		switch {
		case e.Kind != EventLeader || e.Time.Before(run.LoadStart):
		case !e.Time.Before(from) && e.Time.Before(from.Add(time.Second)):
			return -1
		case e.Time.Before(from):
			leader = e.Member
		}
	}
	return leader
}
