package agent_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"math/rand/v2"
	"net"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/proto"

	"github.com/coreos/dbtester/agent"
	"github.com/coreos/dbtester/agent/generator"
	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/ability/deaths"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/database/fake"
	"github.com/coreos/dbtester/pkg/databasetest/matrix"
	"github.com/coreos/dbtester/pkg/sleep"
	"github.com/coreos/dbtester/pkg/sleep/slowtest"
	"github.com/coreos/dbtester/pkg/workload"
)

// quietDatabase has the fake's members, and clients that reach nobody: mutated endpoints may
// belong to anybody.
func quietDatabase() database.Database {
	db := fake.Database()
	db.New = func() database.Driver { return &quiet{fake.New()} }
	return db
}

type quiet struct {
	*fake.Options `yaml:",inline"`
}

func (*quiet) Dial(context.Context, database.Target) (database.Client, error) {
	return quietClient{}, nil
}

func (*quiet) DialSessions(context.Context, database.Target) (database.Sessions, error) {
	return quietSessions{}, nil
}

// quietSessions has sessions that never end, and whose watch soon breaks.
type quietSessions struct{}

func (quietSessions) Grant(_ context.Context, ttl time.Duration) (database.Session, error) {
	return quietSession{ttl}, nil
}

func (quietSessions) Watch(ctx context.Context, ready func(), _ func(database.Change)) error {
	ready()
	sleep.For(ctx, 10*time.Millisecond)
	return errors.New("the watch was lost")
}

func (quietSessions) Close() error { return nil }

type quietSession struct{ ttl time.Duration }

func (s quietSession) TTL() time.Duration                         { return s.ttl }
func (quietSession) Attach(context.Context, []byte, []byte) error { return nil }
func (quietSession) Keep(context.Context) error                   { return nil }
func (quietSession) Abandon()                                     {}
func (quietSession) Release(context.Context) error                { return nil }

type quietClient struct{}

func (quietClient) Put(context.Context, []byte, []byte) error { return nil }

func (quietClient) Get(context.Context, []byte, workload.ReadMode) ([]byte, error) {
	return nil, database.ErrNotFound
}

func (quietClient) PutAll(context.Context, []database.Pair) error { return nil }

func (quietClient) Close() error { return nil }

// mutants sends mutated calls to an agent and its generator from inside their sessions.
type mutants struct {
	t      *testing.T
	conn   *grpc.ClientConn
	seeds  []seed
	start  *pb.StartRequest // for the member that runs meanwhile
	load   *pb.PrepareRequest
	weight int

	panics, streams atomic.Int64
	answers         sync.Map // from codes to *atomic.Int64
}

// seed is a call before its mutation.
type seed struct {
	method  string
	message proto.Message
	weight  int
	stream  bool
}

const mutatedRun = "run1"

// newMutants serves an agent and a generator.
func newMutants(t *testing.T) *mutants {
	t.Helper()
	m := &mutants{t: t}
	log := slog.New(slog.DiscardHandler) // logs that are kept for a failure would grow
	quiets := database.NewRegistry(quietDatabase())
	a, err := agent.New(agent.Options{
		Registry: quiets, WorkDir: t.TempDir(), Self: []string{os.Args[0], "serve"}, Interface: "lo", Grace: time.Minute,
		AllowFaults: []string{"kill", "pause", "restart"}, Lease: time.Minute, Version: "v0-test", Log: log,
	})
	if err != nil {
		t.Fatalf("make the agent: %v", err)
	}
	targets, err := generator.ParseTargets([]string{"127.0.0.0/8"})
	if err != nil {
		t.Fatalf("read the targets: %v", err)
	}
	g, err := generator.New(generator.Options{Registry: quiets, Allowed: true, Targets: targets, Lease: time.Minute, Interface: "lo", Version: "v0-test", Machine: a.Machine, Log: log})
	if err != nil {
		t.Fatalf("make the generator: %v", err)
	}
	listener, server := bufconn.Listen(1<<20), grpc.NewServer(agent.ServerOptions(log)...)
	a.Register(server)
	g.Register(server)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	if m.conn, err = grpc.NewClient("passthrough:agent",
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }),
		grpc.WithTransportCredentials(insecure.NewCredentials())); err != nil {
		t.Fatalf("make a gRPC client: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := errors.Join(g.Close(ctx), a.Close(ctx), m.conn.Close()); err != nil {
			t.Errorf("close all: %v", err)
		}
		server.Stop()
		<-served
	})
	m.start = request(t, mutatedRun, "")
	m.start.Database = "fake"
	load, err := json.Marshal(workload.Load{Content: workload.Content{Operation: workload.OpWrite}, Sizing: workload.Sizing{KeySize: 8, ValueSize: 8}, Limits: workload.Limits{Timeout: time.Second, Drain: time.Millisecond}})
	if err != nil {
		t.Fatalf("encode the load: %v", err)
	}
	m.load = &pb.PrepareRequest{
		RunId: mutatedRun, Owner: "me", Version: "v0-test", Database: "fake", Load: load, Parts: 2, Endpoints: []string{"127.0.0.1:1", "127.0.0.2:1"},
	}
	m.seeds = m.calls()
	m.wantAll(server)
	for _, s := range m.seeds {
		m.weight += s.weight
	}
	return m
}

