package generator

import (
	"context"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/load/issuer"
	"github.com/coreos/dbtester/pkg/load/loadwire"
	"github.com/coreos/dbtester/pkg/workload"
)

// message is a step as control sends it.
func message(step load.Step) *pb.LoadStep {
	m, err := loadwire.StepMessage(step)
	if err != nil {
		panic(err)
	}
	return m
}

// long is a step that lasts an hour.
func long() *pb.LoadStep {
	return message(load.Step{Step: workload.Step{Clients: 10, Connections: 5, Rate: 20, Duration: time.Hour}})
}

// started prepares and starts a part, whose requests take a tenth of a second.
func started(ctx context.Context, t *testing.T, s *store, c pb.GeneratorClient, step *pb.LoadStep) interface {
	Recv() (*pb.RunResponse, error)
} {
	t.Helper()
	s.takes = 100 * time.Millisecond
	mustPrepare(t, c, prepare(t, "run1", writes(), 0, 2))
	mustConnect(t, c, "run1", step)
	stream, err := c.Run(ctx, &pb.RunRequest{RunId: "run1", StartUnixNs: time.Now().Add(time.Second).UnixNano()})
	if err != nil {
		t.Fatalf("run: %v", err)
	}
	return stream
}

// rest reads a stream to its end.
func rest(stream interface {
	Recv() (*pb.RunResponse, error)
}) (end issuer.End, seconds int, err error) {
	for {
		m, err := stream.Recv()
		if err == io.EOF {
			return end, seconds, nil
		}
		if err != nil {
			return end, seconds, err
		}
		if m.GetSecond() != nil {
			seconds++
		}
		if m.GetEnd() != nil {
			if end, err = loadwire.EndOf(m.GetEnd()); err != nil {
				return end, seconds, err
			}
		}
	}
}

// free fails unless a generator has no connections and accepts another run.
func free(t *testing.T, s *store, c pb.GeneratorClient) {
	t.Helper()
	eventually(t, "all connections are closed", func() bool { return s.connections() == 0 })
	eventually(t, "the generator is free", func() bool {
		_, err := c.Prepare(t.Context(), prepare(t, "run2", writes(), 0, 1))
		return err == nil
	})
	sent := s.requests()
	time.Sleep(5 * time.Second)
	if later := s.requests(); len(sent) == 0 || len(later) > 0 {
		t.Errorf("%d requests were sent before the end and %d after it, want some and none", len(sent), len(later))
	}
}

// TestLease: a generator that hears nothing from its control stops issuing and is free. One that
// hears from it continues.
func TestLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		o := allowed(s)
		o.Lease = 8 * time.Second
		c := serve(t, o)
		stream := started(t.Context(), t, s, c, long())
		var seconds int
		var lost error
		read := make(chan struct{})
		go func() {
			defer close(read)
			_, seconds, lost = rest(stream)
		}()
		for range 3 {
			time.Sleep(6 * time.Second)
			r, err := c.GeneratorHeartbeat(t.Context(), &pb.GeneratorHeartbeatRequest{RunId: "run1", SentUnixNs: time.Now().UnixNano()})
			if err != nil || r.GetState() != pb.LoadState_LOAD_STATE_RUNNING || r.GetReceivedUnixNs() != time.Now().UnixNano() || r.GetRepliedUnixNs() < r.GetReceivedUnixNs() {
				t.Fatalf("heartbeat: %v, error %v", r, err)
			}
		}
		<-read
		wantCode(t, lost, codes.Aborted, "its lease expired")
		if seconds < 18 || seconds > 28 {
			t.Errorf("%d seconds came, want those until the lease expired", seconds)
		}
		free(t, s, c)
		_, err := c.GeneratorHeartbeat(t.Context(), &pb.GeneratorHeartbeatRequest{RunId: "run1"})
		wantCode(t, err, codes.PermissionDenied, "me@here run2")
	})
}

