package certs_test

import (
	"bytes"
	"crypto/tls"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/trust/certs"
)

// handshake is one connection between an agent and a control: the errors on both sides, after each
// has read a byte from the other.
func handshake(t *testing.T, agent, control *tls.Config) (atAgent, atControl error) {
	t.Helper()
	left, right := net.Pipe()
	for _, c := range []net.Conn{left, right} {
		if err := c.SetDeadline(time.Now().Add(2 * time.Minute)); err != nil {
			t.Fatalf("set a deadline: %v", err)
		}
		defer c.Close()
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		c := tls.Server(left, agent)
		defer c.NetConn().Close()
		if atAgent = c.Handshake(); atAgent == nil {
			_, atAgent = c.Write([]byte{1})
		}
	})
	c := tls.Client(right, control)
	if atControl = c.Handshake(); atControl == nil {
		_, atControl = c.Read(make([]byte, 1))
	}
	right.Close()
	wg.Wait()
	return atAgent, atControl
}

func source(t *testing.T, dir string, role certs.Role, log *slog.Logger) *certs.Source {
	t.Helper()
	s, err := certs.Open(certs.In(dir), role, log)
	if err != nil {
		t.Fatalf("open the certificates: %v", err)
	}
	return s
}

// opened returns an agent and a control with one CA, and the agent log.
func opened(t *testing.T) (f certs.Folder, agent, control *certs.Source, log *bytes.Buffer) {
	t.Helper()
	f, log = folder(t, time.Now()), &bytes.Buffer{}
	agent = source(t, filepath.Join(f.Path, "agent-127.0.0.1"), certs.RoleAgent, slog.New(slog.NewTextHandler(log, nil)))
	control = source(t, filepath.Join(f.Path, "control"), certs.RoleControl, nil)
	return f, agent, control, log
}

// wantRefused checks a handshake that must fail at the agent, and the reasons.
func wantRefused(t *testing.T, what string, agent, control *certs.Source, config *tls.Config, reasons ...string) {
	t.Helper()
	atAgent, atControl := handshake(t, agent.Server(), config)
	if atAgent == nil {
		t.Errorf("%s: the agent lets it in", what)
		return
	}
	text := "agent: " + agent.Reason(atAgent, certs.RoleControl)
	if control != nil {
		text += "; control: " + control.Reason(atControl, certs.RoleAgent)
	}
	for _, want := range reasons {
		if !strings.Contains(text, want) {
			t.Errorf("%s: the reason must contain %q, got: %s", what, want, text)
		}
	}
}

func TestHandshake(t *testing.T) {
	f, agent, control, _ := opened(t)
	if a, c := handshake(t, agent.Server(), control.Client("127.0.0.1")); a != nil || c != nil {
		t.Fatalf("a good handshake: %v, %v", a, c)
	}
	_, err := handshake(t, agent.Server(), control.Client("127.0.0.2"))
	if got := control.Reason(err, certs.RoleAgent); got != "its certificate is for 127.0.0.1, not for 127.0.0.2" {
		t.Errorf("an agent of another host: %s", got)
	}
	none := control.Client("127.0.0.1")
	none.GetClientCertificate = nil
	wantRefused(t, "no certificate", agent, nil, none, "agent: it showed no certificate")
	old := control.Client("127.0.0.1")
	old.MinVersion, old.MaxVersion = tls.VersionTLS12, tls.VersionTLS12
	wantRefused(t, "TLS 1.2", agent, nil, old, "unsupported versions")

	_, _, stranger, _ := opened(t)
	trusting := stranger.Client("127.0.0.1")
	trusting.RootCAs = control.Client("").RootCAs
	wantRefused(t, "another CA", agent, stranger, trusting, "agent: its certificate is not signed by dbtester CA ", "control: the certificate shown to it", "is not of the CA that it trusts")
	_, err = handshake(t, agent.Server(), stranger.Client("127.0.0.1"))
	if got := stranger.Reason(err, certs.RoleAgent); !strings.Contains(got, "its certificate is not signed by dbtester CA ") {
		t.Errorf("an agent of another CA: %s", got)
	}

	asControl := control.Client("127.0.0.1")
	pair, err := tls.LoadX509KeyPair(filepath.Join(f.Path, "agent-db2.example", certs.FileCert), filepath.Join(f.Path, "agent-db2.example", certs.FileKey))
	if err != nil {
		t.Fatalf("read an agent's certificate: %v", err)
	}
	asControl.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }
	wantRefused(t, "an agent as control", agent, control, asControl, "agent: its certificate is for an agent, not for control", "control: it refuses the certificate")
}

