package agentlink_test

import (
	"bytes"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/trust/agentlink"
	"github.com/coreos/dbtester/pkg/trust/certs"
	"github.com/coreos/dbtester/pkg/trust/usertoken"
)

// script is the agent end of a connection on which the caller has sent some bytes and nothing more.
type script struct {
	net.Conn // nil: its other methods are not called
	in       *bytes.Reader
	out      int
}

func (s *script) Read(p []byte) (int, error)      { return s.in.Read(p) }
func (s *script) Close() error                    { return nil }
func (s *script) LocalAddr() net.Addr             { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 3500} }
func (s *script) RemoteAddr() net.Addr            { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 40000} }
func (s *script) SetDeadline(time.Time) error     { return nil }
func (s *script) SetReadDeadline(time.Time) error { return nil }

func (s *script) Write(p []byte) (int, error) {
	s.out += len(p)
	return len(p), nil
}

// Whatever a caller sends, it is not let in without the credential, and the answer is
// short.
func FuzzServerHandshake(f *testing.F) {
	folder := certs.Folder{Path: filepath.Join(f.TempDir(), "certs"), Now: time.Now()}
	if _, err := folder.Init([]string{"127.0.0.1"}); err != nil {
		f.Fatalf("make certificates: %v", err)
	}
	source, err := certs.Open(certs.In(filepath.Join(folder.Path, "agent-127.0.0.1")), certs.RoleAgent, nil)
	if err != nil {
		f.Fatalf("open certificates: %v", err)
	}
	token, err := usertoken.Ensure(filepath.Join(f.TempDir(), "token"))
	if err != nil {
		f.Fatalf("make a token: %v", err)
	}
	preface := "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
	for _, seed := range []string{
		"", "x", usertoken.Hello, usertoken.Hello + strings.Repeat("x", 64), usertoken.Hello + strings.Repeat("\x00", 200),
		preface, preface + "\x00\x00\x00\x04\x00\x00\x00\x00\x00", preface + "\x00\x00\x01\x01\x04\x00\x00\x00\x01\x82", preface + "\xff\xff\xff\x01\x04\x00\x00\x00\x01",
		"\x16\x03\x01\x00\x10" + strings.Repeat("a", 64), "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, sent []byte) {
		for kind, server := range map[string]agentlink.Server{"TLS": {Certs: source}, "token": {Token: token}, "none": {}} {
			conn := &script{in: bytes.NewReader(sent)}
			if _, _, err := server.Credentials().ServerHandshake(conn); err == nil {
				t.Errorf("an agent with %s lets in %q", kind, sent)
			}
			if conn.out > 4096 {
				t.Errorf("an agent with %s answers with %d bytes", kind, conn.out)
			}
		}
		conn := &script{in: bytes.NewReader(sent)}
		safe, _, err := agentlink.Server{Open: true}.Credentials().ServerHandshake(conn)
		if err != nil || bytes.HasPrefix(sent, []byte(usertoken.Hello)) {
			return
		}
		if got, err := io.ReadAll(safe); err != nil || !bytes.Equal(got, sent) {
			t.Errorf("an open agent reads %q, %v, sent was %q", got, err, sent)
		}
	})
}