// TestLostStream: a generator whose stream breaks stops issuing and is free too.
func TestLostStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		c := serve(t, allowed(s))
		ctx, cancel := context.WithCancel(t.Context())
		started(ctx, t, s, c, long())
		time.Sleep(4 * time.Second)
		cancel()
		time.Sleep(time.Second)
		if n := s.connections(); n != 0 {
			t.Errorf("%d connections are open a second after the stream was lost, want none", n)
		}
		free(t, s, c)
	})
}

// TestStop: a stopped load ends with its records so far, and no other step runs.
func TestStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		c := serve(t, allowed(s))
		stream := started(t.Context(), t, s, c, long())
		time.Sleep(5 * time.Second)
		for range 2 {
			if _, err := c.StopLoad(t.Context(), &pb.StopLoadRequest{RunId: "run1"}); err != nil {
				t.Fatalf("stop: %v", err)
			}
		}
		end, seconds, err := rest(stream)
		if err != nil || !end.Stopped || end.Error != "" || seconds < 4 {
			t.Errorf("the step ended with %v, error %v, after %d seconds", end, err, seconds)
		}
		if n := end.Totals; n.OK < 30 || n.OK != n.Offered { // half the 20 per second
			t.Errorf("totals %v, want those of 4 s", n)
		}
		_, err = c.Connect(t.Context(), &pb.ConnectRequest{RunId: "run1", Step: long(), Members: members})
		wantCode(t, err, codes.FailedPrecondition, "stopped")
		if _, err := c.CloseLoad(t.Context(), &pb.CloseLoadRequest{RunId: "run1"}); err != nil {
			t.Errorf("close: %v", err)
		}
		if _, err := c.CloseLoad(t.Context(), &pb.CloseLoadRequest{RunId: "run1"}); err != nil {
			t.Errorf("close a generator that is free: %v", err)
		}
		free(t, s, c)
	})
}

// TestMembersGone: a closed loop that lasts until all its requests have ended ends when control
// reports all members lost.
func TestMembersGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		c := serve(t, allowed(s))
		stream := started(t.Context(), t, s, c, message(load.Step{Step: workload.Step{Clients: 10, Connections: 5, Requests: 1_000_000}}))
		time.Sleep(3 * time.Second)
		if _, err := c.GeneratorHeartbeat(t.Context(), &pb.GeneratorHeartbeatRequest{RunId: "run1", LostMembers: []int32{2, 0, 1}}); err != nil {
			t.Fatalf("heartbeat: %v", err)
		}
		end, _, err := rest(stream)
		if err != nil || !end.MembersGone || end.Stopped || end.Error != "" {
			t.Errorf("the step ended with %v, error %v", end, err)
		}
	})
}

// TestOneOwner: a second run is refused, and the error names the first. The first may prepare
// again.
func TestOneOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		c := serve(t, allowed(s))
		ctx := t.Context()
		mustPrepare(t, c, prepare(t, "run1", writes(), 0, 1))
		mustConnect(t, c, "run1", long())
		time.Sleep(2 * time.Second)
		_, err := c.Prepare(ctx, prepare(t, "run2", writes(), 0, 1))
		wantCode(t, err, codes.FailedPrecondition, "me@here run1", pb.RunHash("run1"), "2s ago")
		details := status.Convert(err).Details()
		if len(details) != 1 || details[0].(*pb.Owner).GetName() != "me@here run1" {
			t.Errorf("the refusal has the details %v, want the owner", details)
		}
		for name, err := range otherVerbs(ctx, c, "run2") {
			if status.Code(err) != codes.PermissionDenied || !strings.Contains(err.Error(), "me@here run1") {
				t.Errorf("%s of another run: %v, want a refusal that names the owner", name, err)
			}
		}
		mustPrepare(t, c, prepare(t, "run1", writes(), 0, 1))
		if n := s.connections(); n != 0 {
			t.Errorf("%d connections of the load before are open, want none", n)
		}
	})
}

