package agent

import (
	"slices"

	pb "github.com/coreos/dbtester/dbtesterpb"
)

// States returns the values of [Seen.State].
func States() (words []string) {
	for state := pb.State_STATE_IDLE; state <= pb.State_STATE_STOPPED; state++ {
		words = append(words, stateWord(state))
	}
	return words
}

// Seen returns the state of the agent and its session. While the agent is idle, the rest is from
// the last session.
func (a *Agent) Seen() Seen {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.session == nil {
		last := a.last
		last.State, last.Down = stateWord(pb.State_STATE_IDLE), false
		return last
	}
	return a.session.seen()
}

// seen returns what the session shows. agent.mu is held.
func (s *session) seen() Seen {
	now := &s.now
	seen := Seen{
		State: stateWord(now.state), Down: now.down && now.state == pb.State_STATE_RUNNING, Run: pb.RunHash(now.Run), Tag: now.tag, Member: -1,
		Sample: s.newest.Load(), Faults: slices.Clone(now.faults),
	}
	if now.planned != nil {
		seen.Member = now.planned.member.Index
	}
	return seen
}

// Lasting counts the faults of a kind that were applied, and those that are not over yet.
func (s Seen) Lasting(kind string) (lasting, applied int) {
	for _, f := range s.Faults {
		if f.Kind != kind || f.Applied.IsZero() {
			continue
		}
		applied++
		if f.Over.IsZero() {
			lasting++
		}
	}
	return lasting, applied
}
