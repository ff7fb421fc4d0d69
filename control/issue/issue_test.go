package issue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/coreos/dbtester/control/fleet/remote"
	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/load/issuer"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/workload"
)

// scripted is a generator with answers set by tests.
type scripted struct {
	pb.GeneratorClient // panics in verbs that are not here

	ahead    time.Duration                   // the time by which its clock is ahead; mu guards it
	set      time.Duration                   // the time by which its wall clock was set
	trips    []time.Duration                 // round trips of heartbeats, the last one again and again
	refuses  *pb.RefusedConnection           // by its first Connect
	fails    func(ctx context.Context) error // the errors from Connect and Preload, if not nil
	run      func(ctx context.Context, req *pb.RunRequest, send func(*pb.RunResponse)) error
	mu       sync.Mutex
	silent   bool // no heartbeat is answered
	beats    int
	lost     []int32 // in the last heartbeat
	prepared *pb.PrepareRequest
	connects [][]int32
	ran      *pb.RunRequest
	stops    int
	stopped  chan struct{}
	closes   int
	// stoppedStep reports whether the last stop was for a step only, and kept counts the connects
	// that wanted to keep their connections.
	stoppedStep bool
	kept        int
}

func (g *scripted) Close() error { return nil }

func (g *scripted) Prepare(_ context.Context, req *pb.PrepareRequest, _ ...grpc.CallOption) (*pb.PrepareResponse, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.prepared = req
	return &pb.PrepareResponse{Host: []byte(`{"name":"machine","cpus":4}`)}, nil
}

func (g *scripted) GeneratorHeartbeat(ctx context.Context, req *pb.GeneratorHeartbeatRequest, _ ...grpc.CallOption) (*pb.GeneratorHeartbeatResponse, error) {
	g.mu.Lock()
	trip, silent := g.trips[min(g.beats, len(g.trips)-1)], g.silent
	g.beats++
	g.lost = req.GetLostMembers()
	ahead, set := g.ahead, g.set
	g.mu.Unlock()
	if silent {
		<-ctx.Done()
		return nil, status.FromContextError(ctx.Err()).Err()
	}
	time.Sleep(trip / 2)
	now := time.Now().Add(ahead).UnixNano()
	time.Sleep(trip / 2)
	return &pb.GeneratorHeartbeatResponse{ReceivedUnixNs: now, RepliedUnixNs: now, ClockSetNs: int64(set)}, nil
}

func (g *scripted) Connect(ctx context.Context, req *pb.ConnectRequest, _ ...grpc.CallOption) (*pb.ConnectResponse, error) {
	if g.fails != nil {
		return nil, g.fails(ctx)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.connects = append(g.connects, req.GetMembers())
	if req.GetKeep() {
		g.kept++
	}
	if r := g.refuses; r != nil {
		g.refuses = nil
		return &pb.ConnectResponse{Refused: r}, nil
	}
	return &pb.ConnectResponse{Connections: 1, Clients: 2}, nil
}

func (g *scripted) StopLoad(_ context.Context, req *pb.StopLoadRequest, _ ...grpc.CallOption) (*pb.StopLoadResponse, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.stoppedStep = req.GetStep()
	if g.stops++; g.stops == 1 {
		close(g.stopped)
	}
	return &pb.StopLoadResponse{}, nil
}

func (g *scripted) CloseLoad(context.Context, *pb.CloseLoadRequest, ...grpc.CallOption) (*pb.CloseLoadResponse, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closes++
	return &pb.CloseLoadResponse{}, nil
}

// stream is the result of Run on a scripted generator.
type stream struct {
	grpc.ClientStream
	records chan *pb.RunResponse
	err     error // once records is closed
}

func (s *stream) Recv() (*pb.RunResponse, error) {
	m, ok := <-s.records
	if !ok {
		return nil, s.err
	}
	return m, nil
}

func (g *scripted) Run(ctx context.Context, req *pb.RunRequest, _ ...grpc.CallOption) (grpc.ServerStreamingClient[pb.RunResponse], error) {
	g.mu.Lock()
	g.ran = req
	g.mu.Unlock()
	s := &stream{records: make(chan *pb.RunResponse, 100), err: io.EOF}
	go func() {
		defer close(s.records)
		if err := g.run(ctx, req, func(m *pb.RunResponse) { s.records <- m }); err != nil {
			s.err = err
		}
	}()
	return s, nil
}

// encoded returns record as JSON.
func encoded(record any) []byte {
	data, err := json.Marshal(record)
	if err != nil {
		panic(err)
	}
	return data
}

// ended returns the record in which a step ends.
func ended(e issuer.End) *pb.RunResponse {
	return &pb.RunResponse{Record: &pb.RunResponse_End{End: encoded(e)}}
}

// second returns a one-second record in which all requests were shed, so that it has no latencies.
func second(at int64, step int, shed int64, last bool) *pb.RunResponse {
	row := encoded(results.Interval{Phase: results.PhaseMeasure, Operation: string(workload.OpWrite), Clients: 4, Due: shed, Shed: shed})
	return &pb.RunResponse{Record: &pb.RunResponse_Second{Second: &pb.LoadSecond{Second: at, Step: int32(step), Intervals: [][]byte{row}, Last: last}}}
}

// issue sends n seconds with one request each, as they end, and how the step ended.
func issue(n int) func(context.Context, *pb.RunRequest, func(*pb.RunResponse)) error {
	return func(ctx context.Context, req *pb.RunRequest, send func(*pb.RunResponse)) error {
		start := time.Unix(0, req.GetStartUnixNs())
		for i := range n {
			select {
			case <-time.After(time.Until(start.Add(time.Duration(i+1) * time.Second))):
			case <-ctx.Done():
				return status.FromContextError(ctx.Err()).Err()
			}
			send(second(start.Unix()+int64(i), int(req.GetStep()), 1, i == n-1))
		}
		end := start.Add(time.Duration(n) * time.Second)
		send(ended(issuer.End{
			Result: load.StepResult{Start: start, End: end, IssueEnd: end, Inside: 5, Requests: int64(n)}, FirstSent: 7, CPU: 9,
			Totals: results.Totals{BytesRead: 3},
		}))
		return nil
	}
}

// seconds is the sink in tests.
type seconds struct {
	mu   sync.Mutex
	shed map[int64]int64
	full error // for all seconds, if not nil
}

func (s *seconds) Second(rec load.Second) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.full != nil {
		return s.full
	}
	for _, row := range rec.Intervals {
		s.shed[row.Second] += row.Shed
	}
	return nil
}

