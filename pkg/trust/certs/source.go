package certs

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"sync"
	"time"
)

// Source holds the certificates of an agent or of control. It reads the files again when they
// change. If that fails, it logs the reason and keeps the previous ones. All methods are safe for
// concurrent use.
type Source struct {
	files Files
	role  Role
	log   *slog.Logger
	now   func() time.Time

	mu   sync.Mutex
	at   version // version at the last attempt
	err  string  // error from the last attempt; "" if it succeeded
	held *keys
	// warned is when the last message about the end of the certificate was logged.
	warned time.Time
}

// warnEvery is the interval between log messages about a certificate that is in use and ends soon.
const warnEvery = 24 * time.Hour

// Open reads the files for a party, which must be valid now. log receives later problems; nil
// discards them.
func Open(files Files, role Role, log *slog.Logger) (*Source, error) {
	return open(files, role, log, time.Now)
}

func open(files Files, role Role, log *slog.Logger, now func() time.Time) (*Source, error) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	if err := files.complete(); err != nil {
		return nil, err
	}
	s := &Source{files: files, role: role, log: log, now: now}
	// Take the version before reading, so that a change in between is noticed.
	var err error
	if s.at, err = files.version(); err != nil {
		return nil, err
	}
	if s.held, err = files.load(role); err != nil {
		return nil, err
	}
	if i := s.Info(); !i.Until.After(now()) || i.From.After(now()) {
		return nil, fmt.Errorf("certificate %s %s%s", files.Cert, forHosts(i.Hosts), i.Warning(now()))
	}
	return s, nil
}

// Info describes the certificate in use.
func (s *Source) Info() Info {
	c := s.current().pair.Leaf
	return Info{Path: s.files.Cert, Subject: c.Subject.CommonName, Role: s.role, Hosts: HostsOf(c), From: c.NotBefore, Until: c.NotAfter}
}

// current returns the current contents of the files, or the last ones that could be read.
func (s *Source) current() *keys {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.warn()
	at, err := s.files.version()
	if err == nil && at == s.at {
		return s.held
	}
	var held *keys
	if err == nil {
		held, err = s.files.load(s.role)
	}
	s.at = at
	switch {
	case err == nil:
		s.log.Info("certificates were read again", "certificate", s.files.Cert, "until", stamp(held.pair.Leaf.NotAfter))
		s.held, s.err = held, ""
	case s.err != err.Error():
		s.err = err.Error()
		s.log.Error("certificates changed and cannot be used: the old ones stay", "error", err)
	}
	return s.held
}

// warn logs that the certificate ends soon or has ended. mu is held.
func (s *Source) warn() {
	now, leaf := s.now(), s.held.pair.Leaf
	text := Info{From: leaf.NotBefore, Until: leaf.NotAfter}.Warning(now)
	if text == "" || now.Sub(s.warned) < warnEvery {
		return
	}
	s.warned = now
	s.log.Warn("certificate "+text, "certificate", s.files.Cert, "hosts", strings.Join(HostsOf(leaf), ","))
}

// Server returns the configuration for the next connection to the agent: TLS 1.3 only, for callers
// with a certificate the CA signed for control.
func (s *Source) Server() *tls.Config {
	k := s.current()
	return &tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{k.pair}, Time: s.now,
		ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: k.roots,
		// A ticket would admit a caller without checking its certificate again.
		SessionTicketsDisabled: true,
		VerifyConnection:       func(c tls.ConnectionState) error { return checkRole(c, RoleControl) },
	}
}

// Client returns the configuration for the next connection by control to the agent at host, an IP
// address or a name.
func (s *Source) Client(host string) *tls.Config {
	k := s.current()
	if ip, err := netip.ParseAddr(host); err == nil {
		host = ip.WithZone("").String()
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS13, RootCAs: k.roots, ServerName: host, Time: s.now,
		// Send the certificate whatever CAs the agent names, so that the agent can report which
		// certificate it received.
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &k.pair, nil },
		VerifyConnection:     func(c tls.ConnectionState) error { return checkRole(c, RoleAgent) },
	}
}