// otherVerbs calls every verb except Prepare and returns the errors.
func otherVerbs(ctx context.Context, c pb.GeneratorClient, run string) map[string]error {
	errs := map[string]error{}
	_, errs["GeneratorHeartbeat"] = c.GeneratorHeartbeat(ctx, &pb.GeneratorHeartbeatRequest{RunId: run})
	_, errs["Connect"] = c.Connect(ctx, &pb.ConnectRequest{RunId: run, Step: long(), Members: members})
	_, errs["StopLoad"] = c.StopLoad(ctx, &pb.StopLoadRequest{RunId: run})
	_, errs["CloseLoad"] = c.CloseLoad(ctx, &pb.CloseLoadRequest{RunId: run})
	preloading, err := c.Preload(ctx, &pb.PreloadRequest{RunId: run, Clients: 1, Connections: 1, Members: members})
	if err == nil {
		_, err = preloading.Recv()
	}
	errs["Preload"] = err
	running, err := c.Run(ctx, &pb.RunRequest{RunId: run})
	if err == nil {
		_, err = running.Recv()
	}
	errs["Run"] = err
	_, errs["FailBack"] = c.FailBack(ctx, &pb.FailBackRequest{RunId: run})
	judging, err := c.Judge(ctx, &pb.JudgeRequest{RunId: run, Connections: 1, Members: members})
	if err == nil {
		_, err = judging.Recv()
	}
	errs["Judge"] = err
	_, errs["GrantSessions"] = c.GrantSessions(ctx, &pb.GrantSessionsRequest{RunId: run})
	_, errs["HoldSessions"] = c.HoldSessions(ctx, &pb.HoldSessionsRequest{RunId: run})
	_, errs["EndSessions"] = c.EndSessions(ctx, &pb.EndSessionsRequest{RunId: run})
	return errs
}

// TestNotAllowed: without the flag, every verb is refused with its name.
func TestNotAllowed(t *testing.T) {
	o := allowed(newStore())
	o.Allowed = false
	c := serve(t, o)
	errs := otherVerbs(t.Context(), c, "run1")
	_, errs["Prepare"] = c.Prepare(t.Context(), prepare(t, "run1", writes(), 0, 1))
	if len(errs) != len(pb.Generator_ServiceDesc.Methods)+len(pb.Generator_ServiceDesc.Streams) {
		t.Errorf("%d verbs were called, want all", len(errs))
	}
	for name, err := range errs {
		if status.Code(err) != codes.PermissionDenied || !strings.Contains(err.Error(), "dbtester agent --allow-load") {
			t.Errorf("%s: %v, want a refusal that names --allow-load", name, err)
		}
	}
}

// TestOrder: verbs that come too early, or at the same time, are refused.
func TestOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		c := serve(t, allowed(s))
		_, err := c.StopLoad(t.Context(), &pb.StopLoadRequest{RunId: "run1"})
		wantCode(t, err, codes.FailedPrecondition, "no load is prepared")
		mustPrepare(t, c, prepare(t, "run1", writes(), 0, 1))
		early, err := c.Run(t.Context(), &pb.RunRequest{RunId: "run1"})
		if err == nil {
			_, err = early.Recv()
		}
		wantCode(t, err, codes.FailedPrecondition, "no connections are open")
		stream := started(t.Context(), t, s, c, long())
		time.Sleep(2 * time.Second)
		_, err = c.Connect(t.Context(), &pb.ConnectRequest{RunId: "run1", Step: long(), Members: members})
		wantCode(t, err, codes.FailedPrecondition, "busy with Run")
		_, err = c.Prepare(t.Context(), prepare(t, "run1", writes(), 0, 1))
		wantCode(t, err, codes.FailedPrecondition, "a step of this run is running")
		if _, err := c.CloseLoad(t.Context(), &pb.CloseLoadRequest{RunId: "run1"}); err != nil {
			t.Errorf("close: %v", err)
		}
		_, _, err = rest(stream)
		wantCode(t, err, codes.Aborted, "control closed it")
	})
}