// The files of one role serve no other, and a folder that does not fit is refused.
func TestOpenRefuses(t *testing.T) {
	f, _, _, _ := opened(t)
	agentDir := filepath.Join(f.Path, "agent-127.0.0.1")
	other := folder(t, time.Now())
	for name, test := range map[string]struct {
		files certs.Files
		role  certs.Role
		text  string
	}{
		"an agent's for control": {certs.In(agentDir), certs.RoleControl, "is for an agent, not for control"},
		"control's for an agent": {certs.In(filepath.Join(f.Path, "control")), certs.RoleAgent, "is for control, not for an agent"},
		"the CA's own":           {certs.Files{CA: filepath.Join(f.Path, "ca.pem"), Cert: filepath.Join(f.Path, "ca.pem"), Key: filepath.Join(f.Path, "ca-key.pem")}, certs.RoleControl, "is for a CA, not for control"},
		"no key":                 {certs.Files{CA: "a", Cert: "b"}, certs.RoleAgent, "key file is missing"},
		"another's key": {certs.Files{CA: filepath.Join(f.Path, "ca.pem"), Cert: filepath.Join(agentDir, "cert.pem"), Key: filepath.Join(f.Path, "control/key.pem")},
			certs.RoleAgent, "private key does not match"},
		"another CA": {certs.Files{CA: filepath.Join(other.Path, "ca.pem"), Cert: filepath.Join(agentDir, "cert.pem"), Key: filepath.Join(agentDir, "key.pem")},
			certs.RoleAgent, "was not issued by the CA in"},
		"absent": {certs.In(filepath.Join(f.Path, "agent-none")), certs.RoleAgent, "no such file"},
	} {
		if _, err := certs.Open(test.files, test.role, nil); err == nil || !strings.Contains(err.Error(), test.text) {
			t.Errorf("%s: %v, want %q", name, err, test.text)
		}
	}
	if err := os.Chmod(filepath.Join(agentDir, certs.FileKey), 0o644); err != nil {
		t.Fatalf("expose the key: %v", err)
	}
	if _, err := certs.Open(certs.In(agentDir), certs.RoleAgent, nil); err == nil || !strings.Contains(err.Error(), "has mode 0644: other users may read or change it") {
		t.Errorf("an exposed key: %v", err)
	}
}

// Expired certificates are refused on both sides, with hosts and times.
func TestExpired(t *testing.T) {
	past := folder(t, time.Now().Add(-366*24*time.Hour))
	now := past
	now.Now = time.Now()
	expired := certs.In(filepath.Join(past.Path, "agent-127.0.0.1"))
	if _, err := certs.Open(expired, certs.RoleAgent, nil); err == nil || !strings.Contains(err.Error(), "for 127.0.0.1 expired on ") || !strings.Contains(err.Error(), "(this machine's time is ") {
		t.Errorf("an expired certificate is opened: %v", err)
	}
	_, err := now.IssueAgent([]string{"127.0.0.2", "db2"})
	if err != nil {
		t.Fatalf("issue a certificate: %v", err)
	}
	agent := source(t, filepath.Join(past.Path, "agent-127.0.0.2"), certs.RoleAgent, nil)
	then := func() time.Time { return past.Now.Add(time.Hour) }
	control, err := certs.OpenAt(certs.In(filepath.Join(past.Path, "control")), certs.RoleControl, nil, then)
	if err != nil {
		t.Fatalf("open control's certificate of then: %v", err)
	}
	config := control.Client("127.0.0.2")
	config.Time = nil
	wantRefused(t, "an expired control", agent, control, config,
		"agent: its certificate (dbtester control) expired on ", "(this machine's time is ", "control: the certificate shown to it (", "is not valid by its clock")
	old, err := certs.OpenAt(expired, certs.RoleAgent, nil, then)
	if err != nil {
		t.Fatalf("open the agent's certificate of then: %v", err)
	}
	now.Force = true
	if _, err := now.IssueControl(); err != nil {
		t.Fatalf("issue a certificate: %v", err)
	}
	control = source(t, filepath.Join(past.Path, "control"), certs.RoleControl, nil)
	_, err = handshake(t, old.Server(), control.Client("127.0.0.1"))
	if got := control.Reason(err, certs.RoleAgent); !strings.HasPrefix(got, "its certificate (dbtester agent 127.0.0.1) for 127.0.0.1 expired on ") || !strings.Contains(got, "(this machine's time is ") {
		t.Errorf("an expired agent: %s", got)
	}
}

