package agentlink_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/trust/agentlink"
	"github.com/coreos/dbtester/pkg/trust/certs"
	"github.com/coreos/dbtester/pkg/trust/usertoken"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// watched is a log that is read while it is written.
type watched struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (w *watched) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.Write(p)
}

func (w *watched) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

// site is a machine with certificates and a token, and the log of its agents.
type site struct {
	t       *testing.T
	certs   certs.Folder
	control *certs.Source
	token   string // path
	log     *watched
}

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{t: t, certs: certs.Folder{Path: filepath.Join(t.TempDir(), "certs"), Now: time.Now()}, token: filepath.Join(t.TempDir(), "token"), log: &watched{}}
	if _, err := s.certs.Init([]string{"127.0.0.1"}); err != nil {
		t.Fatalf("make certificates: %v", err)
	}
	s.control = s.source(certs.DirControl, certs.RoleControl)
	return s
}

func (s *site) source(dir string, role certs.Role) *certs.Source {
	s.t.Helper()
	source, err := certs.Open(certs.In(filepath.Join(s.certs.Path, dir)), role, nil)
	if err != nil {
		s.t.Fatalf("open certificates: %v", err)
	}
	return source
}

func (s *site) ensure() usertoken.Token {
	s.t.Helper()
	token, err := usertoken.Ensure(s.token)
	if err != nil {
		s.t.Fatalf("make a token: %v", err)
	}
	return token
}

func (s *site) known() (usertoken.Token, error) { return usertoken.Read(s.token) }

// agents returns an agent for each way to admit callers: with certificates, with a token, open, and
// one that admits no caller.
func (s *site) agents() map[string]agentlink.Server {
	return map[string]agentlink.Server{
		"TLS":   {Certs: s.source("agent-127.0.0.1", certs.RoleAgent)},
		"token": {Token: s.ensure()},
		"open":  {Open: true},
		"none":  {},
	}
}

// serve serves an agent that refuses every verb, and returns its address.
func (s *site) serve(link agentlink.Server, options ...grpc.ServerOption) string {
	s.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		s.t.Fatalf("listen on the address: %v", err)
	}
	link.Log = slog.New(slog.NewTextHandler(s.log, nil))
	server := grpc.NewServer(append(link.Options(), options...)...)
	pb.RegisterAgentServer(server, pb.UnimplementedAgentServer{})
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	s.t.Cleanup(func() { server.Stop(); <-served })
	return l.Addr().String()
}

// patience is how long anything may take on a busy machine: only a hang takes longer.
const patience = 2 * time.Minute