// TestHeldAfterPrepare: sessions are held for a load that is prepared, not for one that is about to be.
func TestHeldAfterPrepare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := allowed(newStore())
		found := make(chan struct{})
		o.Machine = func() ([]byte, bool) {
			<-found
			return nil, false
		}
		c := serve(t, o)
		prepared := make(chan error, 1)
		go func() {
			_, err := c.Prepare(t.Context(), prepare(t, "run1", writes(), 0, 1))
			prepared <- err
		}()
		synctest.Wait()
		grant := &pb.GrantSessionsRequest{RunId: "run1", Workers: 1}
		_, err := c.GrantSessions(t.Context(), grant)
		wantCode(t, err, codes.FailedPrecondition, "not prepared yet")
		close(found)
		if err := <-prepared; err != nil {
			t.Fatalf("prepare: %v", err)
		}
		_, err = c.GrantSessions(t.Context(), grant)
		wantCode(t, err, codes.InvalidArgument, "cannot be held")
	})
}

// TestLateStart: a part that is not ready by the agreed start fails, and reports that.
func TestLateStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		c := serve(t, allowed(s))
		mustPrepare(t, c, prepare(t, "run1", writes(), 0, 1))
		mustConnect(t, c, "run1", long())
		stream, err := c.Run(t.Context(), &pb.RunRequest{RunId: "run1", StartUnixNs: time.Now().Add(-time.Second).UnixNano()})
		if err != nil {
			t.Fatalf("run: %v", err)
		}
		end, seconds, err := rest(stream)
		if err != nil || seconds != 0 || !strings.Contains(end.Error, "late") || !end.Result.Start.IsZero() || end.FirstSent != -1 {
			t.Errorf("the step ended with %v, error %v, after %d seconds", end, err, seconds)
		}
		if n := s.connections(); n != 0 {
			t.Errorf("%d connections are open, want none", n)
		}
	})
}

// TestSpread: the connections of all parts go to the same members as those of one machine, number
// by number, and so do its single connections.
func TestSpread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, of := range []int{1, 2, 3, 4, 5} {
			for connections := of; connections <= 9; connections++ {
				s := newStore()
				byNumber := map[int]int{}
				for g := range of {
					p, err := planned(s.registry(), prepare(t, "run1", writes(), g, of))
					if err != nil {
						t.Fatalf("plan a part: %v", err)
					}
					d, err := newDialer(p, members)
					if err != nil {
						t.Fatalf("make a dialer: %v", err)
					}
					conns, err := d.Open(t.Context(), p.share(int32(connections)))
					if err != nil {
						t.Fatalf("dial: %v", err)
					}
					for n, c := range conns {
						byNumber[g+n*of] = c.(*storeClient).member
					}
					for n := range conns { // as many single ones
						c, err := d.Single(t.Context())
						if err != nil {
							t.Fatalf("dial: %v", err)
						}
						if got, want := c.(interface{ Member() int }).Member(), (g+n*of+1)%len(members); got != want {
							t.Errorf("part %d of %d: single connection %d goes to member %d, want %d", g, of, n, got, want)
						}
					}
				}
				for n := range connections {
					if got, found := byNumber[n]; !found || got != n%len(members) {
						t.Errorf("%d connections of %d parts: number %d goes to member %d (%v), want %d", connections, of, n, got, found, n%len(members))
					}
				}
				if len(byNumber) != connections {
					t.Errorf("%d parts open %d connections, want %d", of, len(byNumber), connections)
				}
			}
		}
	})
}

