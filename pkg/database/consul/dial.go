package consul

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/hashicorp/consul/api"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/workload"
)

const (
	// connectTimeout bounds the time to establish one connection.
	connectTimeout = 5 * time.Second
	// bufferBytes is the size of each of a connection's two buffers: a thousand
	// connections should stay small, and most requests fit.
	bufferBytes = 4 << 10
)

// Dial opens one connection to one member, the preferred or else the first, and
// reads one key. A dead endpoint is therefore an error here, and the first operation
// finds the connection open. The next operation reopens a broken connection, to the
// same member.
//
// Consul has no timeout for a key-value request: its "wait" is for blocking queries
// only. A member continues with a request that the client gave up until it notices
// that the connection is closed.
//
// The password of the target's credentials is the ACL token. It must allow writing
// key_prefix "", or the target's prefix. To find versions and the leader, it must
// also allow reading agent_prefix "". Without credentials, and for a namespace and
// the like, the library reads CONSUL_ variables of the environment, as every Consul
// client does.
func (o *Options) Dial(ctx context.Context, t database.Target) (database.Client, error) {
	whole, err := o.members(t).client(max(t.Prefer, 0))
	if err != nil {
		return nil, fmt.Errorf("dial consul: %w", err)
	}
	c := within(t, whole)
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	_, err = c.Get(ctx, []byte(probeKey), workload.ReadStale)
	if err != nil && !errors.Is(err, database.ErrNotFound) && !inTrouble(err) {
		return nil, errors.Join(fmt.Errorf("dial consul: %w%s", err, hint(err)), c.Close())
	}
	return c, nil
}

// inTrouble reports whether an error is the answer of a member that temporarily cannot
// serve, such as one without a leader. Such a member may be dialed.
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

// open returns a client of the standard transport, which is not connected yet.
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

// openLibrary returns a client of Consul's own library for one member over the standard transport, and the
// configuration that the library completed. Nothing is connected yet.
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

// library returns a client of Consul's own library for one member, and the
// configuration that the library completed.
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

// tokenOf returns the ACL token of credentials, or "".
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

// standard returns net/http's transport for some connections.
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