// call calls a verb. The agent lets it in if the answer is "not implemented".
func call(t *testing.T, addr string, creds credentials.TransportCredentials) error {
	t.Helper()
	conn, err := grpc.NewClient("passthrough:///"+addr, grpc.WithTransportCredentials(creds))
	if err != nil {
		t.Fatalf("make a gRPC client: %v", err)
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	_, err = pb.NewAgentClient(conn).Status(ctx, &pb.StatusRequest{})
	return err
}

func wantLetIn(t *testing.T, what string, err error) {
	t.Helper()
	if status.Code(err) != codes.Unimplemented {
		t.Errorf("%s must be let in: %v", what, err)
	}
}

func wantRefused(t *testing.T, what string, err error, text string) {
	t.Helper()
	if code := status.Code(err); code != codes.Unavailable && code != codes.Unauthenticated || !strings.Contains(err.Error(), text) {
		t.Errorf("%s: must be refused with %q: %v", what, text, err)
	}
}

// Every kind of caller meets every kind of agent.
func TestWhoIsLetIn(t *testing.T) {
	s, stranger := newSite(t), newSite(t)
	stranger.ensure()
	agents := s.agents()
	plaintext := func(string) credentials.TransportCredentials { return insecure.NewCredentials() }
	of := func(c agentlink.Client) func(string) credentials.TransportCredentials {
		return func(string) credentials.TransportCredentials { return c.Credentials() }
	}
	naked := func(string) credentials.TransportCredentials {
		config := s.control.Client("127.0.0.1")
		config.GetClientCertificate = nil
		return credentials.NewTLS(config)
	}
	asControl := func(string) credentials.TransportCredentials {
		config := s.control.Client("127.0.0.1")
		pair, err := tls.LoadX509KeyPair(filepath.Join(s.certs.Path, "agent-127.0.0.1", certs.FileCert), filepath.Join(s.certs.Path, "agent-127.0.0.1", certs.FileKey))
		if err != nil {
			t.Fatalf("read the agent's certificate: %v", err)
		}
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }
		return credentials.NewTLS(config)
	}
	for _, test := range []struct {
		caller string
		creds  func(string) credentials.TransportCredentials
		// wants is why each kind of agent refuses, "" if it lets in.
		wants map[string]string
	}{
		{"control with certificates", of(agentlink.Client{Certs: s.control}),
			map[string]string{"TLS": "", "token": "it does not speak TLS", "open": "it does not speak TLS", "none": "it does not speak TLS"}},
		{"control with the token", of(agentlink.Client{Token: s.known}),
			map[string]string{"TLS": "it demands TLS (control --certs)", "token": "", "open": "pass --insecure to control too", "none": "it closed the connection"}},
		{"control with --insecure", of(agentlink.Client{Token: s.known, Insecure: true}),
			map[string]string{"TLS": "it demands TLS (control --certs)", "token": "", "open": "", "none": "it closed the connection"}},
		{"another user", of(agentlink.Client{Token: stranger.known, Insecure: true}),
			map[string]string{"TLS": "it demands TLS", "token": "it does not know this user's token: another user runs it", "open": "", "none": "it closed the connection"}},
		{"control of another CA", of(agentlink.Client{Certs: stranger.control}),
			map[string]string{"TLS": "its certificate is not signed by dbtester CA", "token": "it does not speak TLS", "open": "it does not speak TLS", "none": "it does not speak TLS"}},
		{"TLS without a certificate", naked,
			map[string]string{"TLS": "certificate required", "token": "first record does not look like a TLS handshake", "open": "first record does not look", "none": "first record does not look"}},
		{"an agent's certificate", asControl,
			map[string]string{"TLS": "bad certificate", "token": "first record does not look like a TLS handshake", "open": "first record does not look", "none": "first record does not look"}},
		{"plaintext", plaintext,
			map[string]string{"TLS": "this agent demands TLS", "token": "this agent demands a proof of its user's token", "open": "", "none": "this agent demands a proof"}},
	} {
		for kind, want := range test.wants {
			addr := s.serve(agents[kind])
			err := call(t, addr, test.creds(addr))
			// Where the machine stands still, the connection may be gone before the caller
			// reads why.
			for range 20 {
				if text := fmt.Sprint(err); strings.Contains(text, want) || !strings.Contains(text, "broken pipe") && !strings.Contains(text, "reset by peer") && !strings.Contains(text, "EOF") {
					break
				}
				err = call(t, addr, test.creds(addr))
			}
			if what := test.caller + " to an agent with " + kind; want == "" {
				wantLetIn(t, what, err)
			} else {
				wantRefused(t, what, err, want)
			}
		}
	}
	text, err := os.ReadFile(s.token)
	if err != nil {
		t.Fatalf("read the token: %v", err)
	}
	for _, secret := range []string{strings.TrimSpace(string(text)), "PRIVATE KEY"} {
		if strings.Contains(s.log.String(), secret) {
			t.Errorf("the log holds a secret:\n%s", s.log)
		}
	}
	if !strings.Contains(s.log.String(), "connection refused") {
		t.Errorf("refused connections are not logged:\n%s", s.log)
	}
}

// The agent names why it refuses, with the address of the caller.
func TestRefusalsAreLogged(t *testing.T) {
	s := newSite(t)
	addr := s.serve(s.agents()["TLS"])
	config := s.control.Client("127.0.0.1")
	config.GetClientCertificate = nil
	if err := call(t, addr, credentials.NewTLS(config)); err == nil {
		t.Fatalf("a caller without a certificate is let in")
	}
	// The caller reads the alert before the agent writes its log.
	text := s.log.String()
	for range 3000 {
		if strings.Contains(text, "from=127.0.0.1:") && strings.Contains(text, `reason="it showed no certificate"`) {
			return
		}
		time.Sleep(10 * time.Millisecond)
		text = s.log.String()
	}
	t.Errorf("log: %s", text)
}