// calls returns all verbs, those that disturb the other calls' sessions less often.
func (m *mutants) calls() []seed {
	dry := proto.CloneOf(m.start)
	dry.DryRun = true
	plan, err := json.Marshal(deaths.Plan{Held: 20, TTL: 10 * time.Second, Keep: time.Second, Release: deaths.AllAtOnce, After: time.Millisecond, Keys: 1})
	if err != nil {
		m.t.Fatalf("encode the plan of sessions: %v", err)
	}
	step := &pb.LoadStep{Step: []byte(`{"clients":4,"connections":2,"requests":20,"duration_ns":1000000,"rate":1000}`)}
	return []seed{
		{pb.Agent_Open_FullMethodName, &pb.OpenRequest{RunId: mutatedRun, Owner: "me", TakeOver: dry}, 60, false},
		{pb.Agent_Install_FullMethodName, &pb.InstallRequest{RunId: mutatedRun, Database: "fake", Version: "v1.0.0"}, 40, true},
		{pb.Agent_Start_FullMethodName, dry, 20, false},
		{pb.Agent_Heartbeat_FullMethodName, &pb.HeartbeatRequest{RunId: mutatedRun, Clients: 7, SentUnixNs: 5}, 150, false},
		{pb.Agent_Fault_FullMethodName, &pb.FaultRequest{RunId: mutatedRun, Id: "1", Fault: &pb.FaultKind{Kind: "pause", Parameters: []byte("{}")}, ForNs: 1000}, 40, false},
		{pb.Agent_Heal_FullMethodName, &pb.HealRequest{RunId: mutatedRun, Id: "1"}, 60, false},
		{pb.Agent_Status_FullMethodName, &pb.StatusRequest{RunId: mutatedRun, Probe: true}, 100, false},
		{pb.Agent_Collect_FullMethodName, &pb.CollectRequest{RunId: mutatedRun, Index: 1}, 100, true},
		{pb.Agent_Stop_FullMethodName, &pb.StopRequest{RunId: mutatedRun}, 1, false},
		{pb.Agent_Close_FullMethodName, &pb.CloseRequest{RunId: mutatedRun}, 1, false},
		{pb.Generator_Prepare_FullMethodName, m.load, 60, false},
		{pb.Generator_GeneratorHeartbeat_FullMethodName, &pb.GeneratorHeartbeatRequest{RunId: mutatedRun, SentUnixNs: 5, LostMembers: []int32{0, 1}}, 150, false},
		{pb.Generator_Preload_FullMethodName, &pb.PreloadRequest{RunId: mutatedRun, Clients: 4, Connections: 2, PerRequest: 1, Members: []int32{0, 1}}, 40, true},
		{pb.Generator_Connect_FullMethodName, &pb.ConnectRequest{RunId: mutatedRun, Step: step, Members: []int32{0, 1}}, 80, false},
		{pb.Generator_Run_FullMethodName, &pb.RunRequest{RunId: mutatedRun, StartUnixNs: 5, OffsetNs: 7}, 60, true},
		{pb.Generator_FailBack_FullMethodName, &pb.FailBackRequest{RunId: mutatedRun}, 20, false},
		{pb.Generator_Judge_FullMethodName, &pb.JudgeRequest{RunId: mutatedRun, Read: "linearizable", Connections: 2, Members: []int32{0, 1}, WithinNs: 1000}, 20, true},
		{pb.Generator_GrantSessions_FullMethodName, &pb.GrantSessionsRequest{RunId: mutatedRun, Plan: plan, ValueSize: 8, Workers: 2, OffsetNs: 7}, 60, false},
		{pb.Generator_HoldSessions_FullMethodName, &pb.HoldSessionsRequest{RunId: mutatedRun}, 20, false},
		{pb.Generator_EndSessions_FullMethodName, &pb.EndSessionsRequest{RunId: mutatedRun}, 20, false},
		{pb.Generator_StopLoad_FullMethodName, &pb.StopLoadRequest{RunId: mutatedRun, Step: true}, 20, false},
		{pb.Generator_CloseLoad_FullMethodName, &pb.CloseLoadRequest{RunId: mutatedRun}, 2, false},
	}
}

