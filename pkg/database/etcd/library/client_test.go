package library

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/workload"
)

// member is a server that counts the requests to its keys, and answers the first ones with errors.
type member struct {
	pb.UnimplementedKVServer
	pb.UnimplementedMaintenanceServer
	address  string
	stop     func()
	requests atomic.Int64
	read     atomic.Pointer[pb.RangeRequest] // the last one
	fail     atomic.Pointer[failures]
}

// failures are the errors for the next requests.
type failures struct {
	errs []error
	next atomic.Int64
}

var (
	// errGivenUp is the deadline in the member alone: the request may be applied later.
	errGivenUp = status.Error(codes.DeadlineExceeded, "context deadline exceeded")
	// errOther answers a transaction: the keys are not as it expects.
	errOther = errors.New("other")
	// errHangs stands for no answer.
	errHangs = errors.New("hangs")
)

// start returns a running member.
func start(t *testing.T) *member {
	t.Helper()
	listener, err := net.Listen("tcp", "127.16.2.2:0")
	if err != nil {
		t.Fatalf("listen on loopback: %v", err)
	}
	server := grpc.NewServer()
	m := &member{address: listener.Addr().String(), stop: server.Stop}
	pb.RegisterKVServer(server, m)
	pb.RegisterMaintenanceServer(server, m)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return m
}

// failing makes the next requests fail, and counts them from 0.
func (m *member) failing(errs ...error) {
	m.fail.Store(&failures{errs: errs})
	m.requests.Store(0)
}

func (m *member) request(ctx context.Context) error {
	m.requests.Add(1)
	f := m.fail.Load()
	if f == nil {
		return nil
	}
	n := f.next.Add(1) - 1
	if n >= int64(len(f.errs)) {
		return nil
	}
	if errors.Is(f.errs[n], errHangs) {
		<-ctx.Done()
		return status.FromContextError(ctx.Err()).Err()
	}
	return f.errs[n]
}

func (m *member) Status(context.Context, *pb.StatusRequest) (*pb.StatusResponse, error) {
	return &pb.StatusResponse{}, nil
}

func (m *member) Put(ctx context.Context, _ *pb.PutRequest) (*pb.PutResponse, error) {
	return &pb.PutResponse{}, m.request(ctx)
}

func (m *member) Range(ctx context.Context, r *pb.RangeRequest) (*pb.RangeResponse, error) {
	m.read.Store(r)
	return &pb.RangeResponse{}, m.request(ctx)
}

func (m *member) DeleteRange(ctx context.Context, _ *pb.DeleteRangeRequest) (*pb.DeleteRangeResponse, error) {
	return &pb.DeleteRangeResponse{}, m.request(ctx)
}

func (m *member) Txn(ctx context.Context, _ *pb.TxnRequest) (*pb.TxnResponse, error) {
	err := m.request(ctx)
	if errors.Is(err, errOther) {
		return &pb.TxnResponse{}, nil
	}
	return &pb.TxnResponse{Succeeded: true, Header: &pb.ResponseHeader{Revision: 7}}, err
}

// dial returns a client for some members.
func dial(t *testing.T, members ...*member) *Client {
	t.Helper()
	var config Config
	for _, m := range members {
		config.Endpoints = append(config.Endpoints, m.address)
	}
	c, err := Dial(t.Context(), config)
	if err != nil {
		t.Fatalf("dial: %v", err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("close the client: %v", err)
		}
	})
	return c
}