// A connection that is let in does not outlast the CA of its certificate.
func TestReplacedCA(t *testing.T) {
	s := newSite(t)
	addr := s.serve(s.agents()["TLS"])
	conn, err := grpc.NewClient("passthrough:///"+addr, grpc.WithTransportCredentials(agentlink.Client{Certs: s.control}.Credentials()))
	if err != nil {
		t.Fatalf("make a gRPC client: %v", err)
	}
	defer conn.Close()
	client := pb.NewAgentClient(conn)
	_, err = client.Status(t.Context(), &pb.StatusRequest{})
	wantLetIn(t, "control", err)
	// The agent gets files from a new CA; control keeps its own.
	other := newSite(t)
	for _, name := range []string{certs.FileCA, certs.FileCert, certs.FileKey} {
		if err := os.Rename(filepath.Join(other.certs.Path, "agent-127.0.0.1", name), filepath.Join(s.certs.Path, "agent-127.0.0.1", name)); err != nil {
			t.Fatalf("replace a file: %v", err)
		}
	}
	_, err = client.Status(t.Context(), &pb.StatusRequest{})
	wantRefused(t, "the same connection later", err, "the caller is not let in any more: its certificate is not signed by dbtester CA")
	stream, err := client.Collect(t.Context(), &pb.CollectRequest{})
	if err == nil {
		_, err = stream.Recv()
	}
	wantRefused(t, "a stream on it", err, "the caller is not let in any more")
	wantLetIn(t, "control of the new CA", call(t, addr, agentlink.Client{Certs: other.control}.Credentials()))
}

// Callers who send nothing, or byte by byte, cost no more than a bounded number of connections for
// a bounded time.
func TestSlowCallers(t *testing.T) {
	s := newSite(t)
	for kind, link := range s.agents() {
		addr := s.serve(link, grpc.ConnectionTimeout(300*time.Millisecond))
		var conns []net.Conn
		for i := range 20 {
			conn, err := net.Dial("tcp", addr)
			if err != nil {
				t.Fatalf("dial the agent: %v", err)
			}
			defer conn.Close()
			// On a busy machine the connection is closed already.
			_, _ = conn.Write([]byte(usertoken.Hello + strings.Repeat("x", 40))[:i*2])
			conns = append(conns, conn)
		}
		for i, conn := range conns {
			if err := conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
				t.Fatalf("set a deadline: %v", err)
			}
			for b := make([]byte, 256); ; {
				if _, err := conn.Read(b); err != nil {
					if timeout, ok := err.(net.Error); ok && timeout.Timeout() {
						t.Errorf("agent with %s: connection %d is still open", kind, i)
					}
					break
				}
			}
		}
	}
}

// A caller that goes on after it was refused learns why each time: the connection that
// brought the answer takes no further call with it.
func TestRefusedCallsInARow(t *testing.T) {
	s := newSite(t)
	conn, err := grpc.NewClient("passthrough:///"+s.serve(agentlink.Server{Token: s.ensure()}), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatalf("make a client: %v", err)
	}
	defer conn.Close()
	const lingering = 5 * time.Second // the agent waits no longer for a call
	late := 0
	for i := range 200 {
		began := time.Now()
		_, err := pb.NewAgentClient(conn).Status(t.Context(), &pb.StatusRequest{})
		if status.Code(err) == codes.Unavailable && time.Since(began) >= lingering && late < 20 { // a busy machine
			late++
			continue
		}
		if status.Code(err) != codes.Unauthenticated {
			t.Fatalf("call %d in a row: %v", i, err)
		}
	}
}

// Control must not send anything in plaintext to a name that is another machine.
func TestOtherMachine(t *testing.T) {
	s := newSite(t)
	s.ensure()
	addr := s.serve(agentlink.Server{Open: true})
	creds := agentlink.Client{Token: s.known}.Credentials()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatalf("dial the agent: %v", err)
	}
	defer conn.Close()
	if _, _, err := creds.ClientHandshake(t.Context(), "far.example:3500", farConn{conn}); err == nil || !strings.Contains(err.Error(), "far.example is on another machine (10.9.8.7:3500) and would be contacted without TLS") {
		t.Errorf("a name of another machine: %v", err)
	}
}

// farConn is a connection that seems to lead to another machine.
type farConn struct{ net.Conn }

func (farConn) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(10, 9, 8, 7), Port: 3500} }
