package agent_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/coreos/dbtester/agent"
	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/database/fake"
	"github.com/coreos/dbtester/pkg/process"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/sleep/slowtest"
)

func TestSecondStart(t *testing.T) {
	h := serve(t, nil)
	h.open("run1")
	h.open("run1") // the same again is the same answer
	req := request(t, "run1", "")

	answers := make([]*pb.StartResponse, 4)
	var group sync.WaitGroup
	for i := range answers {
		group.Go(func() { answers[i], _ = h.Start(t.Context(), req) })
	}
	group.Wait()
	for _, got := range answers {
		if diff := cmp.Diff(answers[0], got, protocmp.Transform()); got == nil || diff != "" {
			t.Errorf("starts at once differ: %s", diff)
		}
	}
	if diff := cmp.Diff(answers[0], h.start(req), protocmp.Transform()); diff != "" {
		t.Errorf("a later start differs: %s", diff)
	}
	_, err := h.Start(t.Context(), request(t, "run1", ""))
	wantCode(t, err, codes.FailedPrecondition, `already runs "toy-v1"`)
	if got := h.status().Children; len(got) != 1 || !got[0].Running {
		t.Errorf("children after the second starts: %v", got)
	}
}

func TestSecondStop(t *testing.T) {
	h := serve(t, nil)
	if got := h.stopped("nobody"); got.Reason != "" || got.ApparentBytes != -1 {
		t.Errorf("stop while idle: %v", got)
	}
	if _, err := h.Close(t.Context(), &pb.CloseRequest{RunId: "nobody"}); err != nil {
		t.Errorf("close while idle: %v", err)
	}
	_, err := h.beat("nobody")
	wantCode(t, err, codes.FailedPrecondition, "no session is open")
	_, err = h.Start(t.Context(), request(t, "nobody", ""))
	wantCode(t, err, codes.FailedPrecondition, "no session is open")

	h.open("run1")
	req := request(t, "run1", "")
	h.start(req)
	first := h.stopped("run1")
	if diff := cmp.Diff(first, h.stopped("run1"), protocmp.Transform()); diff != "" {
		t.Errorf("the second stop differs: %s", diff)
	}
	beat, err := h.beat("run1")
	if err != nil || beat.State != pb.State_STATE_STOPPED || len(beat.Children) != 1 {
		t.Errorf("heartbeat after the stop: %v, %v", beat, err)
	}
	_, err = h.Start(t.Context(), req)
	wantCode(t, err, codes.FailedPrecondition, "has ended (asked)")

	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			if _, err := h.Close(t.Context(), &pb.CloseRequest{RunId: "run1"}); err != nil {
				t.Errorf("close the session: %v", err)
			}
		})
	}
	group.Wait()
	h.open("run1") // a closed run may come back
	if got := h.stopped("run1"); got.Reason != "asked" || len(got.Children) != 0 {
		t.Errorf("stop before a start: %v", got)
	}
}

func TestTwoOwners(t *testing.T) {
	h := serve(t, nil)
	var won atomic.Int32
	var group sync.WaitGroup
	for _, run := range []string{"a", "b", "c", "d"} {
		group.Go(func() {
			if _, err := h.Open(t.Context(), &pb.OpenRequest{RunId: run, Owner: run}); err == nil {
				won.Add(1)
			}
		})
	}
	group.Wait()
	if won.Load() != 1 {
		t.Errorf("%d of four controls have the agent, want one", won.Load())
	}
	owner := h.status().Owner
	_, err := h.Open(t.Context(), &pb.OpenRequest{RunId: "late", Owner: "late"})
	wantCode(t, err, codes.FailedPrecondition, "belongs to "+owner.Name, "since ", "last heard from")
	details := status.Convert(err).Details()
	if len(details) != 1 {
		t.Fatalf("details %v, want the owner", details)
	}
	if got, ok := details[0].(*pb.Owner); !ok || got.RunHash != owner.RunHash || got.SinceUnixNs == 0 || got.LastHeartbeatUnixNs < got.SinceUnixNs {
		t.Errorf("owner %v, want %v", details[0], owner)
	}
	_, err = h.beat("late")
	wantCode(t, err, codes.PermissionDenied)
	_, err = h.Stop(t.Context(), &pb.StopRequest{RunId: "late"})
	wantCode(t, err, codes.PermissionDenied)
	_, err = h.Close(t.Context(), &pb.CloseRequest{RunId: "late"})
	wantCode(t, err, codes.PermissionDenied)
	if got := h.status(); got.State != pb.State_STATE_OPEN {
		t.Errorf("verbs of another run changed the session: %v", got)
	}
}

