package agent_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"github.com/coreos/dbtester/agent"
	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/metric"
	"github.com/coreos/dbtester/pkg/process"
	"github.com/coreos/dbtester/pkg/process/environment"
	"github.com/coreos/dbtester/pkg/results"
)

// patience is how long anything may take on a busy machine: only a hang takes longer.
const patience = 2 * time.Minute

// harness is one agent behind gRPC, with a client.
type harness struct {
	pb.AgentClient
	t     *testing.T
	agent *agent.Agent
	dir   string
	run   string // opened last: the run for status
	stop  func() // server and connection
}

// serve starts an agent with test options that change may alter. When the test ends, everything
// is closed and checked to be gone.
func serve(t *testing.T, change func(*agent.Options)) *harness {
	t.Helper()
	o := agent.Options{
		Registry:  registry(),
		WorkDir:   t.TempDir(),
		Self:      []string{os.Args[0], "serve"},
		Lease:     30 * time.Second,
		Deadlines: process.Deadlines{Interrupt: 30 * time.Second, Terminate: 10 * time.Second, Kill: patience},
		Grace:     time.Minute, // verbs give their own answers, on a busy machine too
		Interface: "lo",
		Version:   "v0-test",
		Log:       slogTo(t),
	}
	if change != nil {
		change(&o)
	}
	a, err := agent.New(o)
	if err != nil {
		t.Fatalf("start the agent: %v", err)
	}
	h := &harness{t: t, agent: a, dir: o.WorkDir}
	h.listen()
	t.Cleanup(h.close)
	return h
}

func (h *harness) listen() {
	log := slogTo(h.t)
	listener := bufconn.Listen(1 << 20)
	server := grpc.NewServer(agent.ServerOptions(log)...)
	h.agent.Register(server)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	conn, err := grpc.NewClient("passthrough:agent",
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		h.t.Fatalf("make a gRPC client: %v", err)
	}
	h.AgentClient = pb.NewAgentClient(conn)
	h.stop = sync.OnceFunc(func() {
		conn.Close()
		server.Stop()
		<-served
	})
}

// close ends the agent like SIGTERM.
func (h *harness) close() {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := h.agent.Close(ctx); err != nil {
		h.t.Errorf("close the agent: %v", err)
	}
	h.stop()
}

// open opens the run, which must work.
func (h *harness) open(run string) {
	h.t.Helper()
	h.run = run
	if _, err := h.Open(h.t.Context(), &pb.OpenRequest{RunId: run, Owner: "tester of " + run}); err != nil {
		h.t.Fatalf("open the session: %v", err)
	}
}

// start starts a member, which must work.
func (h *harness) start(req *pb.StartRequest) *pb.StartResponse {
	h.t.Helper()
	resp, err := h.Start(h.t.Context(), req)
	if err != nil {
		h.t.Fatalf("start the member: %v", err)
	}
	return resp
}

// status returns the status as the last opened run sees it.
func (h *harness) status() *pb.StatusResponse {
	h.t.Helper()
	resp, err := h.Status(h.t.Context(), &pb.StatusRequest{RunId: h.run})
	if err != nil {
		h.t.Fatalf("ask for the status: %v", err)
	}
	return resp
}

// await polls the status until ok accepts it.
func (h *harness) await(what string, ok func(*pb.StatusResponse) bool) *pb.StatusResponse {
	h.t.Helper()
	deadline := time.Now().Add(patience)
	for {
		resp := h.status()
		if ok(resp) {
			return resp
		}
		if time.Now().After(deadline) {
			h.t.Fatalf("%s did not come within %v: %v", what, patience, resp)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func (h *harness) awaitState(state pb.State) *pb.StatusResponse {
	h.t.Helper()
	return h.await(state.String(), func(r *pb.StatusResponse) bool { return r.State == state })
}

// stopped stops the run, which must work.
func (h *harness) stopped(run string) *pb.StopResponse {
	h.t.Helper()
	resp, err := h.Stop(h.t.Context(), &pb.StopRequest{RunId: run})
	if err != nil {
		h.t.Fatalf("stop the member: %v", err)
	}
	return resp
}

// beat sends a heartbeat.
func (h *harness) beat(run string) (*pb.HeartbeatResponse, error) {
	return h.Heartbeat(h.t.Context(), &pb.HeartbeatRequest{RunId: run})
}

// beats sends heartbeats for a run until the returned function is called. A member's start may last
// longer than a short lease.
func (h *harness) beats(run string) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			_, _ = h.Heartbeat(ctx, &pb.HeartbeatRequest{RunId: run}) // refused while it is not open
			select {
			case <-ctx.Done():
			case <-time.After(50 * time.Millisecond):
			}
		}
	}()
	stop = sync.OnceFunc(func() {
		cancel()
		<-done
	})
	h.t.Cleanup(stop)
	return stop
}

// collect returns a session file and checks its checksum.
func (h *harness) collect(run, name string) []byte {
	h.t.Helper()
	index := -1
	for i, f := range h.status().Files {
		if f.Name == name {
			index = i
		}
	}
	if index < 0 {
		h.t.Fatalf("the session has no file %q: %v", name, h.status().Files)
	}
	stream, err := h.Collect(h.t.Context(), &pb.CollectRequest{RunId: run, Index: int32(index)})
	if err != nil {
		h.t.Fatalf("collect a file: %v", err)
	}
	var data, sum []byte
	for {
		chunk, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			h.t.Fatalf("receive from the agent: %v", err)
		}
		if sum != nil {
			h.t.Fatal("a chunk after the checksum")
		}
		data, sum = append(data, chunk.Data...), chunk.Sha256
	}
	if want := sha256.Sum256(data); !bytes.Equal(sum, want[:]) {
		h.t.Errorf("%s: checksum %x of %d bytes, want %x", name, sum, len(data), want)
	}
	return data
}

// request is a Start for a one-member toy cluster on a free port.
func request(t *testing.T, run, options string) *pb.StartRequest {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("listen on the address: %v", err)
	}
	defer listener.Close()
	port := listener.Addr().(*net.TCPAddr).Port
	return &pb.StartRequest{
		RunId:    run,
		Database: "toy",
		Tag:      "toy-v1",
		Options:  []byte(options),
		Hosts:    []*pb.MemberHost{{Addr: "127.0.0.1", Ports: map[string]int32{"client": int32(port)}}},
		Clients:  7,
	}
}

// addr returns the client address of the request's only member.
func addr(req *pb.StartRequest) string {
	return net.JoinHostPort(req.Hosts[0].Addr, strconv.Itoa(int(req.Hosts[0].Ports["client"])))
}

// wantCode checks how a call failed.
func wantCode(t *testing.T, err error, code codes.Code, texts ...string) {
	t.Helper()
	if status.Code(err) != code {
		t.Errorf("got %v, want %v", err, code)
		return
	}
	for _, text := range texts {
		if !strings.Contains(status.Convert(err).Message(), text) {
			t.Errorf("error %q does not contain %q", status.Convert(err).Message(), text)
		}
	}
}

// gone checks that the processes of all children are gone.
func gone(t *testing.T, children []*pb.Child) {
	t.Helper()
	if len(children) == 0 {
		t.Error("no children to check")
	}
	for _, c := range children {
		if err := syscall.Kill(int(c.Pid), 0); !errors.Is(err, syscall.ESRCH) {
			t.Errorf("%s (pid %d) still runs, want it reaped: %v", c.Name, c.Pid, err)
		}
	}
}