func (s *seconds) Total(load.Total) error        { return nil }
func (s *seconds) Member(load.MemberTotal) error { return nil }

// sum counts the seconds and their requests.
func (s *seconds) sum() (n int, shed int64) {
	for _, v := range s.shed {
		shed += v
	}
	return len(s.shed), shed
}

// fixture is a set with scripted generators, prepared and begun.
type fixture struct {
	set    *Set
	out    *seconds
	mu     sync.Mutex
	events []string
	losses []int // members
	shown  int
	until  context.Context // ends the next step alone and keeps its connections, if not nil
}

// writes returns a load that writes new keys.
func writes() workload.Load {
	return workload.Load{Content: workload.Content{Operation: workload.OpWrite}, Sizing: workload.Sizing{KeySize: 8, ValueSize: 8}, Limits: workload.Limits{Timeout: time.Second, Drain: time.Second}}
}

func begin(t *testing.T, gens ...*scripted) *fixture {
	f := &fixture{out: &seconds{shed: map[int64]int64{}}}
	o := Options{
		RunID: "run", Owner: "tester", LostMembers: func() []int { f.mu.Lock(); defer f.mu.Unlock(); return slices.Clone(f.losses) },
		LoseMember: func(member int, _ string) { f.mu.Lock(); defer f.mu.Unlock(); f.losses = append(f.losses, member) },
		Event: func(e results.Event) {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.events = append(f.events, e.Kind+": "+e.Text)
		},
		Connect: func(_ context.Context, addr string) (pb.GeneratorClient, io.Closer, error) {
			var n int
			if _, err := fmt.Sscanf(addr, "g%d:1", &n); err != nil {
				return nil, nil, err
			}
			return gens[n], gens[n], nil
		},
	}
	for i, g := range gens {
		g.stopped = make(chan struct{})
		if g.trips == nil {
			g.trips = []time.Duration{time.Millisecond}
		}
		o.Addrs = append(o.Addrs, fmt.Sprintf("g%d:1", i))
	}
	f.set = New(o)
	spec := load.Spec{Seed: 3, FirstKey: 9, Load: writes()}
	if err := f.set.Prepare(t.Context(), Job{Database: "fake", Spec: spec, Target: database.Target{Endpoints: []string{"a:1", "b:1"}, MaxBytes: 99}}); err != nil {
		t.Fatalf("prepare: %v", err)
	}
	if err := f.set.Begin(f.out, func(load.Progress) { f.shown++ }); err != nil {
		t.Fatalf("begin: %v", err)
	}
	return f
}

