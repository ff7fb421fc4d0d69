package consul

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/hashicorp/consul/api"

	"github.com/coreos/dbtester/pkg/database"
)

const (
	// connectTimeout bounds the time to establish one connection.
	connectTimeout = 5 * time.Second
	// bufferBytes is the size of each of the two buffers of a connection: a thousand connections
	// should stay small, and most requests fit.
	bufferBytes = 4 << 10
)

// inTrouble reports whether an error is the answer from a member that temporarily cannot serve,
// such as one without a leader. Such a member may be dialed.
func inTrouble(err error) bool {
	var status api.StatusError
	return errors.As(err, &status) && status.Code == http.StatusInternalServerError
}

// hint returns a probable reason for a dial error, as a suffix.
func hint(err error) string {
	if strings.Contains(err.Error(), "tls: ") { // the reason is in the error
		return ""
	}
	// Consul answers 429 and closes the connection before it reads the request, so the
	// answer may be lost.
	switch _, class := database.Classify(err); class {
	case database.ClassThrottled, database.ClassConnection:
		return " (there may be more connections than http_max_conns_per_client allows)"
	}
	return ""
}

// open returns a client over the standard transport that is not connected yet.
func (m members) open(member int) (*client, error) {
	library, config, err := openLibrary(m.target, member, m.maxBody, 1)
	if err != nil {
		return nil, err
	}
	return &client{
		kv: library.KV(), sessions: library.Session(), http: config.HttpClient, base: config.Scheme + "://" + config.Address,
		token:  config.Token, // may come from the environment
		perKey: m.perKey(),
	}, nil
}

// openLibrary returns a client of the Consul library for one member over the standard transport,
// and the configuration the library completed. Nothing is connected yet.
func openLibrary(t database.Target, member int, maxBody int64, conns int) (*api.Client, *api.Config, error) {
	transport, err := standard(t.TLS, maxBody, conns)
	if err != nil {
		return nil, nil, err
	}
	return library(t, member, transport)
}

// endpoint returns the address of a member.
func endpoint(t database.Target, member int) (string, error) {
	if member < 0 || member >= len(t.Endpoints) {
		return "", fmt.Errorf("the endpoint must be from 0 to %d, got %d", len(t.Endpoints)-1, member)
	}
	return t.Endpoints[member], nil
}

// library returns a client of the Consul library for one member, and the configuration the library
// completed.
func library(t database.Target, member int, transport http.RoundTripper) (*api.Client, *api.Config, error) {
	address, err := endpoint(t, member)
	if err != nil {
		return nil, nil, err
	}
	token, err := tokenOf(t.Auth)
	if err != nil {
		return nil, nil, err
	}
	config := &api.Config{
		Address: address, Scheme: "http", Token: token,
		HttpClient: &http.Client{Transport: transport, CheckRedirect: noRedirect},
	}
	if t.TLS != nil {
		config.Scheme = "https"
	}
	library, err := api.NewClient(config)
	if err != nil {
		return nil, nil, fmt.Errorf("make client: %w", err)
	}
	return library, config, nil
}

// tokenOf returns the ACL token in credentials, or "".
func tokenOf(auth *database.Auth) (string, error) {
	switch {
	case auth == nil:
		return "", nil
	case auth.User != "":
		return "", database.NotApplied(database.ClassDenied, errors.New("consul has no users: give a password alone, which is the token"))
	case auth.Password == "":
		return "", database.NotApplied(database.ClassDenied, errors.New("the token is empty"))
	}
	return auth.Password, nil
}

// noRedirect returns a redirect as the answer. Following it would send a request twice.
func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// standard returns the net/http transport for some connections.
func standard(t *database.TLS, maxBody int64, conns int) (*kvTransport, error) {
	config, err := t.Config()
	if err != nil {
		return nil, err
	}
	dialer := &net.Dialer{Timeout: connectTimeout}
	return &kvTransport{maxBody: maxBody, Transport: &http.Transport{
		DialContext:     dialer.DialContext,
		TLSClientConfig: config,
		// With HTTP/2 the clients would share one connection.
		TLSNextProto:          map[string]func(string, *tls.Conn) http.RoundTripper{},
		MaxConnsPerHost:       conns,
		MaxIdleConnsPerHost:   conns,
		DisableCompression:    true,
		ReadBufferSize:        bufferBytes,
		WriteBufferSize:       bufferBytes,
		ExpectContinueTimeout: expectWithin,
	}}, nil
}
