package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/peer"
	"google.golang.org/protobuf/encoding/protodelim"

	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/trust/agentlink"
)

// wiretap forwards the calls for a generator to its agent, and writes the stream of each Run to a
// file: wiretap LISTEN AGENT FILE.
func wiretap() {
	file, err := os.Create(os.Args[3])
	fatal(err)
	conn, err := grpc.NewClient("passthrough:///"+os.Args[2], grpc.WithTransportCredentials(agentlink.Client{Insecure: true}.Credentials()))
	fatal(err)
	server := grpc.NewServer(agentlink.Server{Open: true}.Options()...)
	pb.RegisterGeneratorServer(server, &tap{agent: pb.NewGeneratorClient(conn), file: file})
	pb.RegisterAgentServer(server, statusTap{agent: pb.NewAgentClient(conn)})
	serveOn(server, os.Args[1])
}

// serveOn serves on some addresses until the process is killed.
func serveOn(server *grpc.Server, addrs ...string) {
	for _, addr := range addrs {
		l, err := net.Listen("tcp", addr)
		fatal(err)
		go func() { fatal(server.Serve(l)) }()
	}
	fmt.Fprintln(os.Stderr, "listens on", addrs)
	select {}
}

func fatal(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// statusTap answers whether the agent is one.
type statusTap struct {
	pb.UnimplementedAgentServer
	agent pb.AgentClient
}

func (t statusTap) Status(ctx context.Context, req *pb.StatusRequest) (*pb.StatusResponse, error) {
	return t.agent.Status(ctx, req)
}

// tap is the service of a wiretap.
type tap struct {
	pb.UnimplementedGeneratorServer
	agent pb.GeneratorClient
	mu    sync.Mutex // guards file
	file  *os.File
}

func (t *tap) Prepare(ctx context.Context, req *pb.PrepareRequest) (*pb.PrepareResponse, error) {
	return t.agent.Prepare(ctx, req)
}

func (t *tap) GeneratorHeartbeat(ctx context.Context, req *pb.GeneratorHeartbeatRequest) (*pb.GeneratorHeartbeatResponse, error) {
	return t.agent.GeneratorHeartbeat(ctx, req)
}

func (t *tap) Connect(ctx context.Context, req *pb.ConnectRequest) (*pb.ConnectResponse, error) {
	return t.agent.Connect(ctx, req)
}

func (t *tap) StopLoad(ctx context.Context, req *pb.StopLoadRequest) (*pb.StopLoadResponse, error) {
	return t.agent.StopLoad(ctx, req)
}

func (t *tap) CloseLoad(ctx context.Context, req *pb.CloseLoadRequest) (*pb.CloseLoadResponse, error) {
	return t.agent.CloseLoad(ctx, req)
}

func (t *tap) Preload(req *pb.PreloadRequest, to grpc.ServerStreamingServer[pb.PreloadProgress]) error {
	from, err := t.agent.Preload(to.Context(), req)
	return pass(from, err, to.Send)
}

func (t *tap) Judge(req *pb.JudgeRequest, to grpc.ServerStreamingServer[pb.JudgeResponse]) error {
	from, err := t.agent.Judge(to.Context(), req)
	return pass(from, err, to.Send)
}

func (t *tap) Run(req *pb.RunRequest, to grpc.ServerStreamingServer[pb.RunResponse]) error {
	from, err := t.agent.Run(to.Context(), req)
	return pass(from, err, func(m *pb.RunResponse) error {
		t.mu.Lock()
		_, err := protodelim.MarshalTo(t.file, m)
		t.mu.Unlock()
		return errors.Join(err, to.Send(m))
	})
}

// pass forwards messages until their stream ends.
func pass[M any](from grpc.ServerStreamingClient[M], err error, send func(*M) error) error {
	for err == nil {
		var m *M
		if m, err = from.Recv(); err == nil {
			err = send(m)
		}
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// eachTapped calls do with the messages in a wiretap file.
func eachTapped(t *testing.T, path string, do func(*pb.RunResponse)) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatalf("open the messages: %v", err)
	}
	defer file.Close()
	for r := bufio.NewReader(file); ; {
		m := &pb.RunResponse{}
		switch err := protodelim.UnmarshalFrom(r, m); {
		case errors.Is(err, io.EOF):
			return
		case err != nil:
			t.Fatalf("read the messages of %s: %v", path, err)
		}
		do(m)
	}
}

// ledger is a server that speaks as much of the etcd protocol as a load needs, and writes a line
// for each request: ledger FILE ADDRESS... All addresses serve one store. With - for FILE it writes
// nothing, and stores [fewKeys] keys, the first being the prefix claim.
func ledger() {
	l := &ledgerServer{keys: map[string][]byte{}}
	if os.Args[1] != "-" {
		var err error
		l.file, err = os.Create(os.Args[1])
		fatal(err)
	}
	server := grpc.NewServer()
	etcdserverpb.RegisterKVServer(server, l)
	etcdserverpb.RegisterMaintenanceServer(server, l)
	serveOn(server, os.Args[2:]...)
}

const fewKeys = 10

type ledgerServer struct {
	etcdserverpb.UnimplementedKVServer
	etcdserverpb.UnimplementedMaintenanceServer

	mu   sync.Mutex // guards the fields below
	file *os.File
	keys map[string][]byte
}

// entry is one request in a ledger.
type entry struct {
	At      int64 // unix nanoseconds
	From    string
	Request string // operation, key and value hash
}

func (l *ledgerServer) note(ctx context.Context, op string, key, value []byte) {
	at := time.Now().UnixNano()
	h := fnv.New64a()
	h.Write(value)
	from := ""
	if p, ok := peer.FromContext(ctx); ok {
		from, _, _ = net.SplitHostPort(p.Addr.String())
	}
	_, err := fmt.Fprintf(l.file, "%d %s %s %q %x\n", at, from, op, key, h.Sum64())
	fatal(err)
}

func (l *ledgerServer) Put(ctx context.Context, r *etcdserverpb.PutRequest) (*etcdserverpb.PutResponse, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file != nil {
		l.note(ctx, "put", r.Key, r.Value)
	}
	if _, known := l.keys[string(r.Key)]; known || l.file != nil || len(l.keys) < fewKeys {
		l.keys[string(r.Key)] = r.Value
	}
	return &etcdserverpb.PutResponse{Header: ledgerHeader()}, nil
}

func (l *ledgerServer) Range(ctx context.Context, r *etcdserverpb.RangeRequest) (*etcdserverpb.RangeResponse, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	first, end := string(r.Key), string(r.RangeEnd)
	if end == "" {
		end = first + "\x00"
		if l.file != nil && !strings.HasSuffix(first, "/") { // else a probe, and no key in a load
			l.note(ctx, "get", r.Key, nil)
		}
	}
	answer := &etcdserverpb.RangeResponse{Header: ledgerHeader()}
	for _, k := range slices.Sorted(maps.Keys(l.keys)) {
		if k >= first && (k < end || end == "\x00") {
			answer.Count++
			answer.Kvs = append(answer.Kvs, &mvccpb.KeyValue{Key: []byte(k), Value: l.keys[k]})
		}
	}
	if r.SortOrder == etcdserverpb.RangeRequest_DESCEND {
		slices.Reverse(answer.Kvs)
	}
	if n := int(r.Limit); n > 0 && len(answer.Kvs) > n {
		answer.Kvs, answer.More = answer.Kvs[:n], true
	}
	if r.CountOnly {
		answer.Kvs = nil
	}
	return answer, nil
}

func (l *ledgerServer) Status(context.Context, *etcdserverpb.StatusRequest) (*etcdserverpb.StatusResponse, error) {
	return &etcdserverpb.StatusResponse{Header: ledgerHeader(), Version: "3.6.0", Leader: 1, RaftTerm: 1, RaftIndex: 1}, nil
}

func ledgerHeader() *etcdserverpb.ResponseHeader {
	return &etcdserverpb.ResponseHeader{ClusterId: 1, MemberId: 1, Revision: 1, RaftTerm: 1}
}

// readLedger reads a ledger up to its last whole line.
func readLedger(t testing.TB, path string) (entries []entry) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("read the ledger: %v", err)
	}
	for line := range strings.Lines(string(data)) {
		var e entry
		if _, err := fmt.Sscanf(line, "%d %s", &e.At, &e.From); err != nil || !strings.HasSuffix(line, "\n") {
			break
		}
		_, e.Request, _ = strings.Cut(line, e.From+" ")
		entries = append(entries, e)
	}
	return entries
}