// step runs a step on the living members.
func (f *fixture) step(ctx context.Context, index int) (load.StepResult, bool, error) {
	begun := false
	res, err := f.set.Step(ctx, Step{
		Step: load.Step{Index: index, Step: workload.Step{Clients: 4, Connections: 2, Duration: time.Minute, Rate: 2}},
		Members: func() ([]int, error) {
			f.mu.Lock()
			defer f.mu.Unlock()
			return slices.DeleteFunc([]int{0, 1}, func(m int) bool { return slices.Contains(f.losses, m) }), nil
		},
		Begin: func() { begun = true }, Until: f.until, Keep: f.until != nil,
	})
	return res, begun, err
}

func (f *fixture) close(t *testing.T) {
	t.Helper()
	if err := f.set.Close(context.WithoutCancel(t.Context())); err != nil {
		t.Errorf("close: %v", err)
	}
}

// TestStep: parts begin together, when all can have learnt, each by its own clock, and their
// seconds are one record.
func TestStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &scripted{run: issue(3), trips: []time.Duration{40 * time.Millisecond, 8 * time.Millisecond, 40 * time.Millisecond}}
		b := &scripted{run: issue(5), ahead: -time.Minute}
		f := begin(t, a, b)
		defer f.close(t)
		before := time.Now()
		res, begun, err := f.step(t.Context(), 0)
		if err != nil || !begun {
			t.Fatalf("begun %v, error %v", begun, err)
		}
		if lead := time.Unix(0, a.ran.GetStartUnixNs()).Sub(before); lead < lead0 || a.ran.GetStartUnixNs() != b.ran.GetStartUnixNs() {
			t.Errorf("the step begins %v later, at %d and %d; want one time, at least %v later", lead, a.ran.GetStartUnixNs(), b.ran.GetStartUnixNs(), lead0)
		}
		if a.ran.GetOffsetNs() != 0 || b.ran.GetOffsetNs() != -int64(time.Minute) {
			t.Errorf("the clocks are ahead by %d and %d ns, want 0 and minus a minute", a.ran.GetOffsetNs(), b.ran.GetOffsetNs())
		}
		if p := b.prepared; p.GetPart() != 1 || p.GetParts() != 2 || p.GetFirstKey() != 9 || p.GetSeed() != 3 || p.GetMaxBytes() != 99 || len(p.GetEndpoints()) != 2 || p.GetSelfCheck() {
			t.Errorf("the second was prepared for %v", p)
		}
		if n, shed := f.out.sum(); n != 5 || shed != 8 {
			t.Errorf("%d seconds with %d requests, want 5 with 8", n, shed)
		}
		if res.Requests != 5 || res.Inside != 10 || res.End.Sub(res.Start) != 5*time.Second || res.LargestGap == nil || res.LargestGap.Length() != 5*time.Second {
			t.Errorf("result %+v, want 5 s, none of them with an ok answer, the most request numbers of a part, and the sum of its times", res)
		}
		if _, _, err = f.step(t.Context(), 1); err != nil || a.ran.GetPreviousRequests() != 5 || a.ran.GetStep() != 1 {
			t.Errorf("error %v; the next step follows %d requests, want 5", err, a.ran.GetPreviousRequests())
		}
		c, err := f.set.End()
		if err != nil || c.Totals.Offered != 16 || c.Totals.Shed != 16 || c.Totals.BytesRead != 6 || c.Lost[0] != nil || c.Lost[1] != nil || f.shown != 10 {
			t.Errorf("counted %+v, error %v, shown %d times; want 16 requests in 10 seconds, and the bytes of the last ends", c, err, f.shown)
		}
		r := f.set.Records()[0]
		if r.Host == nil || r.Host.CPUs != 4 || r.Clock.N < 16 || r.Clock.Error != 4*time.Millisecond || len(r.Steps) != 2 || r.Steps[0] != (results.GeneratorStep{Clients: 2, FirstSentNS: 7, CPUNS: 9, Due: 3, ClockErrorNS: int64(20 * time.Millisecond)}) {
			t.Errorf("recorded %+v, want its machine, half of the shortest round trip, and its parts of two steps with half of that just before", r)
		}
	})
}

// lead0 is the least time between the announcement and the start of a step.
const lead0 = time.Second