// TestConnections: parts open their shares, to the members in turn. A member that refuses is
// named, and no connection stays open.
func TestConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		for g, want := range []struct{ connections, clients int32 }{{3, 5}, {2, 5}} {
			c := serve(t, allowed(s))
			mustPrepare(t, c, prepare(t, "run1", writes(), g, 2))
			if r := mustConnect(t, c, "run1", long()); r.GetConnections() != want.connections || r.GetClients() != want.clients {
				t.Errorf("part %d of 10 clients and 5 connections: %v, want %v", g, r, want)
			}
		}
		if s.byMember[0] != 2 || s.byMember[1] != 2 || s.byMember[2] != 1 { // 0 2 1, 1 0
			t.Errorf("connections by member %v, want those of one machine", s.byMember)
		}
		c := serve(t, allowed(s))
		mustPrepare(t, c, prepare(t, "run1", writes(), 0, 1))
		before := s.connections()
		s.refuses[1] = true
		r, err := c.Connect(t.Context(), &pb.ConnectRequest{RunId: "run1", Step: long(), Members: members})
		if err != nil || r.GetConnections() != 0 || r.GetRefused().GetMember() != 1 || !r.GetRefused().GetLost() || s.connections() != before {
			t.Errorf("a member that takes no connection: %v, error %v, %d connections more", r, err, s.connections()-before)
		}
		if r, err := c.Connect(t.Context(), &pb.ConnectRequest{RunId: "run1", Step: long(), Members: []int32{0, 2}}); err != nil || r.GetConnections() != 5 {
			t.Errorf("without that member: %v, error %v", r, err)
		}
		for name, req := range map[string]*pb.ConnectRequest{
			"no members":      {Step: long()},
			"unknown members": {Step: long(), Members: []int32{0, 3}},
			"no clients":      {Step: message(load.Step{Step: workload.Step{Connections: 1, Requests: 1}}), Members: members},
			"no end":          {Step: message(load.Step{Step: workload.Step{Clients: 1, Connections: 1}}), Members: members},
			"no step":         {Step: &pb.LoadStep{Step: []byte(`{"clients":"two"}`)}, Members: members},
		} {
			req.RunId = "run1"
			_, err := c.Connect(t.Context(), req)
			if status.Code(err) != codes.InvalidArgument {
				t.Errorf("%s: error %v, want %v", name, err, codes.InvalidArgument)
			}
		}
	})
}

// TestPrepareRefuses: invalid requests for a part are refused with the reason, and leave the
// generator free.
func TestPrepareRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		c := serve(t, allowed(s))
		for name, tc := range map[string]struct {
			change func(*pb.PrepareRequest)
			code   codes.Code
			text   string
		}{
			"another version":    {func(r *pb.PrepareRequest) { r.Version = "v2" }, codes.FailedPrecondition, "this generator is dbtester v1 and control is v2"},
			"an unknown store":   {func(r *pb.PrepareRequest) { r.Database = "other" }, codes.InvalidArgument, `unknown database "other"`},
			"a newer load":       {func(r *pb.PrepareRequest) { r.Load = []byte(`{"operation": "write", "newer": 1}`) }, codes.InvalidArgument, "newer"},
			"no such part":       {func(r *pb.PrepareRequest) { r.Part = 2 }, codes.InvalidArgument, "part"},
			"no parts":           {func(r *pb.PrepareRequest) { r.Parts = 0 }, codes.InvalidArgument, "parts must be from 1"},
			"no endpoints":       {func(r *pb.PrepareRequest) { r.Endpoints = nil }, codes.InvalidArgument, "endpoints"},
			"no port":            {func(r *pb.PrepareRequest) { r.Endpoints = []string{"host"} }, codes.InvalidArgument, "HOST:PORT"},
			"no run":             {func(r *pb.PrepareRequest) { r.RunId = "../run" }, codes.InvalidArgument, "run id"},
			"an odd period":      {func(r *pb.PrepareRequest) { r.SamplePeriodNs = 7 }, codes.InvalidArgument, "samples"},
			"an unknown option":  {func(r *pb.PrepareRequest) { r.Options = []byte("speed: 1") }, codes.InvalidArgument, "speed"},
			"a relative path":    {func(r *pb.PrepareRequest) { r.Tls = &pb.ClientTLS{Ca: "ca.pem"} }, codes.InvalidArgument, "absolute path"},
			"no such password":   {func(r *pb.PrepareRequest) { r.Auth = &pb.ClientAuth{PasswordFile: "/nonexistent/file"} }, codes.FailedPrecondition, "/nonexistent/file"},
			"no such variable":   {func(r *pb.PrepareRequest) { r.Auth = &pb.ClientAuth{PasswordEnv: "DBTESTER_TEST_NONE"} }, codes.FailedPrecondition, "DBTESTER_TEST_NONE"},
			"a load of one part": {func(r *pb.PrepareRequest) { r.Parts, r.Load = 2, []byte(latest) }, codes.InvalidArgument, "1 part"},
		} {
			req := prepare(t, "run1", writes(), 0, 1)
			tc.change(req)
			_, err := c.Prepare(t.Context(), req)
			if status.Code(err) != tc.code || !strings.Contains(err.Error(), tc.text) {
				t.Errorf("%s: error %v, want %v with %q", name, err, tc.code, tc.text)
			}
		}
		mustPrepare(t, c, prepare(t, "run2", writes(), 0, 1))
	})
}

