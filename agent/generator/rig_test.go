package generator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/workload"
)

// store is a database that records its requests.
type store struct {
	mu       sync.Mutex
	m        map[string][]byte
	asked    map[string]int // requests by what they were
	open     int            // connections
	byMember map[int]int    // connections that were opened
	refuses  map[int]bool   // members that take no connection
	auth     *database.Auth // for the last connection
	takes    time.Duration  // a request
	panics   string         // the call that panics: "put" or "dial"
}

func newStore() *store {
	return &store{m: map[string][]byte{}, asked: map[string]int{}, byMember: map[int]int{}, refuses: map[int]bool{}}
}

// registry lists the store as a database with clients only.
func (s *store) registry() *database.Registry {
	return database.NewRegistry(database.Database{Name: "store", New: func() database.Driver { return &storeDriver{store: s} }})
}

// connections returns the number of open connections.
func (s *store) connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open
}

// requests returns the recorded requests, and clears them.
func (s *store) requests() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := s.asked
	s.asked = map[string]int{}
	return asked
}

// note counts a request, and takes the request time.
func (s *store) note(what string, key, value []byte) {
	h := fnv.New64a()
	h.Write(value)
	s.mu.Lock()
	s.asked[fmt.Sprintf("%s %s %x", what, key, h.Sum64())]++
	panics := s.panics == what
	s.mu.Unlock()
	if panics {
		panic("no such row")
	}
	time.Sleep(s.takes)
}

type storeDriver struct{ store *store }

var _ database.Bulker = (*storeDriver)(nil)

func (d *storeDriver) Plan(database.Member) (database.Plan, error) {
	return database.Plan{}, errors.New("the store has no members")
}

func (d *storeDriver) Ready(context.Context, database.Target, int) error { return nil }

func (d *storeDriver) Dial(_ context.Context, t database.Target) (database.Client, error) {
	s := d.store
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.refuses[t.Prefer]:
		return nil, errors.New("no more connections")
	case s.panics == "dial":
		panic("no such host")
	}
	s.open++
	s.byMember[t.Prefer]++
	s.auth = t.Auth
	return &storeClient{s, t.Prefer}, nil
}

func (d *storeDriver) BulkSize(int, int) int { return 7 }

func (d *storeDriver) DialBulk(ctx context.Context, t database.Target) (database.Bulk, error) {
	c, err := d.Dial(ctx, t)
	if err != nil {
		return nil, err
	}
	return c.(*storeClient), nil
}

type storeClient struct {
	store  *store
	member int
}

func (c *storeClient) Put(_ context.Context, key, value []byte) error {
	c.store.note("put", key, value)
	c.store.mu.Lock()
	defer c.store.mu.Unlock()
	c.store.m[string(key)] = append([]byte(nil), value...)
	return nil
}

func (c *storeClient) PutAll(ctx context.Context, pairs []database.Pair) error {
	for _, p := range pairs {
		if err := c.Put(ctx, p.Key, p.Value); err != nil {
			return err
		}
	}
	return nil
}

func (c *storeClient) Get(_ context.Context, key []byte, _ workload.ReadMode) ([]byte, error) {
	c.store.note("get", key, nil)
	c.store.mu.Lock()
	defer c.store.mu.Unlock()
	if v, ok := c.store.m[string(key)]; ok {
		return v, nil
	}
	return nil, database.ErrNotFound
}

func (c *storeClient) Member() int { return c.member }

func (c *storeClient) Close() error {
	c.store.mu.Lock()
	defer c.store.mu.Unlock()
	c.store.open--
	return nil
}

// serve returns a client for a new generator, which is closed when the test ends.
func serve(t *testing.T, o Options) pb.GeneratorClient {
	t.Helper()
	g, err := New(o)
	if err != nil {
		t.Fatalf("make the generator: %v", err)
	}
	server, listener := grpc.NewServer(), bufconn.Listen(1<<20)
	g.Register(server)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	conn, err := grpc.NewClient("passthrough:///generator",
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatalf("make the client: %v", err)
	}
	t.Cleanup(func() {
		if err := g.Close(context.Background()); err != nil {
			t.Errorf("close the generator: %v", err)
		}
		if err := conn.Close(); err != nil {
			t.Errorf("close the client: %v", err)
		}
		server.Stop()
		<-served
	})
	return pb.NewGeneratorClient(conn)
}

// allowed are the options for a generator of s, which may read everything.
func allowed(s *store) Options {
	return Options{Registry: s.registry(), Allowed: true, Version: "v1", Targets: Targets{reserved: true, texts: []string{Reserved}}, Secrets: Secrets{Dirs: []string{"/"}, Variables: []string{"DBTESTER_TEST_NONE"}}}
}

// prepare returns a request for a part of a load.
func prepare(t *testing.T, run string, l workload.Load, part, parts int) *pb.PrepareRequest {
	t.Helper()
	data, err := json.Marshal(l)
	if err != nil {
		t.Fatalf("encode the load: %v", err)
	}
	return &pb.PrepareRequest{
		RunId: run, Owner: "me@here " + run, Version: "v1", Database: "store", Load: data, Seed: 5,
		Part: int32(part), Parts: int32(parts), Endpoints: []string{"127.0.0.1:1", "127.0.0.2:1", "127.0.0.3:1"},
		Reserved: []string{"127.0.0.1", "127.0.0.2", "127.0.0.3"},
	}
}

// members are the members in every request.
var members = []int32{0, 1, 2}

// mustPrepare opens a session.
func mustPrepare(t *testing.T, c pb.GeneratorClient, req *pb.PrepareRequest) *pb.PrepareResponse {
	t.Helper()
	resp, err := c.Prepare(t.Context(), req)
	if err != nil {
		t.Fatalf("prepare: %v", err)
	}
	return resp
}

// mustConnect opens the connections of the step.
func mustConnect(t *testing.T, c pb.GeneratorClient, run string, step *pb.LoadStep) *pb.ConnectResponse {
	t.Helper()
	resp, err := c.Connect(t.Context(), &pb.ConnectRequest{RunId: run, Step: step, Members: members})
	if err != nil || resp.GetRefused() != nil {
		t.Fatalf("connect: %v, error %v", resp, err)
	}
	return resp
}

// wantCode fails unless an error has this code and these texts.
func wantCode(t *testing.T, err error, code codes.Code, texts ...string) {
	t.Helper()
	if status.Code(err) != code {
		t.Errorf("error %v, want %v", err, code)
		return
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("error %v, want %q in it", err, text)
		}
	}
}

// eventually waits in virtual time until something holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for range 10_000 {
		if holds() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("%s: not so after 100 s", what)
}

// writes is a load that writes new keys.
func writes() workload.Load {
	return workload.Load{Content: workload.Content{Operation: workload.OpWrite}, Sizing: workload.Sizing{KeySize: 8, ValueSize: 32}, Limits: workload.Limits{Timeout: time.Minute, Drain: time.Minute}}
}

// password writes a password file.
func password(t *testing.T, text string) string {
	t.Helper()
	path := t.TempDir() + "/password"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatalf("write a file for the test: %v", err)
	}
	return path
}
