package etcd

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/databasetest"
	"github.com/coreos/dbtester/pkg/sleep/slowtest"
)

// answers is a grpc-go stream that answers renewals when the test does.
type answers struct {
	pb.Lease_LeaseKeepAliveClient
	pb.LeaseClient
	sent chan int64
	ttls chan int64 // in seconds
}

func (a *answers) LeaseKeepAlive(context.Context, ...grpc.CallOption) (pb.Lease_LeaseKeepAliveClient, error) {
	return a, nil
}

func (a *answers) Send(r *pb.LeaseKeepAliveRequest) error {
	a.sent <- r.ID
	return nil
}

func (a *answers) Recv() (*pb.LeaseKeepAliveResponse, error) {
	ttl, ok := <-a.ttls
	if !ok {
		return nil, io.EOF
	}
	return &pb.LeaseKeepAliveResponse{ID: 1, TTL: ttl}, nil
}

// The late answer to an abandoned renewal does not count for the next one: otherwise the TTL would
// seem to have begun later than it did.
func TestLateRenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &answers{sent: make(chan int64, 2), ttls: make(chan int64)}
		r := newRenewals(openStandard(a))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := r.keep(ctx, 1); err == nil {
			t.Error("a renewal without an answer succeeded")
		}
		second := make(chan int64, 1)
		go func() {
			ttl, err := r.keep(t.Context(), 1)
			if err != nil {
				t.Errorf("renew: %v", err)
			}
			second <- ttl
		}()
		synctest.Wait()
		a.ttls <- 7
		synctest.Wait()
		if len(second) > 0 {
			t.Error("the second renewal ended with the answer to the first")
		}
		a.ttls <- 8
		if ttl := <-second; ttl != 8 {
			t.Errorf("the second renewal has a TTL of %d s, want 8 s", ttl)
		}
		close(a.ttls)
		r.close()
		if len(r.waiting) > 0 {
			t.Errorf("renewals wait after the end of the stream: %v", r.waiting)
		}
	})
}

// keeper is a member that answers renewals: each by the next TTL from the test, in order.
type keeper struct {
	pb.UnimplementedLeaseServer
	ttls    chan int64 // in seconds; 0 ends the stream with an error
	streams atomic.Int64
}

func (k *keeper) LeaseKeepAlive(s pb.Lease_LeaseKeepAliveServer) error {
	k.streams.Add(1)
	for {
		r, err := s.Recv()
		if err != nil {
			return err
		}
		ttl := <-k.ttls
		if ttl == 0 {
			return status.Error(codes.Unavailable, "etcdserver: no leader")
		}
		if err := s.Send(&pb.LeaseKeepAliveResponse{ID: r.ID, TTL: ttl}); err != nil {
			return err
		}
	}
}

// keepers serves a member on a new address.
func keepers(t *testing.T, k *keeper) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	pb.RegisterLeaseServer(server, k)
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(l) })
	t.Cleanup(func() {
		server.Stop()
		serving.Wait()
	})
	return l.Addr().String()
}