// Trusts returns why an already admitted caller would not be admitted now: its certificate expired,
// or the CA was replaced.
func (s *Source) Trusts(caller *x509.Certificate) error {
	_, err := caller.Verify(x509.VerifyOptions{
		Roots: s.current().roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}, CurrentTime: s.now(),
	})
	if err == nil && RoleOf(caller) != RoleControl {
		err = &roleError{got: RoleOf(caller), want: RoleControl}
	}
	return err
}

// roleError reports a certificate from the right CA with the wrong role.
type roleError struct{ got, want Role }

func (e *roleError) Error() string {
	return fmt.Sprintf("the certificate is for %s, not for %s", phrase(e.got), phrase(e.want))
}

func checkRole(c tls.ConnectionState, want Role) error {
	if len(c.PeerCertificates) == 0 {
		return errors.New("no certificate")
	}
	if got := RoleOf(c.PeerCertificates[0]); got != want {
		return &roleError{got: got, want: want}
	}
	return nil
}

// Reason explains in plain words why a handshake failed, naming the hosts and times in the
// certificate. peer is the other side: "agent" or "control".
func (s *Source) Reason(err error, peer Role) string {
	var name x509.HostnameError
	var invalid x509.CertificateInvalidError
	var unknown x509.UnknownAuthorityError
	var role *roleError
	var record tls.RecordHeaderError
	switch {
	case errors.As(err, &name):
		return fmt.Sprintf("its certificate is for %s, not for %s", strings.Join(HostsOf(name.Certificate), ", "), name.Host)
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		c := invalid.Cert
		i := Info{From: c.NotBefore, Until: c.NotAfter}
		return fmt.Sprintf("its certificate (%s) %s%s", c.Subject.CommonName, forHosts(HostsOf(c)), i.Warning(s.now()))
	case errors.As(err, &invalid) && invalid.Reason == x509.IncompatibleUsage:
		return "its certificate is for " + phrase(RoleOf(invalid.Cert)) + ", not for " + phrase(peer)
	case errors.As(err, &unknown):
		return fmt.Sprintf("its certificate is not signed by %s of %s", s.current().caName, s.files.CA)
	case errors.As(err, &role):
		return "its certificate is for " + phrase(role.got) + ", not for " + phrase(role.want)
	case errors.As(err, &record):
		return "it does not speak TLS" + map[Role]string{RoleAgent: ": it was started without certificates"}[peer]
	}
	return s.refusal(err)
}

// forHosts returns "for a, b " or "".
func forHosts(hosts []string) string {
	if len(hosts) == 0 {
		return ""
	}
	return "for " + strings.Join(hosts, ", ") + " "
}

// refusal explains the alert with which the other side ended a handshake. Alert types are not
// exported; their texts come from RFC 8446.
func (s *Source) refusal(err error) string {
	text := err.Error()
	var op *net.OpError
	if !errors.As(err, &op) || op.Op != "remote error" {
		if strings.Contains(text, "client didn't provide a certificate") {
			return "it showed no certificate"
		}
		return strings.TrimPrefix(text, "tls: ")
	}
	mine := fmt.Sprintf("the certificate shown to it (%s, %suntil %s)", s.files.Cert, forHosts(s.Info().Hosts), stamp(s.Info().Until))
	switch {
	case strings.Contains(text, "expired"):
		return mine + " is not valid by its clock (this machine's time is " + stamp(s.now()) + ")"
	case strings.Contains(text, "unknown certificate authority"):
		return mine + " is not of the CA that it trusts"
	case strings.Contains(text, "certificate required"):
		return "it demands a certificate and got none"
	case strings.Contains(text, "certificate"):
		return "it refuses " + mine + ": " + text
	default:
		return text
	}
}
