package control

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/coreos/dbtester/control/fleet/fleettest"
	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/sleep/slowtest"
)

// kill ends a member like a crash.
func (r *rig) kill(member int) {
	r.t.Helper()
	pids := r.agents[member].servers(r.t)
	if len(pids) != 1 {
		r.t.Errorf("member %d has processes %q", member+1, pids)
		return
	}
	pid, err := strconv.Atoi(pids[0])
	if err != nil {
		r.t.Fatalf("parse the number: %v", err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		r.t.Errorf("send the signal: %v", err)
	}
}

// The load continues when a member dies. The run is recorded, but not valid.
func TestMemberDiesInLoad(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	var r *rig
	r = newRigOf(t, heralds(200, func() { r.kill(2) }))
	e := r.experiment("load: {rate: 200, duration: 5s, clients: 6, key_size: 32, value_size: 64, timeout: 60s}\ndatabases: {fake: {}}")
	var said []string
	out, err := r.run(e, func(u Update) { said = append(said, u.Text) })
	if err != nil {
		t.Fatalf("run the experiment: %v", err)
	}
	r.mustBeIdle()
	rec := r.read(out.Folders[0], 0)
	s := rec.run.Steps[0]
	if s.ConnectionsLost == 0 || s.WaitingNS == 0 {
		t.Errorf("step %+v, want that two clients lost their connections and waited", s)
	}
	// On a busy machine a client may connect to the dying member once more.
	if got := rec.run.Totals; got.Offered != 1000 || got.Failed+got.Unknown > s.ConnectionsLost || rec.run.State != results.StateComplete {
		t.Errorf("%s: totals %+v, want at most one request not ok for each of %d lost connections", rec.run.State, got, s.ConnectionsLost)
	}
	var okAfter int64 // in the last second and the rest of the next
	for _, i := range rec.intervals[len(rec.intervals)-2:] {
		okAfter += i.OK
	}
	if okAfter == 0 {
		t.Errorf("no request succeeded after the loss: %+v", rec.intervals)
	}
	m := rec.run.Members[2]
	if m.Error != "child died" || !slices.Equal(m.Exit, []string{"fake: killed by SIGKILL"}) || len(m.Files) != memberFiles {
		t.Errorf("member: %+v", m)
	}
	if got := rec.run.Members[0].Exit; !slices.Equal(got, []string{"fake: exit 0 after interrupt"}) {
		t.Errorf("the leader ended with %q, want exit 0 after interrupt", got)
	}
	want := "member 3: it was killed by another process, or by the kernel because memory ran out, fake: killed by SIGKILL"
	// Lost clients are judged too.
	if len(out.Invalid) < 2 || out.Invalid[0] != "fake: server lost: "+want || !strings.Contains(out.Invalid[1], "step 1, 6 clients: ") {
		t.Errorf("invalid: want %q first, then a verdict on step 1, got %q", want, out.Invalid)
	}
	if kinds := rec.kinds(); !slices.Contains(kinds, "server lost 3") || slices.Contains(kinds, "server lost 1") {
		t.Errorf("events %q, want one loss of member 3 and none of member 1", kinds)
	}
	if !slices.ContainsFunc(said, func(s string) bool { return strings.HasPrefix(s, "member 3 on "+r.agents[2].addr+" is lost: ") }) {
		t.Errorf("the loss was not reported: %q", said)
	}
	checkFiles(t, rec.dir, rigSize)
}

func TestMemberDiesBeforeReady(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, rest string
		kill       func(*rig)
		want       []string
	}{
		{
			name: "by itself", rest: small + "databases: {frail: {}}",
			want: []string{
				"frail: wait for a quorum: member 2 on ", " is gone: it ended by itself\nfake: exit 1; its last lines:\n",
				"serve fake: read fake flags: flag provided but not defined: -bogus",
			},
		},
		{
			name: "killed", rest: small + "databases: {fake: {options: {ready_after: 1m}}}", kill: func(r *rig) { r.kill(0) },
			want: []string{"fake: wait for a quorum: member 1 on ", " is gone: it was killed by another process, or by the kernel because memory ran out\nfake: killed by SIGKILL"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			out, err := r.run(r.experiment(tc.rest), once(at("wait for a quorum"), func() {
				if tc.kill != nil {
					tc.kill(r)
				}
			}))
			if err == nil {
				t.Fatal("the run succeeded, want an error")
			}
			for _, want := range tc.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q does not say %q", err, want)
				}
			}
			if n := strings.Count(err.Error(), "is gone"); n != 1 {
				t.Errorf("error %q reports the death of %d members", err, n)
			}
			r.mustBeIdle()
			rec := r.read(out.Folders[0], 0)
			if rec.run.State != results.StateFailed || rec.manifest.State != results.StateFailed || len(out.Invalid) > 0 {
				t.Errorf("run %s in %s, invalid: %q", rec.run.State, rec.manifest.State, out.Invalid)
			}
		})
	}
}

func TestNoQuorum(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	r := newRig(t)
	o := r.options(r.experiment(small+"databases: {fake: {options: {ready_after: 1m}}}"), nil)
	o.ReadyTimeout = 3 * time.Second // within it a busy machine must have an answer from each member
	_, err := Run(t.Context(), o)
	if err == nil {
		t.Fatal("the member became ready, want an error")
	}
	lines := strings.Split(err.Error(), "\n")
	want := []string{"fake: wait for a quorum: no quorum within 3s", "member 1: ", "member 2: ", "member 3: "}
	// Their errors depend on how far they came: they do not exist, or are not yet ready.
	if !slices.EqualFunc(lines, want, strings.HasPrefix) {
		t.Errorf("error %q, want %q", lines, want)
	}
	r.mustBeIdle()
}