func TestLeaseExpires(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	const lease = 3 * time.Second
	h := serve(t, func(o *agent.Options) { o.Lease = lease })
	silence := h.beats("run1")
	h.open("run1")
	started := h.start(request(t, "run1", ""))
	silence()
	for end := time.Now().Add(2 * lease); time.Now().Before(end); time.Sleep(lease / 30) {
		if beat, err := h.beat("run1"); err != nil || beat.State != pb.State_STATE_RUNNING {
			t.Fatalf("heartbeat within the lease: %v, %v", beat, err)
		}
	}
	got := h.awaitState(pb.State_STATE_STOPPED)
	if got.Reason != "lease expired" {
		t.Errorf("reason %q", got.Reason)
	}
	gone(t, started.Children)
	if log := string(h.collect("run1", "logs/server.log")); !strings.Contains(log, "toy stops") {
		t.Errorf("log after the lease: %q", log)
	}
	h.open("run2")
	if _, err := os.Stat(filepath.Dir(started.Dir)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the abandoned session's directory: %v", err)
	}
	_, err := h.beat("run1")
	wantCode(t, err, codes.PermissionDenied)

	h.await("end of a lease without a start", func(r *pb.StatusResponse) bool { return r.Reason == "lease expired" })
	h.open("run3")
}

// A control that died between Stop and Close must not hold the agent forever.
func TestLeaseOfStopped(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	h := serve(t, func(o *agent.Options) { o.Lease = 3 * time.Second })
	silence := h.beats("run1")
	h.open("run1")
	h.start(request(t, "run1", ""))
	h.stopped("run1")
	silence()
	h.awaitOpen("run2")
}

// awaitOpen opens the run as soon as the agent lets it.
func (h *harness) awaitOpen(run string) {
	h.t.Helper()
	h.await("free agent", func(*pb.StatusResponse) bool {
		_, err := h.Open(h.t.Context(), &pb.OpenRequest{RunId: run})
		return err == nil
	})
}

func TestChildDies(t *testing.T) {
	h := serve(t, nil)
	h.open("run1")
	req := request(t, "run1", "{proxy: true}")
	started := h.start(req)
	killToy(t, addr(req))
	got := h.awaitState(pb.State_STATE_STOPPED)
	if got.Reason != "child died" {
		t.Errorf("reason %q", got.Reason)
	}
	server, proxy := got.Children[0], got.Children[1]
	if server.Exit != "exit 3" || !strings.HasSuffix(server.Tail, "disk on fire") {
		t.Errorf("the dead child: %v", server)
	}
	if !strings.HasSuffix(proxy.Exit, " after interrupt") || proxy.Tail != "" {
		t.Errorf("the child that was stopped for it: %v", proxy)
	}
	gone(t, started.Children)
	if got := h.stopped("run1"); got.Reason != "child died" || got.ApparentBytes != 12345 {
		t.Errorf("stop after the death: %v", got)
	}
}

func TestFailedStart(t *testing.T) {
	h := serve(t, nil)
	h.open("run1")
	_, err := h.Start(t.Context(), request(t, "run1", "{frail: true}"))
	wantCode(t, err, codes.Aborted, "too frail to serve")
	got := h.awaitState(pb.State_STATE_STOPPED)
	if got.Reason != "start failed" {
		t.Errorf("reason %q", got.Reason)
	}
	gone(t, got.Children)
	if log := string(h.collect("run1", "logs/server.log")); !strings.Contains(log, "too frail") {
		t.Errorf("log of a failed start: %q", log)
	}
}