// TestSilentGenerator: a generator that answers no heartbeat is lost, and the other completes.
func TestSilentGenerator(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := &scripted{run: issue(60)}, &scripted{}
		b.run = func(ctx context.Context, _ *pb.RunRequest, _ func(*pb.RunResponse)) error {
			b.silence()
			<-ctx.Done()
			return status.FromContextError(ctx.Err()).Err()
		}
		f := begin(t, a, b)
		defer f.close(t)
		_, _, err := f.step(t.Context(), 0)
		n, shed := f.out.sum()
		if err != nil || n != 60 || shed != 60 {
			t.Errorf("error %v, %d seconds with %d requests, want the 60 of the living", err, n, shed)
		}
		if len(f.events) != 1 || !strings.HasPrefix(f.events[0], "generator lost: g1:1: 3 heartbeats in a row failed") {
			t.Errorf("events %q, want that the second is lost by its heartbeats", f.events)
		}
		c, err := f.set.End()
		if err != nil || c.Lost[0] != nil || c.Lost[1] == nil || f.set.Records()[1].Lost == "" {
			t.Errorf("counted %+v, error %v, want that the second is lost", c, err)
		}
		if b.closes != 0 || a.closes != 0 {
			t.Error("generators are given back before the end")
		}
	})
}

// TestBrokenStreams: a step that loses every generator ends with the causes, and the records that
// came are kept.
func TestBrokenStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := func(_ context.Context, req *pb.RunRequest, send func(*pb.RunResponse)) error {
			time.Sleep(time.Until(time.Unix(0, req.GetStartUnixNs()).Add(time.Second)))
			send(second(req.GetStartUnixNs()/1e9, 0, 1, false))
			return status.Error(codes.Unavailable, "the wire is cut")
		}
		f := begin(t, &scripted{run: broken}, &scripted{run: broken})
		defer f.close(t)
		res, _, err := f.step(t.Context(), 0)
		if err == nil || !strings.Contains(err.Error(), "every generator is lost: generator g0:1: its stream broke: its agent: the wire is cut") {
			t.Errorf("error %v, want that all are lost, and why", err)
		}
		if n, shed := f.out.sum(); res.Start.IsZero() || n != 1 || shed != 2 {
			t.Errorf("result %+v, %d seconds with %d requests; want the second that came from both", res, n, shed)
		}
	})
}

// TestNotReadyInTime: a generator that does not begin its step is lost with its reason.
func TestNotReadyInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		late := &scripted{run: func(_ context.Context, _ *pb.RunRequest, send func(*pb.RunResponse)) error {
			send(ended(issuer.End{FirstSent: -1, CPU: -1, Error: "it was 5ms late"}))
			return nil
		}}
		f := begin(t, late, &scripted{run: issue(2)})
		defer f.close(t)
		if _, _, err := f.step(t.Context(), 0); err != nil {
			t.Errorf("error %v, want that the other completes the step", err)
		}
		if lost := f.set.Records()[0].Lost; lost != "it did not begin step 1: it was 5ms late" {
			t.Errorf("the first is lost by %q, want why it did not begin", lost)
		}
	})
}

// TestRefusedMember: a member that is found lost gets no connections from any part.
func TestRefusedMember(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &scripted{run: issue(1), refuses: &pb.RefusedConnection{Member: 1, Text: "no answer", Lost: true}}
		b := &scripted{run: issue(1)}
		f := begin(t, a, b)
		defer f.close(t)
		if _, _, err := f.step(t.Context(), 0); err != nil {
			t.Fatalf("step: %v", err)
		}
		for _, g := range []*scripted{a, b} {
			if len(g.connects) != 2 || !slices.Equal(g.connects[0], []int32{0, 1}) || !slices.Equal(g.connects[1], []int32{0}) {
				t.Errorf("connections went to the members %v, want to both, and then to the first", g.connects)
			}
		}
		time.Sleep(2 * remote.HeartbeatEvery)
		b.mu.Lock()
		if !slices.Equal(b.lost, []int32{1}) {
			t.Errorf("heartbeats name the lost members %v, want the second", b.lost)
		}
		b.mu.Unlock()
		a.refuses = &pb.RefusedConnection{Member: 0, Text: "wrong password"}
		if _, _, err := f.step(t.Context(), 1); err == nil || !strings.Contains(err.Error(), "generator g0:1: member 1 accepts no connections: wrong password") {
			t.Errorf("error %v, want who refused whom", err)
		}
	})
}

