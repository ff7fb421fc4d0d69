package control

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/coreos/dbtester/control/judge"
	"github.com/coreos/dbtester/pkg/load/schedule"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/workload"
)

// memberAnswers counts, by step, the measured requests that each member answered. It leaves out
// steps in which the member of a request is not known.
func memberAnswers(dir string, members int) (map[int][]int64, error) {
	answers, unknown := map[int][]int64{}, map[int]bool{}
	err := results.EachMemberSecond(filepath.Join(dir, results.FileMembers), members, func(m *results.MemberSecond) {
		switch {
		case m.Phase != results.PhaseMeasure:
			return
		case m.Member < 0:
			unknown[m.Step] = true
			return
		case answers[m.Step] == nil:
			answers[m.Step] = make([]int64, members)
		}
		answers[m.Step][m.Member] += m.OK + m.Failed
	})
	if err != nil && !errors.Is(err, results.ErrTruncated) && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for step := range unknown {
		delete(answers, step)
	}
	return answers, nil
}

// memberShares returns the answers of each member in a step with its share of the clients. It is
// nil if the answers are not recorded, if a part of the load is missing, or if requests have their
// own connections, which go to the members in turn.
func memberShares(run *results.DatabaseRun, s results.Step, answered []int64) []judge.MemberShare {
	incomplete := slices.ContainsFunc(run.Generators, func(g results.Generator) bool { return g.Lost != "" })
	if answered == nil || incomplete || slices.Contains(run.Load.Operations(), workload.OpReadOneshot) || run.Load.Any(workload.Op.Locks) {
		return nil
	}
	shares := make([]judge.MemberShare, len(answered))
	for member, n := range answered {
		shares[member].Answered = n
	}
	targets := targeted(run, run.Load.Target)
	parts := len(run.Issuers())
	for i := range parts {
		part := schedule.Part{Index: i, Of: parts}
		clients, connections := part.Count(int64(s.Clients)), part.Count(int64(s.Connections))
		if clients == 0 || connections == 0 || len(targets) == 0 {
			return nil
		}
		for client := range clients {
			connection := part.Number(client % connections)
			// Each part sends as many requests as the others.
			shares[targets[connection%int64(len(targets))]].Clients += 1 / float64(clients*int64(parts))
		}
	}
	return shares
}