// Replaced files count from the next connection on, and callers with the old CA are out. Files that
// are broken or gone change nothing.
func TestReload(t *testing.T) {
	f, agent, control, log := opened(t)
	old := control.Client("127.0.0.1")
	leaf, err := old.GetClientCertificate(nil)
	if err != nil {
		t.Fatalf("get control's certificate: %v", err)
	}
	if err := agent.Trusts(leaf.Leaf); err != nil {
		t.Fatalf("control is not trusted: %v", err)
	}
	key := filepath.Join(f.Path, "agent-127.0.0.1", certs.FileKey)
	if err := os.Rename(key, key+".away"); err != nil {
		t.Fatalf("remove the key: %v", err)
	}
	for range 3 {
		if a, c := handshake(t, agent.Server(), control.Client("127.0.0.1")); a != nil || c != nil {
			t.Fatalf("the key is gone, and the old one does not stay: %v, %v", a, c)
		}
	}
	if n := strings.Count(log.String(), "cannot be used: the old ones stay"); n != 1 {
		t.Errorf("the missing key is logged %d times, want once:\n%s", n, log)
	}
	f.Force = true
	if _, err := f.Init([]string{"127.0.0.1", "db2.example"}); err != nil {
		t.Fatalf("make new certificates: %v", err)
	}
	if a, c := handshake(t, agent.Server(), control.Client("127.0.0.1")); a != nil || c != nil {
		t.Errorf("with new files on both sides: %v, %v", a, c)
	}
	if err := agent.Trusts(leaf.Leaf); err == nil {
		t.Errorf("a caller of the old CA is still trusted")
	}
	stale := control.Client("127.0.0.1")
	stale.GetClientCertificate = old.GetClientCertificate
	wantRefused(t, "the old certificate", agent, nil, stale, "is not signed by")
	if strings.Contains(log.String(), "PRIVATE") {
		t.Errorf("the log holds a key:\n%s", log)
	}
	if !strings.Contains(log.String(), "certificates were read again") {
		t.Errorf("the change is not logged:\n%s", log)
	}
}

// A service that runs for months warns once a day that its certificate will end.
func TestWarnsWhileUsed(t *testing.T) {
	f := folder(t, time.Now())
	now, log := time.Now(), &bytes.Buffer{}
	s, err := certs.OpenAt(certs.In(filepath.Join(f.Path, "agent-127.0.0.1")), certs.RoleAgent, slog.New(slog.NewTextHandler(log, nil)), func() time.Time { return now })
	if err != nil {
		t.Fatalf("open the certificates: %v", err)
	}
	for hour := range 400 * 24 {
		now = f.Now.Add(time.Duration(hour) * time.Hour)
		s.Server()
	}
	if n := strings.Count(log.String(), "certificate expires on "); n != 30 {
		t.Errorf("%d warnings in the last 30 days, want 30", n)
	}
	if n := strings.Count(log.String(), "certificate expired on "); n != 35 {
		t.Errorf("%d warnings in the 35 days after, want 35", n)
	}
}