// latest is a load that reads the keys it creates.
const latest = `{"mix": [{"operation": "read", "weight": 1}, {"operation": "write", "weight": 1}], "keys": 10, "key_law": "latest", "key_size": 8, "value_size": 8}`

// TestPassword: a password is read on the generator machine, and clients get it.
func TestPassword(t *testing.T) {
	path := password(t, "hunter2\n")
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		c := serve(t, allowed(s))
		req := prepare(t, "run1", writes(), 0, 1)
		req.Auth = &pb.ClientAuth{User: "bench", PasswordFile: path}
		mustPrepare(t, c, req)
		mustConnect(t, c, "run1", long())
		if s.auth == nil || s.auth.User != "bench" || s.auth.Password != "hunter2" {
			t.Errorf("clients connect with %v, or without the password of the file", s.auth)
		}
	})
}

// TestSelfCheck: a self-check that cannot be made is answered with the reason.
func TestSelfCheck(t *testing.T) {
	s := newStore()
	for reason, mirror := range map[string][]string{"no server": nil, "not available for store": {"/bin/false"}} {
		o := allowed(s)
		o.Mirror = mirror
		req := prepare(t, "run1", writes(), 0, 1)
		req.SelfCheck = true
		if got := string(mustPrepare(t, serve(t, o), req).GetSelfCheck()); !strings.Contains(got, reason) {
			t.Errorf("self-check %s, want %q", got, reason)
		}
	}
}

// TestOwnLoad: the load of a part has its share of clients and rates.
func TestOwnLoad(t *testing.T) {
	p, err := planned(newStore().registry(), prepare(t, "run1", workload.Load{
		Content: workload.Content{Operation: workload.OpWrite},
		Extent:  workload.Extent{Steps: []workload.Step{{Clients: 9, Connections: 9, Rate: 300, Requests: 10}, {Clients: 1, Connections: 1, Requests: 10}}},
	}, 1, 2))
	if err != nil {
		t.Fatalf("plan the part: %v", err)
	}
	if s := p.own().Stretches(); s[0].Clients != 4 || s[0].Connections != 4 || s[0].Rate != 150 || s[1].Clients != 1 {
		t.Errorf("steps of the second of two parts: %+v", s)
	}
	one := p.own()
	one.Steps = nil
	one.Clients, one.Connections, one.Rate = 9, 2, 50
	p.spec.Load = one
	if l := p.own(); l.Clients != 4 || l.Connections != 1 || l.Rate != 25 {
		t.Errorf("load of the second of two parts: %+v", l)
	}
}