// A refusal without effects leaves the session open for a better request.
func TestStartAfterRefusal(t *testing.T) {
	h := serve(t, nil)
	h.open("run1")
	req := request(t, "run1", "")
	listener, err := net.Listen("tcp", addr(req))
	if err != nil {
		t.Fatalf("listen on the address: %v", err)
	}
	_, err = h.Start(t.Context(), req)
	wantCode(t, err, codes.FailedPrecondition, addr(req), "is taken by")
	if err := listener.Close(); err != nil {
		t.Fatalf("close the listener: %v", err)
	}
	h.start(req)
}

func TestDryRun(t *testing.T) {
	h := serve(t, nil)
	h.open("run1")
	before := tree(t, h.dir)
	req := request(t, "run1", "")
	req.DryRun = true
	got := h.start(req)
	if len(got.Children) != 1 || got.Children[0].Pid != 0 || got.Children[0].Argv[0] != os.Args[0] {
		t.Errorf("children of a dry run: %v", got.Children)
	}
	if !strings.Contains(string(got.Plan), `"listen":["`+addr(req)) || readRecord[results.Disk](t, got.Disk).FsyncP50 != 0 {
		t.Errorf("plan of a dry run: %v", got)
	}
	if diff := cmp.Diff(before, tree(t, h.dir)); diff != "" {
		t.Errorf("a dry run touched the work directory: %s", diff)
	}
	if got := h.status(); got.State != pb.State_STATE_OPEN || len(got.Files) != 0 {
		t.Errorf("after a dry run: %v", got)
	}
	req.DryRun = false
	h.start(req)
}

// tree lists the paths below dir.
func tree(t *testing.T, dir string) []string {
	t.Helper()
	var paths []string
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		paths = append(paths, path)
		return err
	})
	if err != nil {
		t.Fatalf("walk the folder: %v", err)
	}
	return paths
}

// Every way to end a session whose start hangs also ends its children, and informs the caller of
// Start.
func TestEndWhileStarting(t *testing.T) {
	for name, end := range map[string]func(*harness){
		"asked":        func(h *harness) { h.stopped("run1") },
		"agent closed": func(h *harness) { _ = h.agent.Close(h.t.Context()) },
	} {
		t.Run(name, func(t *testing.T) {
			h := serve(t, nil)
			h.open("run1")
			failed := make(chan error, 1)
			go func() {
				_, err := h.Start(context.Background(), request(t, "run1", "{mute: true}"))
				failed <- err
			}()
			starting := h.await("child", func(r *pb.StatusResponse) bool { return len(r.Children) == 1 })
			if starting.State != pb.State_STATE_STARTING || !starting.Children[0].Running {
				t.Errorf("while starting: %v", starting)
			}
			end(h)
			wantCode(t, <-failed, codes.Aborted, "stopped while starting: "+name)
			gone(t, starting.Children)
		})
	}
}

func TestStubbornChildIsKilled(t *testing.T) {
	h := serve(t, func(o *agent.Options) {
		o.Deadlines = process.Deadlines{Interrupt: 50 * time.Millisecond, Terminate: 50 * time.Millisecond, Kill: patience}
	})
	h.open("run1")
	h.start(request(t, "run1", "{stubborn: true}"))
	got := h.stopped("run1")
	if got.Children[0].Exit != "killed by SIGKILL after kill" {
		t.Errorf("stubborn child: %v", got.Children)
	}
}

// A call that ends early leaves its effect running.
func TestImpatientCalls(t *testing.T) {
	slowtest.Skip(t)
	h := serve(t, func(o *agent.Options) {
		o.Deadlines = process.Deadlines{Interrupt: 3 * time.Second, Kill: patience}
	})
	h.open("run1")
	started := h.start(request(t, "run1", "{stubborn: true}"))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		_, err := h.Stop(ctx, &pb.StopRequest{RunId: "run1"})
		ended <- err
	}()
	h.await("the stop", func(r *pb.StatusResponse) bool { return r.State != pb.State_STATE_RUNNING })
	cancel()
	if err := <-ended; err != nil { // else this machine was too busy to cancel it in time
		wantCode(t, err, codes.Canceled)
	}
	got := h.awaitState(pb.State_STATE_STOPPED)
	if got.Reason != "asked" {
		t.Errorf("reason %q", got.Reason)
	}
	gone(t, started.Children)
}

