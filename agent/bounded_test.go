package agent_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/coreos/dbtester/agent"
	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/process"
	"github.com/coreos/dbtester/pkg/sleep/slowtest"
)

// Toy is a toy whose options other types can embed.
type Toy = toy

// stuck is a toy whose driver ignores contexts: Plan or Ready return when the test releases them.
type stuck struct {
	Toy  `yaml:",inline"`
	Hang string `yaml:"hang"`

	entered chan<- string
	release <-chan struct{}
}

func (d *stuck) hang(where string) {
	if d.Hang == where {
		d.entered <- where
		<-d.release
	}
}

func (d *stuck) Plan(m database.Member) (database.Plan, error) {
	d.hang("plan")
	return d.Toy.Plan(m)
}

func (d *stuck) Ready(ctx context.Context, t database.Target, member int) error {
	d.hang("ready")
	return d.Toy.Ready(ctx, t, member)
}

// blocked is a harness with a verb in it that waits forever.
type blocked struct {
	*harness
	verbs   pb.AgentServer // without gRPC
	entered chan string
	// children outlive the request to end them, so the test ends them.
	children []*pb.Child
	// silence ends run1's heartbeats.
	silence func()
}

func (b *blocked) request(options string) *pb.StartRequest {
	req := request(b.t, "run1", options)
	req.Database = "stuck"
	return req
}

// deaf is a stream whose client does not read.
type deaf[T any] struct {
	grpc.ServerStream
	ctx     context.Context
	entered chan<- string
	release <-chan struct{}
}

func (s *deaf[T]) Context() context.Context { return s.ctx }

func (s *deaf[T]) Send(*T) error {
	s.entered <- "send"
	<-s.release
	return errors.New("the client is gone")
}

// Every verb that waits forever ends soon after its session or its agent.
func TestVerbsEnd(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	const lease = 3 * time.Second
	closed := func(b *blocked) {
		go b.Close(context.Background(), &pb.CloseRequest{RunId: "run1"}) //nolint:errcheck // the verb's end is what counts
	}
	term := func(b *blocked) {
		ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
		defer cancel()
		_ = b.agent.Close(ctx) // children may outlive it
	}
	leased := func(b *blocked) {
		b.awaitOpen("run2") // the next run's, once the lease has ended
	}
	stubborn := func(b *blocked) {
		b.open("run1")
		b.children = b.start(b.request("{stubborn: true}")).Children
	}
	for _, test := range []struct {
		verb string
		// before prepares the session, call is the verb.
		before func(*blocked)
		call   func(context.Context, *blocked) error
		ends   map[string]func(*blocked)
	}{
		{
			verb: "Open", before: stubborn, ends: map[string]func(*blocked){"TERM": term},
			call: func(ctx context.Context, b *blocked) error {
				b.silence()
				b.await("end of the lease", func(r *pb.StatusResponse) bool { return r.State == pb.State_STATE_STOPPING })
				b.entered <- "open"
				_, err := b.verbs.Open(ctx, &pb.OpenRequest{RunId: "run2"})
				return err
			},
		},
		{
			verb: "Install", before: func(b *blocked) { b.open("run1") },
			ends: map[string]func(*blocked){"Close": closed, "TERM": term, "lease": leased},
			call: func(ctx context.Context, b *blocked) error {
				stream := &deaf[pb.InstallProgress]{ctx: ctx, entered: b.entered, release: ctx.Done()}
				return b.verbs.Install(&pb.InstallRequest{RunId: "run1", Database: "toy", Version: "3.0"}, stream)
			},
		},
		{
			verb: "Start", before: func(b *blocked) { b.open("run1") },
			ends: map[string]func(*blocked){"Close": closed, "TERM": term, "lease": leased},
			call: func(ctx context.Context, b *blocked) error {
				_, err := b.verbs.Start(ctx, b.request("{hang: plan}"))
				return err
			},
		},
		{
			verb: "Status", ends: map[string]func(*blocked){"Close": closed, "TERM": term, "lease": leased},
			before: func(b *blocked) {
				b.open("run1")
				b.start(b.request("{hang: ready}"))
			},
			call: func(ctx context.Context, b *blocked) error {
				_, err := b.verbs.Status(ctx, &pb.StatusRequest{RunId: "run1", Probe: true})
				return err
			},
		},
		{
			verb: "Stop", before: stubborn, ends: map[string]func(*blocked){"TERM": term},
			call: func(ctx context.Context, b *blocked) error {
				b.entered <- "stop"
				_, err := b.verbs.Stop(ctx, &pb.StopRequest{RunId: "run1"})
				return err
			},
		},
		{
			verb: "Close", before: stubborn, ends: map[string]func(*blocked){"TERM": term},
			call: func(ctx context.Context, b *blocked) error {
				b.entered <- "close"
				_, err := b.verbs.Close(ctx, &pb.CloseRequest{RunId: "run1"})
				return err
			},
		},
		{
			verb: "Collect", ends: map[string]func(*blocked){"Close": closed, "TERM": term, "lease": leased},
			before: func(b *blocked) {
				b.open("run1")
				b.start(b.request(""))
			},
			call: func(ctx context.Context, b *blocked) error {
				stream := &deaf[pb.CollectChunk]{ctx: ctx, entered: b.entered, release: ctx.Done()}
				return b.verbs.Collect(&pb.CollectRequest{RunId: "run1"}, stream)
			},
		},
	} {
		for name, end := range test.ends {
			t.Run(test.verb+" by "+name, func(t *testing.T) {
				t.Parallel()
				b := newBlocked(t, func(o *agent.Options) {
					if name == "lease" || test.verb == "Open" {
						o.Lease = lease
					}
				})
				test.before(b)
				// The call itself does not end: only the agent can end it.
				ctx, cancel := context.WithCancel(context.Background())
				ended := make(chan error, 1)
				go func() { ended <- test.call(ctx, b) }()
				t.Cleanup(cancel)
				<-b.entered
				b.silence()
				end(b)
				select {
				case err := <-ended:
					if code := status.Code(err); code != codes.Unavailable && code != codes.Aborted {
						t.Errorf("%s ended with %v, want that its session or its agent is over", test.verb, err)
					}
				case <-time.After(patience):
					t.Errorf("%s still waits", test.verb)
				}
			})
		}
	}
}

