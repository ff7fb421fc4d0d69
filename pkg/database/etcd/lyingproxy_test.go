package etcd

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/coreos/dbtester/pkg/consistency"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/databasetest"
	loading "github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/load/judging"
	"github.com/coreos/dbtester/pkg/sleep/slowtest"
	"github.com/coreos/dbtester/pkg/workload"
)

// lyingProxy forwards requests to etcd. Once in every requests it answers a read of an overwritten
// key with the previous value, or acknowledges an update and drops it.
type lyingProxy struct {
	pb.UnimplementedKVServer
	etcd                pb.KVClient
	olderReads, dropped bool
	every               int64 // requests for each lie

	lying atomic.Bool
	count atomic.Int64
	lies  atomic.Int64
}

func (p *lyingProxy) now() bool {
	if !p.lying.Load() || p.count.Add(1)%p.every != 0 {
		return false
	}
	p.lies.Add(1)
	return true
}

func (p *lyingProxy) Range(ctx context.Context, req *pb.RangeRequest) (*pb.RangeResponse, error) {
	resp, err := p.etcd.Range(ctx, req)
	if err != nil || !p.olderReads || len(resp.Kvs) != 1 || resp.Kvs[0].Version < 2 || !p.now() {
		return resp, err
	}
	req.Revision = resp.Kvs[0].ModRevision - 1
	return p.etcd.Range(ctx, req)
}

func (p *lyingProxy) Put(ctx context.Context, req *pb.PutRequest) (*pb.PutResponse, error) {
	if p.dropped && p.now() {
		return &pb.PutResponse{Header: &pb.ResponseHeader{Revision: 1}}, nil
	}
	return p.etcd.Put(ctx, req)
}

// statusProxy forwards the request clients send when they dial.
type statusProxy struct {
	pb.UnimplementedMaintenanceServer
	etcd pb.MaintenanceClient
}

func (s statusProxy) Status(ctx context.Context, req *pb.StatusRequest) (*pb.StatusResponse, error) {
	return s.etcd.Status(ctx, req)
}

// serve serves the proxy in front of a member, and returns its address.
func (p *lyingProxy) serve(t *testing.T, member string) string {
	t.Helper()
	conn, err := grpc.NewClient(member, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatalf("dial the member: %v", err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("listen on loopback: %v", err)
	}
	p.etcd = pb.NewKVClient(conn)
	server := grpc.NewServer()
	pb.RegisterKVServer(server, p)
	pb.RegisterMaintenanceServer(server, statusProxy{etcd: pb.NewMaintenanceClient(conn)})
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Stop()
		if err := <-served; err != nil {
			t.Errorf("serve the proxy: %v", err)
		}
		if err := conn.Close(); err != nil {
			t.Errorf("close the connection to the member: %v", err)
		}
	})
	return listener.Addr().String()
}

// judgedSink judges requests and drops their records.
type judgedSink struct{ *judging.Load }

func (judgedSink) Second(loading.Second) error { return nil }
func (judgedSink) Total(loading.Total) error   { return nil }

// TestLyingProxy: the errors a proxy in front of etcd makes, in one request in 100, are found, and
// etcd alone has no violation. Many errors, too, are all stale reads.
func TestLyingProxy(t *testing.T) {
	slowtest.Skip(t)
	member := databasetest.Start(t, databasetest.Suite{
		Database: Database(), Options: "{unsafe_no_fsync: true, log_level: error}", Addrs: []string{"127.0.2.61"},
	}, 1)
	for n, c := range []struct {
		name  string
		proxy *lyingProxy
	}{
		{"honest", &lyingProxy{every: 100}},
		{"older reads", &lyingProxy{olderReads: true, every: 100}},
		{"many older reads", &lyingProxy{olderReads: true, every: 30}},
		{"dropped updates", &lyingProxy{dropped: true, every: 100}},
	} {
		proxy := c.proxy
		t.Run(c.name, func(t *testing.T) {
			const clients = 32
			target := database.Target{Prefer: -1, Endpoints: []string{proxy.serve(t, member.Target().Endpoints[0])}}
			conns := make([]database.Client, 4)
			for n := range conns {
				conns[n] = dialBy(t, database.Lean, target)
			}
			spec := loading.Spec{Seed: 7, Load: workload.Load{
				Keyspace: workload.Keyspace{Keys: 100, KeyLaw: workload.KeysUniform},
				Sizing:   workload.Sizing{KeySize: 24 + n, ValueSize: 40}, // its own keys: the value before the first update is not from another load
				Limits:   workload.Limits{Timeout: time.Minute, Drain: time.Minute},
				Content:  workload.Content{Read: workload.ReadLinearizable, Mix: []workload.Share{{Operation: workload.OpRead, Weight: 50}, {Operation: workload.OpUpdate, Weight: 50}}},
			}}
			if err := loading.Preload(t.Context(), spec, clients, conns, nil); err != nil {
				t.Fatalf("preload the keys: %v", err)
			}
			proxy.lying.Store(true)
			l, err := judging.New(judging.Options{Spec: spec, Clients: clients})
			if err != nil {
				t.Fatalf("judge the load: %v", err)
			}
			rec := loading.NewRecorder(judgedSink{l}, spec.Operations(), nil)
			const requests = 6_000 // among 30 lies, some are read before another update hides them
			step := loading.Step{Step: workload.Step{Clients: clients, Requests: requests}}
			if _, err := loading.NewEngine(spec, rec).Step(t.Context(), step, conns); err != nil {
				t.Fatalf("run the step: %v", err)
			}
			judge := l.Finish()
			proxy.lying.Store(false)
			held, err := l.ReadBack(t.Context(), conns, judging.Back{Mode: workload.ReadLinearizable})
			if err != nil || held.Keys != 100 || held.Read != 100 {
				t.Fatalf("read back %+v, %v", held, err)
			}
			totals := judge.Totals()
			t.Logf("%d lies, %+v", proxy.lies.Load(), totals)
			lies := proxy.olderReads || proxy.dropped
			if totals.Judged != requests || lies != (proxy.lies.Load() > 0) || lies != (totals.Stale > 0) || totals.Violations.All() != totals.Stale {
				t.Errorf("%d lies were told, and the judge has %+v", proxy.lies.Load(), totals)
			}
			for _, w := range judge.Witnesses() {
				if err := w.Check(); err != nil || w.Class != consistency.StaleValue {
					t.Errorf("%s: %v", w.Words(0), err)
				}
			}
			// An update that was dropped and not read before the end is lost without a stale read.
			if held.Lost() > proxy.lies.Load() {
				t.Errorf("after %d lies the keys are %+v", proxy.lies.Load(), held)
			}
		})
	}
}