func TestCollect(t *testing.T) {
	h := serve(t, nil)
	h.open("run1")
	h.start(request(t, "run1", ""))
	for _, index := range []int32{-1, 4, 1 << 30} {
		stream, err := h.Collect(t.Context(), &pb.CollectRequest{RunId: "run1", Index: index})
		if err == nil {
			_, err = stream.Recv()
		}
		wantCode(t, err, codes.OutOfRange, "must be below 4")
	}
	h.collect("run1", "logs/server.log") // for a member that runs
	h.stopped("run1")

	// More than a chunk, and not a whole number of chunks.
	long := strings.Repeat("0123456789abcdef", 20_000) + "end"
	var dir string
	for _, path := range tree(t, h.dir) {
		if strings.HasSuffix(path, "logs/server.log") {
			dir = path
		}
	}
	if err := os.WriteFile(dir, []byte(long), 0o600); err != nil {
		t.Fatalf("write a file for the test: %v", err)
	}
	if got := string(h.collect("run1", "logs/server.log")); got != long {
		t.Errorf("collected %d bytes, want %d", len(got), len(long))
	}
	// A file that was never made is an empty one.
	if err := os.Remove(dir); err != nil {
		t.Fatalf("remove the file: %v", err)
	}
	if got := h.collect("run1", "logs/server.log"); len(got) != 0 {
		t.Errorf("collected %d bytes of no file", len(got))
	}
}

// A cluster with three members, each on a separate agent in this process.
func TestThreeAgentsInOneProcess(t *testing.T) {
	var hosts []*pb.MemberHost
	agents := make([]*harness, 3)
	for i := range agents {
		agents[i] = serve(t, nil)
		agents[i].open("run1")
		hosts = append(hosts, request(t, "run1", "").Hosts...)
	}
	target := database.Target{Prefer: -1}
	var children []*pb.Child
	for i, h := range agents {
		req := request(t, "run1", "")
		req.Database, req.Hosts, req.Index = fake.Name, hosts, int32(i)
		children = append(children, h.start(req).Children...)
		target.Endpoints = append(target.Endpoints, net.JoinHostPort(hosts[i].Addr, strconv.Itoa(int(hosts[i].Ports["client"]))))
	}
	for _, h := range agents {
		h.awaitReady()
	}
	put(t, target, "key", "value")
	var group sync.WaitGroup
	for i, h := range agents {
		group.Go(func() {
			got, err := h.Stop(t.Context(), &pb.StopRequest{RunId: "run1"})
			if err != nil || got.Reason != "asked" || got.Children[0].Exit != "exit 0 after interrupt" {
				t.Errorf("agent %d: %v, %v", i, got, err)
			}
			if leads := i == 0; leads != (got.GetApparentBytes() > 0) {
				t.Errorf("agent %d: data of %d bytes, and only member 0 keeps any", i, got.GetApparentBytes())
			}
		})
	}
	group.Wait()
	gone(t, children)
}

// awaitReady probes until the member is ready.
func (h *harness) awaitReady() {
	h.t.Helper()
	h.await("readiness", func(*pb.StatusResponse) bool {
		got, err := h.Status(h.t.Context(), &pb.StatusRequest{Probe: true, RunId: h.run})
		return err == nil && got.Ready
	})
}

// put writes one key through a fake cluster.
func put(t *testing.T, target database.Target, key, value string) {
	t.Helper()
	client, err := fake.New().Dial(t.Context(), target)
	if err != nil {
		t.Fatalf("dial the member: %v", err)
	}
	if err := client.Put(t.Context(), []byte(key), []byte(value)); err != nil {
		t.Errorf("put a key: %v", err)
	}
	if err := client.Close(); err != nil {
		t.Errorf("close the client: %v", err)
	}
}
