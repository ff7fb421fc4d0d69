package judge

import (
	"math"

	"github.com/coreos/dbtester/pkg/mark"
	"github.com/coreos/dbtester/pkg/workload"
)

const (
	// leastMemberShare is the part of its share that a member must answer, in percent. With a rate
	// that leaves clients free, healthy members answer within 2 % of their share. Where all clients
	// are busy, followers answer up to 20 % less than their share: clients of the leader get their
	// answers sooner.
	leastMemberShare = 85
	// turns is the number of requests that a step needs for each client. With fewer, one turn more
	// or less could be the whole difference.
	turns = 10
	// beyondChance is the number of standard deviations by which a member must miss its share, if
	// each request goes to a random client. Clients that take turns differ less.
	beyondChance = 5
)

// memberShares marks each member that answered far less than its share in a step with a rate:
// clients of other members sent the requests that its own clients could not, so the response times
// mostly describe the faster members. In a closed loop, or with requests that wait for their own
// client, no work moves. Where clients queue, work moves to the faster members, and the mark for
// the queue states that the response times do not describe the rate. Lost members, and clients
// without a server, have their own marks.
func (j *stepJudge) memberShares() {
	s := j.step
	if !s.Rated || j.e.Run.Load.Bind == workload.BindClient || s.waited().exceeds(busyShare) || j.withoutServer() {
		return
	}
	var all int64
	for _, m := range s.Members {
		all += m.Answered
	}
	if all < turns*int64(s.Clients) {
		return
	}
	for i, m := range s.Members {
		if (i >= len(j.e.Lost) || j.e.Lost[i] == "") && m.below(all) {
			got := share{float64(m.Answered), m.Clients * float64(all), mark.Values{
				"member": member(i), "answered": float64(m.Answered), "answers": float64(all),
				"answered_percent": 100 * float64(m.Answered) / float64(all), "clients_percent": 100 * m.Clients,
			}}
			j.mark(mark.MemberShare, false, j.against(got, boundMark, leastMemberShare), nil)
		}
	}
}

// below reports whether a member answered too small a share of all requests, and less than chance
// explains.
func (m MemberShare) below(all int64) bool {
	due := m.Clients * float64(all)
	missing := due - float64(m.Answered)
	return 100*float64(m.Answered) < leastMemberShare*due*(1-slack) && missing > beyondChance*math.Sqrt(due*(1-m.Clients))
}