// leanly renews leases over our own stream.
func leanly(t *testing.T, endpoints ...string) *leaseRenewals {
	t.Helper()
	open, err := openLean(database.Target{Endpoints: endpoints, Prefer: -1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	r := newRenewals(open)
	t.Cleanup(r.close)
	return r
}

// Over our own stream, answers belong to renewals of their lease in order, including abandoned
// ones, and a stream that has ended is replaced.
func TestLeanRenewals(t *testing.T) {
	k := &keeper{ttls: make(chan int64)}
	r := leanly(t, keepers(t, k))
	given, cancel := context.WithCancel(t.Context())
	first := make(chan error, 1)
	go func() {
		_, err := r.keep(given, 5)
		first <- err
	}()
	for waits := 0; waits == 0; { // until it was sent
		r.mu.Lock()
		waits = len(r.waiting[5])
		r.mu.Unlock()
		time.Sleep(time.Millisecond)
	}
	cancel()
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Errorf("a renewal that was given up: %v", err)
	}
	go func() { k.ttls <- 7; k.ttls <- 8; k.ttls <- 9 }()
	if ttl, err := r.keep(t.Context(), 5); ttl != 8 || err != nil {
		t.Errorf("the second renewal has a TTL of %d s, %v, want 8 s", ttl, err)
	}
	if ttl, err := r.keep(t.Context(), -6); ttl != 9 || err != nil {
		t.Errorf("another lease has a TTL of %d s, %v, want 9 s", ttl, err)
	}
	go func() { k.ttls <- 0; k.ttls <- 3 }()
	_, err := r.keep(t.Context(), 5)
	if outcome, class := database.Classify(err); class != database.ClassConnection {
		t.Errorf("a renewal whose stream ended: %v %v, want class %v", outcome, class, database.ClassConnection)
	}
	for err != nil { // the stream may not have been given up yet
		var ttl int64
		if ttl, err = r.keep(t.Context(), 5); err == nil && ttl != 3 {
			t.Errorf("a renewal over the next stream has a TTL of %d s, want 3 s", ttl)
		}
	}
	if n := k.streams.Load(); n != 2 {
		t.Errorf("%d streams were opened, want 2", n)
	}
	r.close()
	if _, err := r.keep(t.Context(), 5); !errors.Is(err, context.Canceled) {
		t.Errorf("a renewal after the end: %v", err)
	}
}

// A stream goes to an available endpoint; without any, renewals fail.
func TestLeanRenewalsDial(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	k := &keeper{ttls: make(chan int64, 1)}
	k.ttls <- 4
	if ttl, err := leanly(t, l.Addr().String(), keepers(t, k)).keep(t.Context(), 1); ttl != 4 || err != nil {
		t.Errorf("a TTL of %d s, %v, want 4 s", ttl, err)
	}
	r := leanly(t, l.Addr().String())
	for range 2 {
		_, err = r.keep(t.Context(), 1)
		if outcome, class := database.Classify(err); class != database.ClassUnavailable {
			t.Errorf("without an endpoint: %v %v, want class %v", outcome, class, database.ClassUnavailable)
		}
	}
}

// Over both kinds of stream a member renews many leases, many at a time, and continues after it was
// killed and restarted.
func TestManyRenewals(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	each(t, []database.Transport{database.Lean, database.Standard}, func(t *testing.T, transport database.Transport) {
		const held, rounds, workers = 1000, 5, 20
		c := startOne(t, "{unsafe_no_fsync: true}")
		driver := New()
		driver.Transport = transport
		s, err := driver.DialSessions(t.Context(), c.Target())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		ctx, cancel := context.WithTimeout(t.Context(), 2*databasetest.Patience)
		defer cancel()
		all := make([]database.Session, held)
		var kept, lost atomic.Int64
		parallel := func(do func(i int) error) {
			var group sync.WaitGroup
			for w := range workers {
				group.Go(func() {
					for i := w; i < held; i += workers {
						if err := do(i); err != nil {
							lost.Add(1)
						}
					}
				})
			}
			group.Wait()
		}
		parallel(func(i int) (err error) {
			all[i], err = s.Grant(ctx, 10*time.Minute)
			return err
		})
		if lost.Load() > 0 {
			t.Fatalf("%d of %d leases were not granted", lost.Load(), held)
		}
		keep := func(i int) error {
			err := all[i].Keep(ctx)
			if err == nil {
				kept.Add(1)
			}
			return err
		}
		for range rounds {
			parallel(keep)
		}
		if kept.Load() != held*rounds || lost.Load() > 0 {
			t.Errorf("%d renewals of %d, %d lost", kept.Load(), held*rounds, lost.Load())
		}
		c.Kill(0)
		if err := all[0].Keep(ctx); err == nil {
			t.Error("a member that was killed renewed a lease")
		}
		c.Restart(0)
		c.WaitReady()
		deadline := time.Now().Add(databasetest.Patience)
		for err = all[0].Keep(ctx); err != nil && time.Now().Before(deadline); err = all[0].Keep(ctx) {
			time.Sleep(10 * time.Millisecond)
		}
		kept.Store(0)
		lost.Store(0)
		parallel(keep)
		if err != nil || kept.Load() != held || lost.Load() > 0 {
			t.Errorf("after the member's return: %d renewals of %d, %v", kept.Load(), held, err)
		}
		if err := all[0].Release(ctx); err != nil {
			t.Errorf("release a lease: %v", err)
		}
		if err := all[0].Keep(ctx); !errors.Is(err, database.ErrNoSession) {
			t.Errorf("a lease that has ended: %v", err)
		}
	})
}

// BenchmarkKeep measures the cost of a renewal for this process, 100 callers over one stream, by
// transport. The server is another process; trust cpu-us/op, not ns/op.
func BenchmarkKeep(b *testing.B) {
	c := startOne(b, "{unsafe_no_fsync: true, log_level: error}")
	for _, transport := range []database.Transport{database.Lean, database.Standard} {
		b.Run(string(transport), func(b *testing.B) {
			driver := New()
			driver.Transport = transport
			s, err := driver.DialSessions(b.Context(), c.To(0))
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() { _ = s.Close() })
			const callers = 100
			leases := make([]database.Session, callers)
			for i := range leases {
				if leases[i], err = s.Grant(b.Context(), 10*time.Minute); err != nil {
					b.Fatal(err)
				}
			}
			var next atomic.Int64
			var group sync.WaitGroup
			b.ReportAllocs()
			b.ResetTimer()
			before := databasetest.ProcessCPU(b)
			for _, lease := range leases {
				group.Go(func() {
					for next.Add(1) <= int64(b.N) {
						if err := lease.Keep(b.Context()); err != nil {
							b.Errorf("renew: %v", err)
							return
						}
					}
				})
			}
			group.Wait()
			b.ReportMetric(float64((databasetest.ProcessCPU(b)-before).Microseconds())/float64(b.N), "cpu-us/op")
		})
	}
}