// operations returns load requests; a read from the servers above finds no key.
func operations() map[string]func(context.Context, *Client) error {
	key := []byte("k")
	found := func(err error) error {
		if _, class := database.Classify(err); class == database.ClassNotFound {
			return nil
		}
		return err
	}
	return map[string]func(context.Context, *Client) error{
		"put":    func(ctx context.Context, c *Client) error { return c.Put(ctx, key, key) },
		"delete": func(ctx context.Context, c *Client) error { return c.Delete(ctx, key) },
		"swap":   func(ctx context.Context, c *Client) error { return c.Swap(ctx, key, key, key) },
		"txn": func(ctx context.Context, c *Client) error {
			return c.Txn(ctx, []database.GuardedPut{{Key: key, Value: key}})
		},
		"get": func(ctx context.Context, c *Client) error {
			_, err := c.Get(ctx, key, workload.ReadLinearizable)
			return found(err)
		},
		"stale get": func(ctx context.Context, c *Client) error {
			_, err := c.Get(ctx, key, workload.ReadStale)
			return found(err)
		},
		"range": func(ctx context.Context, c *Client) error {
			_, _, err := c.Range(ctx, key, 10, workload.ReadLinearizable)
			return err
		},
		"version": func(ctx context.Context, c *Client) error {
			_, err := c.Version(ctx, key)
			return err
		},
	}
}

// TestResent: which requests the library sends again, how often, and how the others end.
// docs/transports.md has this table.
func TestResent(t *testing.T) {
	m := start(t)
	c := dial(t, m)
	writes, reads := []string{"put", "delete", "swap", "txn"}, []string{"get", "stale get", "range", "version"}
	all := slices.Concat(writes, reads)
	for _, tt := range []struct {
		name    string
		calls   []string
		err     error // from the first attempt
		resent  int64
		outcome workload.Outcome
		class   database.Class
	}{
		{"read without a leader", reads, rpctypes.ErrGRPCNoLeader, 1, workload.OK, ""},
		{"read while the leader changes", reads, rpctypes.ErrGRPCLeaderChanged, 1, workload.OK, ""},
		{"read that the member gave up", reads, rpctypes.ErrGRPCTimeout, 1, workload.OK, ""},
		{"write without a leader", writes, rpctypes.ErrGRPCNoLeader, 0, workload.Failed, database.ClassUnavailable},
		{"write while the leader changes", writes, rpctypes.ErrGRPCLeaderChanged, 0, workload.Unknown, database.ClassLeaderChange},
		{"write that the member gave up", writes, rpctypes.ErrGRPCTimeout, 0, workload.Unknown, database.ClassTimeout},
		{"old token", all, rpctypes.ErrGRPCInvalidAuthToken, 1, workload.OK, ""},
		{"users changed", all, rpctypes.ErrGRPCAuthOldRevision, 1, workload.OK, ""},
		{"deadline of the member alone", all, errGivenUp, 1, workload.OK, ""},
		{"too many requests", all, rpctypes.ErrGRPCRequestTooManyRequests, 0, workload.Failed, database.ClassThrottled},
		{"denied", all, rpctypes.ErrGRPCPermissionDenied, 0, workload.Failed, database.ClassDenied},
		{"full store", writes, rpctypes.ErrGRPCNoSpace, 0, workload.Unknown, database.ClassSpaceExceeded},
		{"too large", writes, rpctypes.ErrGRPCRequestTooLarge, 0, workload.Failed, database.ClassTooLarge},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, name := range tt.calls {
				m.failing(tt.err)
				before := c.Resent()
				err := operations()[name](t.Context(), c)
				if outcome, class := database.Classify(err); outcome != tt.outcome || class != tt.class {
					t.Errorf("%s: %v %q, want %v %q: %v", name, outcome, class, tt.outcome, tt.class, err)
				}
				if got, sent := c.Resent()-before, m.requests.Load(); got != tt.resent || sent != 1+tt.resent {
					t.Errorf("%s: the member has seen %d requests and %d are counted as sent again, want %d and %d", name, sent, got, 1+tt.resent, tt.resent)
				}
			}
		})
	}
}

