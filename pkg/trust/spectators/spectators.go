// Package spectators lets browsers and programs look at this process over HTTP: it decides who may
// look, and bounds the load from them.
package spectators

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"golang.org/x/net/netutil"
)

// Bounds on the requests and connections of callers.
const (
	// Most bounds the number of requests answered at a time.
	Most            = 32
	mostConnections = 4 * Most
	mostHeader      = 16 << 10 // bytes
	headerTimeout   = 5 * time.Second
	idleTimeout     = time.Minute
	// WriteTimeout bounds a part of an answer; a whole answer has three times as long.
	WriteTimeout = 10 * time.Second
)

// Listen listens on address for a server from [New]. Without TLS the address must be on loopback;
// with TLS only callers with a certificate are admitted. The listener bounds the connections.
func Listen(ctx context.Context, address string, secure *tls.Config) (net.Listener, error) {
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", address, err)
	}
	bounded := netutil.LimitListener(l, mostConnections)
	switch {
	case secure != nil:
		return tls.NewListener(bounded, secure), nil
	case isLoopback(l.Addr()):
		return bounded, nil
	default:
		return nil, errors.Join(fmt.Errorf("listen on %s: without certificates only this machine may look: the address must be of loopback, such as 127.0.0.1:8080", address), l.Close())
	}
}

// New returns a server for a listener from [Listen]. On loopback it answers only requests to a
// loopback name, so no page from another site can read it. Requests end with ctx.
func New(ctx context.Context, l net.Listener, h http.Handler) *http.Server {
	return &http.Server{
		Handler: guarded(h, isLoopback(l.Addr())), ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: mostHeader,
		BaseContext: func(net.Listener) context.Context { return ctx },
		// Callers decide how often they fail, for example with no certificate: that is not for our log.
		ErrorLog: log.New(io.Discard, "", 0),
	}
}

// isLoopback reports whether only this machine can reach an address.
func isLoopback(a net.Addr) bool {
	ip, err := netip.ParseAddrPort(a.String())
	return err == nil && ip.Addr().Unmap().IsLoopback()
}

// guarded refuses requests from pages of other sites, and bounds the time of an answer.
func guarded(next http.Handler, loop bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		if loop && !loopbackName(r.Host) {
			http.Error(w, "this address is for this machine: call it by localhost or by a loopback address", http.StatusMisdirectedRequest)
			return
		}
		if site := r.Header.Get("Sec-Fetch-Site"); (site == "cross-site" || site == "same-site") && r.Header.Get("Sec-Fetch-Mode") != "navigate" {
			http.Error(w, "pages of other sites may not read this", http.StatusForbidden)
			return
		}
		// An error would mean a writer without deadlines, but that of net/http has them.
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(3 * WriteTimeout))
		next.ServeHTTP(w, r)
	})
}

// loopbackName reports whether hostport names a loopback host.
func loopbackName(hostport string) bool {
	host := hostport
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		host = h
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}