// TestStoppedStep: ending one step stops no other, and Restart leaves it out when it counts.
func TestStoppedStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var gens []*scripted
		for range 2 {
			g := &scripted{}
			g.run = func(ctx context.Context, req *pb.RunRequest, send func(*pb.RunResponse)) error {
				if req.GetStep() > 0 {
					return issue(2)(ctx, req, send)
				}
				<-g.stopped
				send(second(req.GetStartUnixNs()/1e9, 0, 7, true))
				start, now := time.Unix(0, req.GetStartUnixNs()), time.Now()
				send(ended(issuer.End{Result: load.StepResult{Start: start, End: now, IssueEnd: now}, Stopped: true, Totals: results.Totals{BytesRead: 2}}))
				return nil
			}
			gens = append(gens, g)
		}
		f := begin(t, gens...)
		defer f.close(t)
		decided := errors.New("decided")
		until, decide := context.WithCancelCause(t.Context())
		defer time.AfterFunc(5*time.Second, func() { decide(decided) }).Stop()
		f.until = until
		if _, _, err := f.step(t.Context(), 0); !errors.Is(err, decided) {
			t.Errorf("error %v, want %v", err, decided)
		}
		if g := gens[1]; g.stops != 1 || !g.stoppedStep || g.kept != 1 {
			t.Errorf("stopped %d times, the step alone: %v, connections kept %d times; want once, the step, and once", g.stops, g.stoppedStep, g.kept)
		}
		if err := f.set.Restart(); err != nil {
			t.Errorf("restart: %v", err)
		}
		f.until = nil
		if _, _, err := f.step(t.Context(), 1); err != nil || !gens[0].ran.GetForget() {
			t.Errorf("error %v, forgets %v; want that the next step runs and forgets the one before", err, gens[0].ran.GetForget())
		}
		c, err := f.set.End()
		if r := f.set.Records()[1]; err != nil || c.Totals.Shed != 4 || c.Totals.BytesRead != 2 || c.Lost[0] != nil || len(r.Steps) != 1 || r.Steps[0].Index != 1 || r.Totals.Shed != 2 {
			t.Errorf("counted %+v, error %v, of the second generator %+v; want the last step alone", c, err, r)
		}
	})
}

// TestUnwritten: records that are not written are an error in their step, once.
func TestUnwritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := begin(t, &scripted{run: issue(2)}, &scripted{run: issue(2)})
		defer f.close(t)
		f.out.full = errors.New("no space left")
		if res, _, err := f.step(t.Context(), 0); !errors.Is(err, f.out.full) || res.Requests != 2 {
			t.Errorf("error %v, result %+v, want %v after the whole step", err, res, f.out.full)
		}
		if _, err := f.set.End(); err != nil {
			t.Errorf("the end repeats the error %v, which the step returned", err)
		}
	})
}

// TestVersionsAreReadOnce: the time for reading key versions is given before the first requests,
// and not before a window that begins new records.
func TestVersionsAreReadOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &scripted{run: issue(2)}
		f := begin(t, g)
		defer f.close(t)
		f.set.spec.Keys, f.set.spec.Preload = 1000, 1000
		var leads []time.Duration
		for range 2 {
			before := time.Now()
			f.set.spec.Operation = workload.OpTxn
			if _, _, err := f.step(t.Context(), 0); err != nil {
				t.Fatalf("step: %v", err)
			}
			f.set.spec.Operation = workload.OpWrite // in the records
			leads = append(leads, time.Unix(0, g.ran.GetStartUnixNs()).Sub(before))
			if err := f.set.Restart(); err != nil {
				t.Fatalf("restart: %v", err)
			}
		}
		if leads[0] < DefaultLead+3*time.Second || leads[1] > DefaultLead+time.Second {
			t.Errorf("the steps begin %v after they are called, want time for versions before the first alone", leads)
		}
	})
}

// TestInterruptedStep: all generators are stopped, and the step ends when they have ended.
func TestInterruptedStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var gens []*scripted
		for range 2 {
			g := &scripted{}
			g.run = func(ctx context.Context, req *pb.RunRequest, send func(*pb.RunResponse)) error {
				<-g.stopped
				time.Sleep(500 * time.Millisecond) // a request in flight
				send(second(req.GetStartUnixNs()/1e9, 0, 1, true))
				send(ended(issuer.End{Result: load.StepResult{Start: time.Unix(0, req.GetStartUnixNs()), End: time.Now()}, Stopped: true}))
				return nil
			}
			gens = append(gens, g)
		}
		f := begin(t, gens...)
		defer f.close(t)
		why := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		defer time.AfterFunc(5*time.Second, func() { cancel(why) }).Stop()
		res, _, err := f.step(ctx, 0)
		if n, shed := f.out.sum(); !errors.Is(err, why) || n != 1 || shed != 2 || res.Start.IsZero() {
			t.Errorf("error %v, %d seconds with %d requests, result %+v; want the cause and whole records", err, n, shed, res)
		}
		if len(f.events) > 0 || gens[0].stops != 1 || gens[1].stops != 1 {
			t.Errorf("events %q, stopped %d and %d times, want none lost and each stopped once", f.events, gens[0].stops, gens[1].stops)
		}
	})
}