// errGone is the answer of agents that no longer run.
var errGone = errors.New("gone")

// Files that one agent does not send, or sends wrong, are reported. Those from other agents are
// collected.
func TestAgentFailsAtTheEnd(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	for _, tc := range []struct {
		name string
		tap  func(*fleettest.Agent)
		want []string
		// files is the number of collected files for the member.
		files int
	}{
		{
			name: "wrong checksum",
			tap: func(c *fleettest.Agent) {
				real := c.AgentClient
				c.OnCollect = func(ctx context.Context, req *pb.CollectRequest) (grpc.ServerStreamingClient[pb.CollectChunk], error) {
					if req.Index == 0 {
						return &fleettest.Chunks{List: []*pb.CollectChunk{{Data: []byte("forged")}, {Sha256: make([]byte, 32)}}, Err: io.EOF}, nil
					}
					return real.Collect(ctx, req)
				}
			},
			want:  []string{"collect server-system-metrics.csv of member 2: the checksum of the received file differs from the agent's", "no longer has the records of member 2 that were not fetched"},
			files: memberFiles - 1,
		},
		{
			name: "no checksum",
			tap: func(c *fleettest.Agent) {
				c.OnCollect = func(context.Context, *pb.CollectRequest) (grpc.ServerStreamingClient[pb.CollectChunk], error) {
					return &fleettest.Chunks{List: []*pb.CollectChunk{{Data: []byte("half of it")}}, Err: io.EOF}, nil
				}
			},
			want: []string{"collect server-system-metrics.csv of member 2: ", "collect logs/fake.log of member 2: ", "collect agent.log of member 2: ", "no longer has the records of member 2 that were not fetched"},
		},
		{
			name: "gone while collecting",
			tap: func(c *fleettest.Agent) {
				c.OnCollect = func(context.Context, *pb.CollectRequest) (grpc.ServerStreamingClient[pb.CollectChunk], error) {
					return &fleettest.Chunks{List: []*pb.CollectChunk{{Data: []byte("half of it")}}, Err: errGone}, nil
				}
			},
			want: []string{"collect server-system-metrics.csv of member 2: agent ", ": gone", "no longer has the records of member 2 that were not fetched"},
		},
		{
			name: "gone before the stop",
			tap: func(c *fleettest.Agent) {
				c.OnStop = func(context.Context, *pb.StopRequest) (*pb.StopResponse, error) {
					c.OnStatus = func(context.Context, *pb.StatusRequest) (*pb.StatusResponse, error) { return nil, errGone }
					return nil, errGone
				}
			},
			want: []string{"stop member 2: agent ", "list files of member 2: agent "},
		},
		{
			name: "does not close",
			tap: func(c *fleettest.Agent) {
				real := c.AgentClient
				c.OnClose = func(ctx context.Context, req *pb.CloseRequest) (*pb.CloseResponse, error) {
					resp, err := real.Close(ctx, req)
					return resp, errors.Join(err, errGone)
				}
			},
			want:  []string{"close agents: agent "},
			files: memberFiles,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			var misbehave bool
			r.tap = func(member int, c pb.AgentClient) pb.AgentClient {
				tap := &fleettest.Agent{AgentClient: c}
				if member == 1 && misbehave { // not while it is only checked
					tc.tap(tap)
				}
				return tap
			}
			out, err := r.run(r.experiment(small+"databases: {fake: {}}"), once(at("open agents"), func() { misbehave = true }))
			if err == nil {
				t.Fatal("the run succeeded, want the error of the agent")
			}
			for _, want := range tc.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q does not say %q", err, want)
				}
			}
			r.mustBeIdle()
			rec := r.read(out.Folders[0], 0)
			if rec.run.State != results.StateFailed || rec.manifest.State != results.StateFailed || rec.run.Totals.OK != 300 {
				t.Errorf("run %s in %s: %+v", rec.run.State, rec.manifest.State, rec.run.Totals)
			}
			for i, m := range rec.run.Members {
				files := memberFiles
				if i == 1 {
					files = tc.files
				}
				if len(m.Files) != files {
					t.Errorf("unexpected files of member %d: %q", i+1, m.Files)
				}
			}
			left, err := filepath.Glob(filepath.Join(rec.dir, "*", "*.part"))
			if tops, _ := filepath.Glob(filepath.Join(rec.dir, "*.part")); err != nil || len(left)+len(tops) > 0 {
				t.Errorf("files were left: %q %q, want none", left, tops)
			}
		})
	}
}

// A full disk ends the load, and the cluster is still stopped.
func TestUnwritableRecords(t *testing.T) {
	t.Parallel()
	for _, name := range []string{results.FileIntervals, results.FileTotal, results.FileClient} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			var folder string
			out, err := r.run(r.experiment(small+"databases: {fake: {}}"), once(at("open agents"), func() {
				dirs, err := filepath.Glob(filepath.Join(r.results, "*", "*", "fake"))
				if err != nil || len(dirs) != 1 {
					t.Errorf("folders %q: %v", dirs, err)
					return
				}
				folder = dirs[0]
				if err := os.Symlink("/dev/full", filepath.Join(folder, name)); err != nil {
					t.Errorf("make a symbolic link: %v", err)
				}
			}))
			// Samples are appended to a file that is read first, and devices are not read.
			if err == nil || !strings.Contains(err.Error(), name+": no space left on device") && !strings.Contains(err.Error(), name+": must be a regular file") {
				t.Errorf("the error must name %s and why it cannot be written, got %v", name, err)
			}
			r.mustBeIdle()
			rec := r.read(out.Folders[0], 0)
			if rec.run.State != results.StateFailed || rec.run.Totals != nil || len(rec.run.Members[2].Files) != memberFiles {
				t.Errorf("run %+v", rec.run)
			}
		})
	}
}
