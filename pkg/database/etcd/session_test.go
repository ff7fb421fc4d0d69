package etcd

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"

	"github.com/coreos/dbtester/pkg/database"
)

// Every lease that nobody renews ends once by the watch, and the member counts as many.
func TestExpiredLeases(t *testing.T) {
	c := startOne(t, "")
	s, err := c.Driver().(database.SessionDialer).DialSessions(t.Context(), c.Target())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	const held = 300
	var ends atomic.Int64
	ready, over := make(chan struct{}), make(chan struct{})
	var tasks sync.WaitGroup
	tasks.Go(func() {
		err := s.Watch(ctx, func() { close(ready) }, func(database.Gone) {
			if ends.Add(1) == held {
				close(over)
			}
		})
		if err != nil {
			t.Errorf("watch: %v", err)
		}
	})
	<-ready
	for part := range 10 {
		tasks.Go(func() {
			for i := range held / 10 {
				lease, err := s.Grant(ctx, sessionFacts().Least)
				if err == nil {
					err = lease.Attach(ctx, fmt.Appendf(nil, "%d-%d", part, i), nil)
				}
				if err != nil {
					t.Errorf("grant a lease with a key: %v", err)
				}
			}
		})
	}
	select {
	case <-over:
	case <-ctx.Done():
		t.Errorf("%d of %d leases ended", ends.Load(), held)
	}
	counted := int64(-1) // each lease after its end
	for counted < held && ctx.Err() == nil && !t.Failed() {
		counted = expired(t, c.Target().Endpoints[0])
		time.Sleep(10 * time.Millisecond)
	}
	cancel()
	tasks.Wait()
	if counted != held || ends.Load() != held {
		t.Errorf("the member counts %d leases that expired, the watch %d ends, want %d", counted, ends.Load(), held)
	}
}

// stream answers renewals when the test does.
type stream struct {
	pb.Lease_LeaseKeepAliveClient
	pb.LeaseClient
	sent    chan int64
	answers chan int64 // TTLs in seconds
}

func (s *stream) LeaseKeepAlive(context.Context, ...grpc.CallOption) (pb.Lease_LeaseKeepAliveClient, error) {
	return s, nil
}

func (s *stream) Send(r *pb.LeaseKeepAliveRequest) error {
	s.sent <- r.ID
	return nil
}

func (s *stream) Recv() (*pb.LeaseKeepAliveResponse, error) {
	ttl, ok := <-s.answers
	if !ok {
		return nil, io.EOF
	}
	return &pb.LeaseKeepAliveResponse{ID: 1, TTL: ttl}, nil
}

// The late answer to a renewal that was given up is not that of the next one: the TTL would seem
// to have begun later than it did.
func TestLateRenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &stream{sent: make(chan int64, 2), answers: make(chan int64)}
		l := &leases{lease: s, waiting: map[int64][]chan int64{}}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := l.keep(ctx, 1); err == nil {
			t.Error("a renewal without an answer succeeded")
		}
		second := make(chan int64, 1)
		go func() {
			ttl, err := l.keep(t.Context(), 1)
			if err != nil {
				t.Errorf("renew: %v", err)
			}
			second <- ttl
		}()
		synctest.Wait()
		s.answers <- 7
		synctest.Wait()
		if len(second) > 0 {
			t.Error("the second renewal ended with the answer to the first")
		}
		s.answers <- 8
		if ttl := <-second; ttl != 8 {
			t.Errorf("the second renewal has a TTL of %d s, want 8 s", ttl)
		}
		close(s.answers)
		l.readers.Wait()
		if len(l.waiting) > 0 {
			t.Errorf("renewals wait after the end of the stream: %v", l.waiting)
		}
	})
}

// expired is how many leases a member ended because nobody renewed them.
func expired(t *testing.T, endpoint string) int64 {
	t.Helper()
	resp, err := http.Get("http://" + endpoint + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`(?m)^etcd_debugging_server_lease_expired_total (\S+)$`).FindSubmatch(text)
	if line == nil {
		t.Fatal("the metrics lack leases that expired")
	}
	n, err := strconv.ParseFloat(string(line[1]), 64)
	if err != nil {
		t.Fatal(err)
	}
	return int64(n)
}
