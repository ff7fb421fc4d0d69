package consul

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"

	"github.com/hashicorp/consul/api"

	"github.com/coreos/dbtester/pkg/database"
)

// probeKey is a key that is read, never written, to see whether a member serves.
const probeKey = "dbtester/probe"

// Ready makes one consistent read through the member. It succeeds only if the
// member knows a leader, and that leader heard from a quorum.
func (o *Options) Ready(ctx context.Context, t database.Target, member int) error {
	return o.ask(t, member, func(c *client) error {
		_, meta, err := c.kv.Get(probeKey, (&api.QueryOptions{RequireConsistent: true}).WithContext(ctx))
		switch {
		case err != nil:
			return fmt.Errorf("consistent read of consul member %d: %w", member, classify(ctx, err))
		case !meta.KnownLeader:
			return fmt.Errorf("consul member %d knows no leader", member)
		}
		return nil
	})
}

// Version returns the version that a member says it runs.
func (o *Options) Version(ctx context.Context, t database.Target, member int) (string, error) {
	var self agent
	err := o.ask(t, member, func(c *client) error { return c.getJSON(ctx, "/v1/agent/self", &self) })
	switch {
	case err != nil:
		return "", fmt.Errorf("version of consul member %d: %w", member, err)
	case self.Config.Version == "":
		return "", fmt.Errorf("version of consul member %d: it does not say", member)
	}
	return self.Config.Version, nil
}

// agent is the part of /v1/agent/self that is read.
type agent struct {
	Config struct{ Version string }
	Member struct {
		Addr string
		Tags map[string]string
	}
}

// server is the address by which other members know this one.
func (a agent) server() string { return net.JoinHostPort(a.Member.Addr, a.Member.Tags["port"]) }

// Leader asks every endpoint at once who leads and who it is itself, and returns
// the member that most of them call leader. It fails if that member is not among
// those that answered.
func (o *Options) Leader(ctx context.Context, t database.Target) (int, error) {
	leaders := make([]string, len(t.Endpoints))
	servers := make([]string, len(t.Endpoints))
	errs := make([]error, len(t.Endpoints))
	var wg sync.WaitGroup
	for i := range t.Endpoints {
		wg.Go(func() {
			var self agent
			errs[i] = o.ask(t, i, func(c *client) error {
				if err := c.getJSON(ctx, "/v1/status/leader", &leaders[i]); err != nil {
					return fmt.Errorf("leader by consul member %d: %w", i, err)
				}
				if err := c.getJSON(ctx, "/v1/agent/self", &self); err != nil {
					return fmt.Errorf("address of consul member %d: %w", i, err)
				}
				servers[i] = self.server()
				return nil
			})
		})
	}
	wg.Wait()
	return leaderOf(leaders, servers, errors.Join(errs...))
}

// leaderOf finds the leader that most members name among the members' servers.
func leaderOf(leaders, servers []string, unasked error) (int, error) {
	votes := map[string]int{}
	leader := ""
	for _, l := range leaders {
		if l == "" {
			continue
		}
		if votes[l]++; votes[l] > votes[leader] {
			leader = l
		}
	}
	if leader == "" {
		return 0, errors.Join(errors.New("no consul member knows a leader"), unasked)
	}
	for i, s := range servers {
		if s == leader {
			return i, nil
		}
	}
	return 0, errors.Join(fmt.Errorf("the consul leader %s answers at none of the endpoints", leader), unasked)
}

// CountKeys counts every key with one consistent listing, through the first
// member that answers. Consul has no count: all the names cross the wire.
func (o *Options) CountKeys(ctx context.Context, t database.Target) (int64, error) {
	var errs []error
	for member := range t.Endpoints {
		var n int64
		err := o.ask(t, member, func(c *client) (err error) {
			n, err = c.count(ctx)
			return err
		})
		if err == nil {
			return n, nil
		}
		errs = append(errs, err)
	}
	return 0, fmt.Errorf("count consul keys: %w", errors.Join(errs...))
}

// filteredHeader is in answers that leave out what the token may not read.
const filteredHeader = "X-Consul-Results-Filtered-By-ACLs"

// count reads the names of all keys one by one, so that memory does not grow with
// them.
func (c *client) count(ctx context.Context) (n int64, err error) {
	// Names that may not be read are left out in silence; a client without a token is
	// not even told that some are. It must at least be allowed to read one.
	_, _, err = c.kv.Get(probeKey, (&api.QueryOptions{AllowStale: true}).WithContext(ctx))
	if err != nil {
		return 0, classify(ctx, err)
	}
	resp, err := c.get(ctx, "/v1/kv/?keys&consistent")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, resp.Body.Close()) }()
	if resp.Header.Get(filteredHeader) == "true" {
		return 0, database.NotApplied(database.ClassDenied, errors.New("the token does not show every key"))
	}
	return countStrings(bufio.NewReader(resp.Body))
}

// countStrings counts the strings of a JSON array that holds nothing else, and
// keeps none of them: a decoder would make each of millions of names.
func countStrings(r io.ByteReader) (n int64, err error) {
	inside, escaped := false, false
	for opened := false; ; {
		b, err := r.ReadByte()
		switch {
		case err == io.EOF:
			return 0, io.ErrUnexpectedEOF // before the bracket that closes
		case err != nil:
			return 0, fmt.Errorf("read key %d: %w", n, err)
		case escaped:
			escaped = false
		case inside:
			escaped = b == '\\'
			inside = b != '"'
		case b == '"' && opened:
			inside = true
			n++
		case b == ']' && opened:
			return n, nil
		case b == '[' && !opened:
			opened = true
		case !strings.ContainsRune(", \t\r\n", rune(b)) || b == ',' && !opened:
			return 0, fmt.Errorf("read key %d: %q is not part of an array of names", n, b)
		}
	}
}

// getJSON reads an answer into out.
func (c *client) getJSON(ctx context.Context, path string, out any) (err error) {
	resp, err := c.get(ctx, path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, resp.Body.Close()) }()
	return json.NewDecoder(resp.Body).Decode(out)
}

// get asks for a path; an answer other than 200 is an [api.StatusError], classed.
// The caller closes the answer's body.
func (c *client) get(ctx context.Context, path string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+path, nil)
	if err != nil {
		return nil, err
	}
	if c.token != "" {
		req.Header.Set("X-Consul-Token", c.token)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, classify(ctx, err)
	}
	if resp.StatusCode != http.StatusOK {
		text, err := io.ReadAll(io.LimitReader(resp.Body, 1<<10))
		answer := classify(ctx, api.StatusError{Code: resp.StatusCode, Body: string(text)})
		return nil, errors.Join(answer, err, resp.Body.Close())
	}
	return resp, nil
}

// ask calls f with a connection to one member.
func (o *Options) ask(t database.Target, member int, f func(*client) error) error {
	c, err := o.open(t, member)
	if err != nil {
		return err
	}
	return errors.Join(f(c), c.Close())
}
