// Package certs is a private certificate authority (CA) for agents and control. The CA signs two
// kinds of certificates. An agent's certificate contains the machine's addresses and may only
// serve; control's certificate carries its own mark and may only call. Neither can stand in for the
// other, and a caller gains nothing from anything else for which the CA's certificate is trusted.
//
// Keys are ECDSA on P-256. Only its owner can read a key file.
package certs

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/coreos/dbtester/pkg/files/address"
)

// Role names the purpose of a certificate.
type Role string

// A certificate without a known role has [RoleNone].
const (
	RoleCA      Role = "CA"
	RoleAgent   Role = "agent"
	RoleControl Role = "control"
	RoleNone    Role = "none"
)

// The validity of certificates. Each is valid from one hour before its creation, because clocks
// differ.
const (
	// DefaultLife applies to certificates for agents and control.
	DefaultLife = 365 * 24 * time.Hour
	// LongestLife is the maximum that may be requested.
	LongestLife = 10 * 365 * 24 * time.Hour
	// authorityLife applies to a CA, unless a certificate is to live longer.
	authorityLife = 5 * 365 * 24 * time.Hour
	early         = time.Hour
)

// maxHosts limits the addresses in one certificate.
const maxHosts = 64

// mark returns the URI in a certificate for an agent or for control.
func mark(r Role) *url.URL { return &url.URL{Scheme: "dbtester", Opaque: string(r)} }

// RoleOf returns the role of a certificate. It does not check who signed it.
func RoleOf(c *x509.Certificate) Role {
	if c.IsCA {
		return RoleCA
	}
	for _, r := range []Role{RoleAgent, RoleControl} {
		if len(c.URIs) == 1 && c.URIs[0].String() == mark(r).String() {
			return r
		}
	}
	return RoleNone
}

// HostsOf returns the addresses in a certificate: its names, then its IP addresses.
func HostsOf(c *x509.Certificate) []string {
	hosts := append([]string{}, c.DNSNames...)
	for _, ip := range c.IPAddresses {
		hosts = append(hosts, ip.String())
	}
	return hosts
}

// Authority is a CA with its key.
type Authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// Pair is a certificate and its key, each as PEM.
type Pair struct{ Cert, Key []byte }

// NewAuthority makes a CA that is valid for five years, or for life if that is longer.
func NewAuthority(now time.Time, life time.Duration) (*Authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make key: %w", err)
	}
	template, err := blank(now, max(life, authorityLife))
	if err != nil {
		return nil, err
	}
	// Every CA needs a unique name; otherwise a mix-up would be reported as a bad signature.
	template.Subject = pkix.Name{CommonName: "dbtester CA " + strings.ToLower(rand.Text()[:8])}
	template.IsCA, template.BasicConstraintsValid, template.MaxPathLenZero = true, true, true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageCRLSign
	cert, err := sign(template, template, key, key)
	if err != nil {
		return nil, err
	}
	return &Authority{cert: cert, key: key}, nil
}

// Agent issues a certificate for an agent reached at any of the addresses.
func (a *Authority) Agent(hosts []string, now time.Time, life time.Duration) (Pair, error) {
	if len(hosts) == 0 || len(hosts) > maxHosts {
		return Pair{}, fmt.Errorf("an agent's certificate is for 1 to %d addresses, got %d", maxHosts, len(hosts))
	}
	return a.issue(RoleAgent, now, life, func(c *x509.Certificate) error {
		c.Subject.CommonName = "dbtester agent " + hosts[0]
		if len(c.Subject.CommonName) > 64 { // X.509's limit
			c.Subject.CommonName = "dbtester agent"
		}
		c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
		for _, host := range hosts {
			if err := address.CheckMember(host); err != nil {
				return err
			}
			if ip, err := netip.ParseAddr(host); err == nil {
				c.IPAddresses = append(c.IPAddresses, ip.Unmap().WithZone("").AsSlice())
			} else {
				c.DNSNames = append(c.DNSNames, strings.ToLower(host))
			}
		}
		return nil
	})
}

// Control issues a certificate with which control may call every agent that trusts this CA.
func (a *Authority) Control(now time.Time, life time.Duration) (Pair, error) {
	return a.issue(RoleControl, now, life, func(c *x509.Certificate) error {
		c.Subject.CommonName = "dbtester control"
		c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
		return nil
	})
}

func (a *Authority) issue(role Role, now time.Time, life time.Duration, fill func(*x509.Certificate) error) (Pair, error) {
	template, err := blank(now, life)
	if err != nil {
		return Pair{}, err
	}
	if template.NotAfter.After(a.cert.NotAfter) {
		return Pair{}, fmt.Errorf("the CA itself expires on %s, before a certificate valid for %d days", stamp(a.cert.NotAfter), life/(24*time.Hour))
	}
	template.KeyUsage, template.BasicConstraintsValid = x509.KeyUsageDigitalSignature, true
	template.URIs = []*url.URL{mark(role)}
	if err := fill(template); err != nil {
		return Pair{}, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Pair{}, fmt.Errorf("make key: %w", err)
	}
	cert, err := sign(template, a.cert, key, a.key)
	if err != nil {
		return Pair{}, err
	}
	return encode(cert, key)
}

// blank returns a certificate without name and usage.
func blank(now time.Time, life time.Duration) (*x509.Certificate, error) {
	if life <= 0 || life > LongestLife {
		return nil, fmt.Errorf("certificates live for up to %d days", LongestLife/(24*time.Hour))
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, fmt.Errorf("draw serial number: %w", err)
	}
	return &x509.Certificate{SerialNumber: serial, NotBefore: now.Add(-early).UTC(), NotAfter: now.Add(life).UTC()}, nil
}

// sign makes the certificate for key, signed by parent with the key by.
func sign(template, parent *x509.Certificate, key, by *ecdsa.PrivateKey) (*x509.Certificate, error) {
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), by)
	if err != nil {
		return nil, fmt.Errorf("sign certificate: %w", err)
	}
	return x509.ParseCertificate(der)
}

func encode(cert *x509.Certificate, key *ecdsa.PrivateKey) (Pair, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return Pair{}, fmt.Errorf("encode key: %w", err)
	}
	return Pair{
		Cert: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Raw}),
		Key:  pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}),
	}, nil
}

// parse returns the first certificate in a PEM text.
func parse(text []byte) (*x509.Certificate, error) {
	for {
		block, rest := pem.Decode(text)
		switch {
		case block == nil:
			return nil, errors.New("no certificate in PEM form")
		case block.Type == "CERTIFICATE":
			return x509.ParseCertificate(block.Bytes)
		}
		text = rest
	}
}

// stamp formats a time for messages.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }
