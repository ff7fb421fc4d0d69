package judge

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/coreos/dbtester/pkg/mark"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/workload"
)

// divided returns a step with a rate on three members with equally many clients.
func divided(answered ...int64) Step {
	s := Step{Clients: 30, Rated: true}
	for _, n := range answered {
		s.Members = append(s.Members, MemberShare{Clients: 1 / float64(len(answered)), Answered: n})
		s.OK += n
	}
	s.Answered, s.Offered = float64(s.OK), float64(s.OK)
	return s
}

// sharesIn returns the marks for members that answered too little.
func sharesIn(e Evidence) (marks []results.Mark) {
	for _, m := range plainMarks(e) {
		if m.Code == mark.MemberShare {
			marks = append(marks, m)
		}
	}
	return marks
}

// TestMemberShare has members that answered their whole share and parts of it.
func TestMemberShare(t *testing.T) {
	t.Parallel()
	const slow = "step 1, 30 clients: member 3 answered 50 % of its share of the requests (mark below 85 %): 17 % of all in place of 33 %, 1,000 of 6,000; clients of other members sent the rest"
	expect := func(n int) func(*Evidence) {
		return func(e *Evidence) { e.Lost[2], e.Run.Load.Expect.LostServers = "killed", n }
	}
	step := func(change func(*Step)) Step {
		s := divided(2500, 2500, 1000)
		change(&s)
		return s
	}
	for name, tc := range map[string]struct {
		step   Step
		change func(*Evidence)
		want   string // the only mark, or ""
	}{
		"fair":           {step: divided(2000, 2000, 2000)},
		"a slow member":  {step: divided(2500, 2500, 1000), want: slow},
		"at the mark":    {step: divided(2150, 2150, 1700)},
		"of one member":  {step: divided(6000)},
		"few requests":   {step: divided(140, 140, 10)},
		"just enough":    {step: divided(145, 145, 10), want: "step 1, 30 clients: member 3 answered 10 % of its share of the requests (mark below 85 %): 3.3 % of all in place of 33 %, 10 of 300; clients of other members sent the rest"},
		"perhaps chance": {step: divided(125, 125, 75)},
		"by few clients": {step: step(func(s *Step) {
			s.Members[0].Clients, s.Members[1].Clients, s.Members[2].Clients = 0.41, 0.41, 0.18
		})},
		"targeted by no client": {step: step(func(s *Step) {
			s.Members[0] = MemberShare{Clients: 0.5, Answered: 3000}
			s.Members[1] = MemberShare{Clients: 0.5, Answered: 3000}
			s.Members[2] = MemberShare{}
		})},
		"a closed loop":            {step: step(func(s *Step) { s.Rated = false })},
		"bound to clients":         {step: divided(2500, 2500, 1000), change: func(e *Evidence) { e.Run.Load.Bind = workload.BindClient }},
		"every client was busy":    {step: step(func(s *Step) { s.Queued = 61 })},
		"hardly any queued":        {step: step(func(s *Step) { s.Queued = 60 }), want: slow},
		"clients without a server": {step: step(func(s *Step) { s.Waiting = &Part{2 * time.Second, 1000 * time.Second} })},
		"hardly any wait":          {step: step(func(s *Step) { s.Waiting = &Part{time.Second, 1000 * time.Second} }), want: slow},
		"lost":                     {step: divided(2500, 2500, 1000), change: expect(0)},
		"lost as expected":         {step: divided(2500, 2500, 1000), change: expect(1)},
		"beside one that is lost":  {step: divided(4000, 1000, 1000), change: expect(1), want: "step 1, 30 clients: member 2 answered 50 % of its share of the requests (mark below 85 %): 17 % of all in place of 33 %, 1,000 of 6,000; clients of other members sent the rest"},
		"not recorded":             {step: step(func(s *Step) { s.Members = nil })},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := goodRun()
			e.Steps = []Step{tc.step}
			if tc.change != nil {
				tc.change(&e)
			}
			var want []results.Mark
			if tc.want != "" {
				want = []results.Mark{{Code: mark.MemberShare, Text: tc.want}}
			}
			if diff := cmp.Diff(want, sharesIn(e)); diff != "" {
				t.Errorf("marks (-want +got):\n%s", diff)
			}
		})
	}
}

// TestMemberShareCanChangeLatency: the effect is not known, because it was not measured how long
// users of the slow member would have waited.
func TestMemberShareCanChangeLatency(t *testing.T) {
	t.Parallel()
	if e := mark.EffectOf(mark.MemberShare, mark.Values{"share_percent": 50}, nil); e.Number != mark.Latency || e.Share != nil {
		t.Errorf("want an unknown part of the latency, got %+v", e)
	}
}

// TestMemberShareByChance sends each request to a random member, which is less even than clients
// that take turns. No member gets a mark.
func TestMemberShareByChance(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		members := rapid.IntRange(2, 7).Draw(t, "members")
		requests := rapid.IntRange(300, 3000).Draw(t, "requests")
		state := rapid.Uint64().Draw(t, "seed")
		answered := make([]int64, members)
		for range requests {
			state = state*6364136223846793005 + 1442695040888963407
			answered[(state>>33)%uint64(members)]++
		}
		e := goodRun()
		e.Steps = []Step{divided(answered...)}
		if marks := sharesIn(e); len(marks) > 0 {
			t.Errorf("%v requests by member: want no mark, got %+v", answered, marks)
		}
	})
}