// newBlocked returns a harness whose drivers hang until the test ends, and whose children have an
// hour to stop.
func newBlocked(t *testing.T, change func(*agent.Options)) *blocked {
	t.Helper()
	server := httptest.NewServer(http.NotFoundHandler())
	_, released := releases(t, server.URL+"/toy.tar.gz")
	entered, release := make(chan string, 100), make(chan struct{})
	b := &blocked{entered: entered}
	b.harness = serve(t, func(o *agent.Options) {
		released(o)
		toy, err := o.Registry.Get("toy")
		if err != nil {
			t.Fatal(err)
		}
		db := toyDatabase()
		db.Name = "stuck"
		db.New = func() database.Driver { return &stuck{entered: entered, release: release} }
		o.Registry = database.NewRegistry(toy, db)
		o.Grace = time.Millisecond
		o.Deadlines = process.Deadlines{Interrupt: time.Hour}
		change(o)
	})
	var direct capture
	b.agent.Register(&direct)
	b.verbs = direct.service
	b.silence = b.beats("run1")
	t.Cleanup(server.Close)
	t.Cleanup(func() {
		close(release)
		for _, c := range b.children {
			_ = syscall.Kill(int(c.Pid), syscall.SIGKILL)
		}
	})
	return b
}

// A pipe without a reader does not delay heartbeats.
func TestClientNumberPipe(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatalf("make a pipe: %v", err)
	}
	h := serve(t, func(o *agent.Options) { o.ClientNumPath = pipe })
	h.open("run1")
	var beats sync.WaitGroup
	for range 4 {
		beats.Go(func() {
			if _, err := h.beat("run1"); err != nil {
				t.Errorf("heartbeat: %v", err)
			}
		})
	}
	beats.Wait()
}