// TestDisconnected: a call that ends by its deadline tells whether its client had a connection then,
// and so does one that its caller cancels.
func TestDisconnected(t *testing.T) {
	m := start(t)
	c := dial(t, m)
	const within = 50 * time.Millisecond
	for _, connected := range []bool{true, false} {
		if !connected {
			m.stop()
			for cc := c.upstream.ActiveConnection(); cc.GetState() == connectivity.Ready; {
				time.Sleep(time.Millisecond)
			}
		}
		for name, operation := range operations() {
			m.failing(errHangs)
			ctx, cancel := context.WithTimeout(t.Context(), within)
			err := operation(ctx, c)
			cancel()
			if _, class := database.Classify(err); class != database.ClassTimeout || errors.Is(err, database.ErrDisconnected) == connected {
				t.Errorf("%s, connected %v: %v, class %q", name, connected, err, class)
			}
			ctx, cancel = context.WithCancel(t.Context())
			m.failing(errHangs)
			time.AfterFunc(within, cancel)
			if err := operation(ctx, c); errors.Is(err, database.ErrDisconnected) == connected {
				t.Errorf("%s, connected %v, canceled: %v", name, connected, err)
			}
		}
	}
}

// TestUnsure: the result of the last attempt at a write does not show how earlier attempts ended.
func TestUnsure(t *testing.T) {
	m := start(t)
	c := dial(t, m)
	for _, tt := range []struct {
		call    string
		errs    []error // from the attempts
		outcome workload.Outcome
		class   database.Class
	}{
		{"put", []error{errGivenUp, rpctypes.ErrGRPCRequestTooManyRequests}, workload.Unknown, database.ClassThrottled},
		{"put", []error{errGivenUp}, workload.OK, ""},
		{"put", []error{rpctypes.ErrGRPCInvalidAuthToken, rpctypes.ErrGRPCRequestTooManyRequests}, workload.Failed, database.ClassThrottled},
		{"delete", []error{errGivenUp, rpctypes.ErrGRPCPermissionDenied}, workload.Unknown, database.ClassDenied},
		{"swap", []error{errOther}, workload.Failed, database.ClassConflict},
		{"swap", []error{errGivenUp, errOther}, workload.Unknown, database.ClassConflict},
		{"txn", []error{errOther}, workload.Failed, database.ClassConflict},
		{"txn", []error{errGivenUp, errOther}, workload.Unknown, database.ClassConflict},
		{"txn", []error{rpctypes.ErrGRPCAuthOldRevision, errOther}, workload.Failed, database.ClassConflict},
	} {
		m.failing(tt.errs...)
		err := operations()[tt.call](t.Context(), c)
		if outcome, class := database.Classify(err); outcome != tt.outcome || class != tt.class {
			t.Errorf("%s after %v: %v %q, want %v %q", tt.call, tt.errs, outcome, class, tt.outcome, tt.class)
		}
	}
}

// TestReads: library options make the requests that other transports send.
func TestReads(t *testing.T) {
	m := start(t)
	c := dial(t, m)
	key, end := []byte("k"), []byte("l")
	for name, tt := range map[string]struct {
		do   func() error
		want *pb.RangeRequest
	}{
		"get": {func() error { _, err := c.Get(t.Context(), key, workload.ReadLinearizable); return err }, &pb.RangeRequest{Key: key}},
		"stale get": {
			func() error { _, err := c.Get(t.Context(), key, workload.ReadStale); return err },
			&pb.RangeRequest{Key: key, Serializable: true},
		},
		"range": {
			func() error { _, _, err := c.Range(t.Context(), key, 5, workload.ReadLinearizable); return err },
			&pb.RangeRequest{Key: key, RangeEnd: []byte{0}, Limit: 5},
		},
		"stale range to a key": {
			func() error { _, _, err := c.RangeTo(t.Context(), key, end, 6, workload.ReadStale); return err },
			&pb.RangeRequest{Key: key, RangeEnd: end, Limit: 6, Serializable: true},
		},
		"version":  {func() error { _, err := c.Version(t.Context(), key); return err }, &pb.RangeRequest{Key: key, KeysOnly: true}},
		"versions": {func() error { return c.Versions(t.Context(), [][]byte{key, end}, make([]int64, 2)) }, &pb.RangeRequest{Key: key, RangeEnd: []byte("l\x00"), Limit: 2, KeysOnly: true}},
	} {
		err := tt.do()
		if _, class := database.Classify(err); err != nil && class != database.ClassNotFound {
			t.Errorf("%s: %v", name, err)
		}
		if got := m.read.Load(); !proto.Equal(got, tt.want) {
			t.Errorf("%s sent %v, want %v", name, got, tt.want)
		}
	}
}

