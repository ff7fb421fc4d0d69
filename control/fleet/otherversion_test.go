package fleet

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/coreos/dbtester/control/fleet/fleettest"
	pb "github.com/coreos/dbtester/dbtesterpb"
)

// TestOtherVersion: agents with another version are refused, all at once when their status is
// requested, and when they are opened, before any member starts. Each error names both versions.
func TestOtherVersion(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		control string
		agents  []string
		reach   []string // parts of the error; nil for no error
		open    string
	}{
		{"v0.3.0", []string{"v0.3.0", "v0.3.0"}, nil, ""},
		{"v0.3.0", []string{"v0.3.0", "v0.2.9"}, []string{"agent-2 is dbtester v0.2.9", "this control is dbtester v0.3.0"}, "agent-2 is"},
		{"v0.3.0", []string{"dev", "v0.4.0"}, []string{"agent-1 is dbtester dev", "agent-2 is dbtester v0.4.0"}, "agent-1 is"},
		{"v0.3.0", []string{"", "v0.3.0"}, nil, ""},
		{"", []string{"v0.3.0", "v0.4.0"}, nil, ""},
	} {
		t.Run(fmt.Sprintf("%s with %q", tt.control, tt.agents), func(t *testing.T) {
			closed := 0
			o := Options{RunID: "run", Version: tt.control, Connect: func(_ context.Context, addr string) (pb.AgentClient, io.Closer, error) {
				var member int
				if _, err := fmt.Sscanf(addr, "agent-%d", &member); err != nil {
					return nil, nil, err
				}
				agent, version := answers("run"), tt.agents[member-1]
				agent.OnStatus = fleettest.StatusOf(&pb.StatusResponse{Version: version})
				agent.OnOpen = func(context.Context, *pb.OpenRequest) (*pb.OpenResponse, error) {
					return &pb.OpenResponse{Version: version}, nil
				}
				agent.OnClose = func(context.Context, *pb.CloseRequest) (*pb.CloseResponse, error) {
					closed++
					return &pb.CloseResponse{}, nil
				}
				return agent, io.NopCloser(nil), nil
			}}
			for i := range tt.agents {
				o.Agents = append(o.Agents, fmt.Sprintf("agent-%d", i+1))
			}
			f := New(o)
			if err := f.Connect(t.Context()); err != nil {
				t.Fatal(err)
			}
			err := f.Reach(t.Context())
			if (err != nil) != (len(tt.reach) > 0) {
				t.Errorf("Reach: error %v, want one with %q", err, tt.reach)
			}
			for _, part := range tt.reach {
				if err != nil && !strings.Contains(err.Error(), part) {
					t.Errorf("Reach: error %v, want %q in it", err, part)
				}
			}
			opened := 0
			err = f.Open(t.Context(), nil, nil)
			for _, s := range f.sessions {
				if s.Reserved {
					opened++
				}
			}
			if (err != nil) != (tt.open != "") || err != nil && !strings.Contains(err.Error(), tt.open) {
				t.Errorf("Open: error %v, want one with %q", err, tt.open)
			}
			if err := f.Close(t.Context()); err != nil || closed != opened {
				t.Errorf("Close: %v; %d of %d opened agents were given back", err, closed, opened)
			}
		})
	}
}
