package dbtester

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	"github.com/coreos/dbtester/control"
	"github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/results"
)

// TestResponses: success depends after a Stop on the member alone, and after a Start also on the
// quorum.
func TestResponses(t *testing.T) {
	members := func() []results.Member {
		return []results.Member{
			{Index: 0, Endpoint: "a:1", Disk: &results.Disk{ApparentBytes: 7}},
			{Index: 1, Endpoint: "b:1", Error: "killed by signal 9", Disk: &results.Disk{ApparentBytes: 5}},
			{Index: 2, Endpoint: "c:1"}, // its agent does not answer
		}
	}
	for _, tc := range []struct {
		name  string
		op    Operation
		state results.State
		want  [3]bool
	}{
		{"stopped without a quorum", Stop, results.StateFailed, [3]bool{true, false, false}},
		{"stopped", Stop, results.StateComplete, [3]bool{true, false, false}},
		{"started without a quorum", Start, results.StateFailed, [3]bool{}},
		{"started", Start, results.StateComplete, [3]bool{true, false, true}},
	} {
		folder, err := results.Create(t.TempDir(), "parts", time.Unix(1500000000, 0), "")
		if err != nil {
			t.Fatalf("make a folder: %v", err)
		}
		m := &results.Manifest{State: tc.state, Databases: []*results.DatabaseRun{{Tag: "fake", State: tc.state, Members: members()}}}
		if err := folder.WriteManifest(m); err != nil {
			t.Fatalf("write a manifest: %v", err)
		}
		got, err := responsesOf(&control.Outcome{Folders: []string{folder.Dir()}}, tc.op)
		if err != nil || len(got) != 3 {
			t.Fatalf("%s: %v (%v), want three responses", tc.name, got, err)
		}
		for i, want := range tc.want {
			if got[i].Success != want || got[i].Folder != folder.Path("fake") {
				t.Errorf("%s: member %d has %+v, want success: %v", tc.name, i, got[i], want)
			}
		}
		if got[0].DiskSpaceUsageBytes != 7 || got[2].DiskSpaceUsageBytes != -1 {
			t.Errorf("%s: %+v, want 7 bytes of the first member and -1 of the last", tc.name, got)
		}
	}
}

// scripted is an agent with a constant status.
type scripted struct {
	dbtesterpb.UnimplementedAgentServer
	status *dbtesterpb.StatusResponse
}

func (s scripted) Status(context.Context, *dbtesterpb.StatusRequest) (*dbtesterpb.StatusResponse, error) {
	return s.status, nil
}

// TestBeat: heartbeats succeed only for members that wait for a Stop.
func TestBeat(t *testing.T) {
	running := dbtesterpb.State_STATE_RUNNING
	for _, tc := range []struct {
		name, want string
		status     *dbtesterpb.StatusResponse
	}{
		{"detached", "", &dbtesterpb.StatusResponse{State: running, Owner: &dbtesterpb.Owner{Tag: "fake", Detached: true}}},
		{"of a whole run", "for a run of someone@client, which stops it", &dbtesterpb.StatusResponse{State: running, Owner: &dbtesterpb.Owner{Tag: "fake", Name: "someone@client"}}},
		{"another database", `runs no member of "fake"`, &dbtesterpb.StatusResponse{State: running, Owner: &dbtesterpb.Owner{Tag: "etcd", Detached: true}}},
		{"stopped", `runs no member of "fake"`, &dbtesterpb.StatusResponse{State: dbtesterpb.State_STATE_STOPPED, Owner: &dbtesterpb.Owner{Tag: "fake", Detached: true}}},
		{"idle", `runs no member of "fake"`, &dbtesterpb.StatusResponse{State: dbtesterpb.State_STATE_IDLE}},
	} {
		listener, server := bufconn.Listen(1<<16), grpc.NewServer()
		dbtesterpb.RegisterAgentServer(server, scripted{status: tc.status})
		served := make(chan error, 1)
		go func() { served <- server.Serve(listener) }()
		c := &Config{Dial: []grpc.DialOption{
			grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }),
		}}
		err := c.beat(t.Context(), "10.0.0.2:3500", "fake")
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: error %v, want one with %q", tc.name, err, tc.want)
		}
		server.Stop()
		if err := <-served; err != nil {
			t.Errorf("serve: %v", err)
		}
	}
}