// patience is how long anything may take on a busy machine: only a hang takes longer.
const patience = 5 * time.Minute

// TestEndpoints: a client for one endpoint asks that member alone, also after it died; a client for
// all asks all in turn, and the remaining ones when one dies.
func TestEndpoints(t *testing.T) {
	members := []*member{start(t), start(t), start(t)}
	one, all := dial(t, members[1]), dial(t, members...)
	read := operations()["get"]
	for range 10 {
		if err := read(t.Context(), one); err != nil {
			t.Fatalf("read over one endpoint: %v", err)
		}
	}
	if a, b, c := members[0].requests.Load(), members[1].requests.Load(), members[2].requests.Load(); a != 0 || b != 10 || c != 0 {
		t.Errorf("the members were asked %d, %d and %d times by a client of the second, want 0, 10, 0", a, b, c)
	}
	deadline := time.Now().Add(patience)
	for !slices.ContainsFunc(members, func(m *member) bool { return m.requests.Load() > 20 }) || members[0].requests.Load() == 0 || members[2].requests.Load() == 0 {
		if err := read(t.Context(), all); err != nil || time.Now().After(deadline) {
			t.Fatalf("read over all endpoints: %v; want each member to be asked", err)
		}
	}
	members[1].stop()
	for n := range 30 {
		if err := read(t.Context(), all); err != nil {
			t.Fatalf("read %d after a member of three died: %v", n, err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	err := operations()["put"](ctx, one)
	if outcome, class := database.Classify(err); outcome == workload.OK || class == database.ClassOther {
		t.Errorf("a write to the dead member: %v %q: %v; want a failure with a class of its own", outcome, class, err)
	}
	for over := time.Now().Add(patience); ; {
		again, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		err := operations()["put"](again, one)
		cancel()
		outcome, class := database.Classify(err)
		if outcome == workload.Failed && class == database.ClassTimeout {
			break
		}
		if time.Now().After(over) {
			t.Fatalf("a write without a connection: %v %q: %v; want failed %q, as it waits and is never sent", outcome, class, err, database.ClassTimeout)
		}
	}
}

// TestDialNobody: the library would wait.
func TestDialNobody(t *testing.T) {
	m := start(t)
	m.stop()
	for name, auth := range map[string]*database.Auth{"no credentials": nil, "credentials": {User: "a", Password: "b"}} {
		c, err := Dial(t.Context(), Config{Endpoints: []string{m.address}, Auth: auth})
		if err == nil {
			_ = c.Close()
			t.Fatalf("%s: a dead endpoint was dialed", name)
		}
		if outcome, class := database.Classify(err); outcome != workload.Failed || class != database.ClassUnavailable {
			t.Errorf("%s: %v %q, want failed %q at once: %v", name, outcome, class, database.ClassUnavailable, err)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Dial(ended, Config{Endpoints: []string{start(t).address}}); err == nil {
		t.Error("a dial whose context has ended must fail")
	}
}

// TestClosed: calls to a closed client fail at once, where the library would try a hundred times.
func TestClosed(t *testing.T) {
	m := start(t)
	c := dial(t, m)
	if err := c.Close(); err != nil {
		t.Fatalf("close: %v", err)
	}
	for name, do := range operations() {
		if outcome, _ := database.Classify(do(t.Context(), c)); outcome != workload.Failed {
			t.Errorf("%s after the close is %v, want failed", name, outcome)
		}
	}
	if n := m.requests.Load(); n != 0 || c.Resent() != 0 {
		t.Errorf("%d requests were sent after the close, %d of them again", n, c.Resent())
	}
}