// wantAll fails the test unless the calls include all verbs of the server.
func (m *mutants) wantAll(server *grpc.Server) {
	m.t.Helper()
	for service, info := range server.GetServiceInfo() {
		for _, method := range info.Methods {
			verb := "/" + service + "/" + method.Name
			if !slices.ContainsFunc(m.seeds, func(s seed) bool { return s.method == verb && s.stream == method.IsServerStream }) {
				m.t.Errorf("no mutated call is of %s, of which each verb must have some", verb)
			}
		}
	}
}

// pick returns a mutated call.
func (m *mutants) pick(rng *rand.Rand) (seed, []byte) {
	n := rng.IntN(m.weight)
	i := slices.IndexFunc(m.seeds, func(s seed) bool { n -= s.weight; return n < 0 })
	s := m.seeds[i]
	data := marshal(m.t, s.message)
	whole := data
	for tries := rng.IntN(10); tries > 0; tries-- { // most that are no messages end in gRPC
		data = mutate(rng, whole, marshal(m.t, m.seeds[rng.IntN(len(m.seeds))].message))
		if proto.Unmarshal(data, s.message.ProtoReflect().New().Interface()) == nil {
			break
		}
	}
	return s, m.tame(s, data, rng)
}

// tame keeps a mutated call from disturbing the other calls' session for long: it starts no member,
// and no session for another run.
func (m *mutants) tame(s seed, data []byte, rng *rand.Rand) []byte {
	message := s.message.ProtoReflect().New().Interface()
	if proto.Unmarshal(data, message) != nil {
		return data
	}
	switch r := message.(type) {
	case *pb.StartRequest:
		r.DryRun = true
	case *pb.OpenRequest:
		r.RunId = mutatedRun
	case *pb.PrepareRequest:
		r.RunId = mutatedRun
	case *pb.RunRequest:
		if rng.IntN(2) == 0 { // near enough to begin
			r.StartUnixNs = time.Now().Add(time.Millisecond).UnixNano()
			r.OffsetNs = 0
		}
	default:
		return data
	}
	return marshal(m.t, message)
}

func marshal(t *testing.T, m proto.Message) []byte {
	t.Helper()
	data, err := proto.Marshal(m)
	if err != nil {
		t.Fatalf("encode a message: %v", err)
	}
	return data
}

