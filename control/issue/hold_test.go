package issue

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"google.golang.org/grpc"

	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/ability/deaths"
	"github.com/coreos/dbtester/pkg/coordination/session"
)

// holder is a generator that ends all requested sessions.
type holder struct {
	pb.GeneratorClient // panics in verbs that are not here
	plan               session.Plan
}

func (h *holder) GrantSessions(_ context.Context, req *pb.GrantSessionsRequest, _ ...grpc.CallOption) (*pb.GrantSessionsResponse, error) {
	return &pb.GrantSessionsResponse{}, json.Unmarshal(req.GetPlan(), &h.plan)
}

func (h *holder) EndSessions(context.Context, *pb.EndSessionsRequest, ...grpc.CallOption) (*pb.EndSessionsResponse, error) {
	part, err := json.Marshal(session.Part{Tally: deaths.Tally{Granted: h.plan.Held}})
	return &pb.EndSessionsResponse{Part: part, Seconds: []byte("[]")}, err
}

// TestFewSessions: with more generators than sessions, those without a session are not asked for
// any, and nothing about them is unknown.
func TestFewSessions(t *testing.T) {
	const machines = 3
	s := &Set{}
	for n := range machines {
		g := newGenerator(n, "127.0.0.1:1", "run1")
		if n < 2 {
			g.Client = &holder{}
		}
		s.gens = append(s.gens, g)
	}
	plan := session.Plan{Held: 2, TTL: 2 * time.Second, Keep: time.Second, Release: deaths.AllAtOnce, Keys: 1}
	if err := s.GrantSessions(t.Context(), session.Split(plan, machines), 8, 4); err != nil {
		t.Fatalf("grant sessions: %v", err)
	}
	granted := 0
	for _, p := range s.EndSessions(t.Context()) {
		if granted += p.Part.Granted; p.Lost != nil {
			t.Errorf("what became of the sessions of %s is not known: %v", p.Machine, p.Lost)
		}
	}
	if granted != plan.Held {
		t.Errorf("%d sessions are known, want %d", granted, plan.Held)
	}
}
