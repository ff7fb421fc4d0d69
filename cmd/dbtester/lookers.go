package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"

	"github.com/coreos/dbtester/pkg/trust/certs"
	"github.com/coreos/dbtester/pkg/trust/spectators"
)

// lookers define the allowed viewers of this process: an address flag, and its certificate flag.
type lookers struct {
	flag    string // such as "live"
	address string
	certs   string // folder with the certificate of this machine; "" lets only this machine look
}

// listen listens on the address, and returns its URL.
func (f lookers) listen(ctx context.Context, a *app, log *slog.Logger) (net.Listener, string, error) {
	secure, err := f.tls(a, log)
	if err != nil {
		return nil, "", err
	}
	l, err := spectators.Listen(ctx, f.address, secure)
	if err != nil {
		return nil, "", usageError{fmt.Errorf("--%s: %w", f.flag, err)}
	}
	scheme := "http"
	if secure != nil {
		scheme = "https"
	}
	return l, scheme + "://" + l.Addr().String() + "/", nil
}

// tls returns the server's configuration, or nil without certificates.
func (f lookers) tls(a *app, log *slog.Logger) (*tls.Config, error) {
	source, err := linkFlags{certs: f.certs}.open(a, certs.RoleAgent, log)
	if source == nil {
		return nil, err
	}
	// Files may change from one connection to the next.
	current := func(*tls.ClientHelloInfo) (*tls.Config, error) { return source.Server(), nil }
	return &tls.Config{MinVersion: tls.VersionTLS13, GetConfigForClient: current}, nil
}