// mutate changes a message in one to four places. It may continue as another one.
func mutate(rng *rand.Rand, data, other []byte) []byte {
	out := slices.Clone(data)
	for range 1 + rng.IntN(4) {
		at := rng.IntN(len(out) + 1)
		end := min(len(out), at+1+rng.IntN(8))
		switch rng.IntN(7) {
		case 0:
			if at < len(out) {
				out[at] ^= 1 << rng.IntN(8)
			}
		case 1:
			if at < len(out) {
				out[at] = []byte{0, 1, 0x7f, 0x80, 0xff}[rng.IntN(5)]
			}
		case 2:
			out = slices.Delete(out, at, end)
		case 3:
			noise := make([]byte, rng.IntN(9))
			for i := range noise {
				noise[i] = byte(rng.Uint32())
			}
			out = slices.Insert(out, at, noise...)
		case 4:
			out = slices.Insert(out, at, slices.Clone(out[at:end])...)
		case 5:
			out = append(out[:at], other[min(rng.IntN(len(other)+1), len(other)):]...)
		case 6:
			extremes := []uint64{math.MaxInt64, 1 << 63, math.MaxUint64, math.MaxUint32, 1 << 31}
			out = slices.Insert(out, at, binary.AppendUvarint(nil, extremes[rng.IntN(len(extremes))])...)
		}
	}
	return out
}

// plain passes bytes unchanged.
type plain struct{}

func (plain) Marshal(v any) ([]byte, error) { return *v.(*[]byte), nil }

func (plain) Unmarshal(data []byte, v any) error {
	*v.(*[]byte) = slices.Clone(data)
	return nil
}

func (plain) Name() string { return "proto" }

// longestCall and longestStream bound a call and a stream. Where they end one, the verb ends too.
const (
	longestCall   = 2 * time.Second
	longestStream = 30 * time.Millisecond
)

// send sends a call and records the answer.
func (m *mutants) send(ctx context.Context, s seed, data []byte) {
	within := longestCall
	if s.stream {
		within = longestStream
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	var reply []byte
	var err error
	if s.stream {
		err = m.stream(ctx, s.method, data)
	} else {
		err = m.conn.Invoke(ctx, s.method, &data, &reply, grpc.ForceCodec(plain{}))
	}
	n, _ := m.answers.LoadOrStore(status.Code(err), &atomic.Int64{})
	n.(*atomic.Int64).Add(1)
	if err != nil && strings.Contains(err.Error(), "panicked") {
		m.panics.Add(1)
		m.t.Errorf("%s with %x: %v", s.method, data, err)
	}
}

// stream receives some answers from a stream, and then leaves it or continues to its end.
func (m *mutants) stream(ctx context.Context, method string, data []byte) error {
	stream, err := m.conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, method, grpc.ForceCodec(plain{}))
	if err == nil {
		err = errors.Join(stream.SendMsg(&data), stream.CloseSend())
	}
	leaves := m.streams.Add(1)%3 == 0
	for n := 0; err == nil && (!leaves || n < 1); n++ {
		var reply []byte
		err = stream.RecvMsg(&reply)
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// revive opens sessions and starts a member again, if a call has ended them.
func (m *mutants) revive(ctx context.Context) error {
	a, g := pb.NewAgentClient(m.conn), pb.NewGeneratorClient(m.conn)
	now, err := a.Status(ctx, &pb.StatusRequest{RunId: mutatedRun})
	if err != nil {
		return err
	}
	if now.State != pb.State_STATE_RUNNING {
		if _, err := a.Close(ctx, &pb.CloseRequest{RunId: mutatedRun}); err != nil {
			return fmt.Errorf("close the session, which is %v: %w", now.State, err)
		}
		if _, err := a.Open(ctx, &pb.OpenRequest{RunId: mutatedRun, Owner: "me"}); err != nil {
			return fmt.Errorf("open a session: %w", err)
		}
		if _, err := a.Start(ctx, m.start); err != nil {
			return fmt.Errorf("start a member: %w", err)
		}
	}
	beat, err := g.GeneratorHeartbeat(ctx, &pb.GeneratorHeartbeatRequest{RunId: mutatedRun})
	if err != nil || beat.State == pb.LoadState_LOAD_STATE_STOPPED {
		if _, err := g.Prepare(ctx, m.load); err != nil {
			return fmt.Errorf("prepare a load: %w", err)
		}
	}
	return nil
}

// free ends both sessions.
func (m *mutants) free(ctx context.Context) error {
	_, err := pb.NewAgentClient(m.conn).Close(ctx, &pb.CloseRequest{RunId: mutatedRun})
	_, other := pb.NewGeneratorClient(m.conn).CloseLoad(ctx, &pb.CloseLoadRequest{RunId: mutatedRun})
	return errors.Join(err, other)
}

// reviveEvery is the number of calls by a sender between two checks on the sessions.
const reviveEvery = 200

// sendAll sends this many calls from several senders at once.
func (m *mutants) sendAll(calls, senders int, round uint64) {
	var wg sync.WaitGroup
	var turn sync.Mutex // held by whoever looks after the sessions
	for n := range senders {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(round, uint64(n)))
			for i := range calls / senders {
				if i%reviveEvery == 0 {
					turn.Lock()
					err := m.revive(m.t.Context())
					turn.Unlock()
					if code := status.Code(err); err != nil && code != codes.Aborted && code != codes.FailedPrecondition { // another sender ends it again
						m.t.Errorf("after %d calls of sender %d: %v", i, n, err)
						return
					}
				}
				s, data := m.pick(rng)
				m.send(m.t.Context(), s, data)
			}
		})
	}
	wg.Wait()
}