func TestLifecycle(t *testing.T) {
	clientNum := filepath.Join(t.TempDir(), "client-num")
	h := serve(t, func(o *agent.Options) { o.ClientNumPath = clientNum })
	ctx := t.Context()
	if got := h.status(); got.State != pb.State_STATE_IDLE || got.Version != "v0-test" || readRecord[results.Host](t, got.Host).CPUs < 1 {
		t.Errorf("idle status: %v", got)
	}
	h.run = "run1"
	opened, err := h.Open(ctx, &pb.OpenRequest{RunId: "run1", Owner: "me"})
	if err != nil {
		t.Fatalf("open the session: %v", err)
	}
	if readRecord[results.Host](t, opened.Host).BootID == "" || opened.Version != "v0-test" {
		t.Errorf("open: %v", opened)
	}

	req := request(t, "run1", "{proxy: true}")
	started := h.start(req)
	if len(started.Children) != 2 || !started.Children[0].Running || !started.Children[1].Running {
		t.Fatalf("children: %v", started.Children)
	}
	if disk := readRecord[results.Disk](t, started.Disk); disk.Filesystem == "" || started.NetworkInterface != "lo" || disk.FsyncP50 <= 0 {
		t.Errorf("facts of the start: %v, disk %+v", started, disk)
	}
	if e := readRecord[[]environment.Facts](t, started.Environment); len(e) != 2 || e[0].Command != started.Children[0].GetName() || e[0].OpenFiles == 0 || e[1].OpenFiles == 0 {
		t.Errorf("environment %+v, want that of both commands", e)
	}
	if !strings.Contains(string(started.Plan), os.Args[0]) || strings.Contains(string(started.Plan), "hush") {
		t.Errorf("plan: %s", started.Plan)
	}
	ready, err := h.Status(ctx, &pb.StatusRequest{Probe: true, RunId: h.run})
	if err != nil || !ready.Ready || ready.NotReady != "" || ready.State != pb.State_STATE_RUNNING {
		t.Errorf("probe: %v, %v", ready, err)
	}
	if ready.Owner.GetTag() != "toy-v1" || ready.Owner.GetName() != "me" {
		t.Errorf("owner: %v", ready.Owner)
	}

	before := time.Now().UnixNano()
	beat, err := h.Heartbeat(ctx, &pb.HeartbeatRequest{RunId: "run1", Clients: 42, SentUnixNs: before})
	if err != nil || beat.State != pb.State_STATE_RUNNING || len(beat.Children) != 2 {
		t.Errorf("heartbeat: %v, %v", beat, err)
	}
	if len(beat.Sample) > 0 {
		t.Errorf("a heartbeat that asks for no sample got %s", beat.Sample)
	}
	if beat, err = h.Heartbeat(ctx, &pb.HeartbeatRequest{RunId: "run1", Clients: 42, SentUnixNs: before, Sample: true}); err != nil {
		t.Fatal(err)
	}
	if s, err := results.ParseSample(beat.Sample); err != nil || s.UnixNano == 0 || s.Get(metric.HostCPUSeconds) <= 0 {
		t.Errorf("the sample of a heartbeat is %+v, %v", s, err)
	}
	if beat.ReceivedUnixNs < before || beat.RepliedUnixNs < beat.ReceivedUnixNs {
		t.Errorf("time stamps: sent %d, received %d, replied %d", before, beat.ReceivedUnixNs, beat.RepliedUnixNs)
	}
	if text, err := os.ReadFile(clientNum); err != nil || string(text) != "42" {
		t.Errorf("client number file: %q, %v", text, err)
	}

	stopped, err := h.Stop(ctx, &pb.StopRequest{RunId: "run1"})
	if err != nil {
		t.Fatalf("stop the member: %v", err)
	}
	if stopped.Reason != "asked" || stopped.ApparentBytes != 12345 || stopped.AllocatedBytes <= 0 {
		t.Errorf("stop: %v", stopped)
	}
	for _, c := range stopped.Children {
		// The proxy may be interrupted before it handles signals.
		if c.Running || !strings.HasSuffix(c.Exit, " after interrupt") || c.Name == "server" && c.Exit != "exit 0 after interrupt" {
			t.Errorf("child after the stop: %v", c)
		}
	}
	gone(t, started.Children)
	h.checkFiles("run1", started.Dir)

	if _, err := h.Close(ctx, &pb.CloseRequest{RunId: "run1"}); err != nil {
		t.Fatalf("close the session: %v", err)
	}
	if _, err := os.Stat(filepath.Dir(started.Dir)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("session directory after close: %v", err)
	}
	if got := h.status(); got.State != pb.State_STATE_IDLE {
		t.Errorf("after close: %v", got)
	}
}

// checkFiles checks what a stopped session with a proxy leaves to collect.
func (h *harness) checkFiles(run, dataDir string) {
	h.t.Helper()
	var names []string
	for _, f := range h.status().Files {
		names = append(names, f.Name)
	}
	if got, want := strings.Join(names, " "), "server-system-metrics.csv logs/server.log logs/proxy.log agent.log session.json"; got != want {
		h.t.Errorf("files %q, want %q", got, want)
	}
	if log := string(h.collect(run, "logs/server.log")); !strings.Contains(log, "toy starts") || !strings.Contains(log, "toy stops") {
		h.t.Errorf("server log: %q", log)
	}
	if record := string(h.collect(run, "session.json")); !strings.Contains(record, `"state": "stopped"`) || !strings.Contains(record, `"start_ticks"`) {
		h.t.Errorf("session.json: %s", record)
	}
	h.collect(run, results.FileServer)
	samples, err := results.ReadSamples(filepath.Join(filepath.Dir(dataDir), results.FileServer))
	if err != nil {
		h.t.Fatalf("read the samples: %v", err)
	}
	if len(samples) < 2 {
		h.t.Fatalf("%d samples, want the first and the last at least", len(samples))
	}
	if last := samples[len(samples)-1]; last.Get(metric.Clients) != 42 || last.Interface != "lo" {
		h.t.Errorf("last sample: %+v", last)
	}
}

// readRecord decodes a record an agent's answer must have.
func readRecord[T any](t *testing.T, data []byte) T {
	t.Helper()
	record, err := pb.ReadRecord[T]("the record", data)
	if err != nil || record == nil {
		t.Fatalf("the answer must have a record, got %q, error %v", data, err)
	}
	return *record
}