// usage is the resource use of this process at a time.
type usage struct {
	goroutines, files int
	heap              uint64
}

// use measures with both sessions closed.
func (m *mutants) use() (u usage) {
	m.t.Helper()
	if err := m.free(m.t.Context()); err != nil {
		m.t.Errorf("close the sessions: %v", err)
	}
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		m.t.Fatalf("list the open files: %v", err)
	}
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return usage{runtime.NumGoroutine(), len(files), stats.HeapAlloc}
}

// The most by which two measurements may differ. For the heap it is garbage of the runtime.
const (
	mayGrow     = 10      // goroutines and files, on a busy machine
	mayGrowHeap = 8 << 20 // bytes
)

// mutatedEnv is the number of calls to send instead of the usual one: make matrix.
const mutatedEnv = "DBTESTER_MUTATED_CALLS"

// TestMutatedCalls sends mutated calls to every verb within a session with a member and a load. No
// call panics, and no resource grows with their number.
func TestMutatedCalls(t *testing.T) {
	slowtest.Skip(t)
	calls := 20_000
	if n, err := strconv.Atoi(os.Getenv(mutatedEnv)); err == nil {
		calls = n
	}
	table := matrix.New(t, "mutated", "Mutated calls")
	m := newMutants(t)
	const senders = 4
	m.sendAll(calls/10, senders, 1)
	before := m.use()
	m.sendAll(calls-calls/10, senders, 2)
	after := m.use()
	grown := func() bool {
		return after.goroutines > before.goroutines+mayGrow || after.files > before.files+mayGrow || after.heap > before.heap+mayGrowHeap
	}
	for deadline := time.Now().Add(patience); grown() && time.Now().Before(deadline); after = m.use() {
		time.Sleep(100 * time.Millisecond) // goroutines end after the event that they report
	}
	if grown() {
		t.Errorf("after %d calls %+v, after a tenth of them %+v", calls, after, before)
	}
	var said []string
	m.answers.Range(func(code, n any) bool {
		said = append(said, fmt.Sprintf("%v %d", code, n.(*atomic.Int64).Load()))
		return true
	})
	slices.Sort(said)
	if err := m.revive(t.Context()); err != nil {
		t.Errorf("the sessions after all calls: %v", err)
	}
	table.Add(t, matrix.Row{
		Step: "a session with a member and a load", Done: fmt.Sprintf("%d mutated calls of %d verbs", calls, len(m.seeds)),
		Ended: fmt.Sprintf("%d panics; %s", m.panics.Load(), strings.Join(said, ", ")),
		Left: fmt.Sprintf("goroutines %d, files %d, heap %d kB; after a tenth of the calls %d, %d, %d kB",
			after.goroutines, after.files, after.heap>>10, before.goroutines, before.files, before.heap>>10),
		Next: "a member starts and a load is prepared",
	})
}
