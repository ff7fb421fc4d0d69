package consul

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"

	"github.com/hashicorp/consul/api"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/workload"
)

// Ready makes one consistent read through the member, which succeeds only if the member
// knows a leader that has a quorum. It also makes one stale read, which the member answers
// by itself: after a restart the member does not know its access tokens for a while.
func (o *Options) Ready(ctx context.Context, t database.Target, member int) error {
	return o.members(t).ask(member, func(c *client) error {
		probeKey := t.KeyPrefix() + probeKey
		_, meta, err := c.kv.Get(probeKey, (&api.QueryOptions{RequireConsistent: true}).WithContext(ctx))
		switch {
		case err != nil:
			return fmt.Errorf("consistent read of consul member %d: %w", member, classify(ctx, err))
		case !meta.KnownLeader:
			return fmt.Errorf("consul member %d knows no leader", member)
		}
		if _, _, err = c.kv.Get(probeKey, (&api.QueryOptions{AllowStale: true}).WithContext(ctx)); err != nil {
			return fmt.Errorf("stale read of consul member %d: %w", member, classify(ctx, err))
		}
		return nil
	})
}

// Version returns the version a member reports.
func (o *Options) Version(ctx context.Context, t database.Target, member int) (string, error) {
	var self agent
	err := o.members(t).ask(member, func(c *client) error { return c.getJSON(ctx, "/v1/agent/self", &self) })
	switch {
	case err != nil:
		return "", fmt.Errorf("version of consul member %d: %w", member, err)
	case self.Config.Version == "":
		return "", fmt.Errorf("version of consul member %d: the answer has no version", member)
	}
	return self.Config.Version, nil
}

// agent holds the used fields of /v1/agent/self.
type agent struct {
	Config struct{ Version string }
	Member struct {
		Addr string
		Tags map[string]string
	}
}

// server returns the address that other members use.
func (a agent) server() string { return net.JoinHostPort(a.Member.Addr, a.Member.Tags["port"]) }

// leaderAnswer is a member's answer: the leader address, and its own.
type leaderAnswer struct{ leader, self string }

// Leader asks the endpoints in parallel for the leader address and their own, until a majority
// agrees, and returns the member the majority names as leader. It fails if that member did not
// answer.
func (o *Options) Leader(ctx context.Context, t database.Target) (int, error) {
	answers, err := database.AskMembers(ctx, len(t.Endpoints), func(ctx context.Context, member int) (answer leaderAnswer, err error) {
		var self agent
		err = o.members(t).ask(member, func(c *client) error {
			if err := c.getJSON(ctx, "/v1/status/leader", &answer.leader); err != nil {
				return fmt.Errorf("leader by consul member %d: %w", member, err)
			}
			if err := c.getJSON(ctx, "/v1/agent/self", &self); err != nil {
				return fmt.Errorf("address of consul member %d: %w", member, err)
			}
			return nil
		})
		answer.self = self.server()
		return answer, err
	}, agree)
	leaders, servers := columns(answers)
	return leaderOf(leaders, servers, err)
}

// agree reports whether most members name the same leader, and that leader answered.
func agree(answers []leaderAnswer) bool {
	leaders, servers := columns(answers)
	leader, err := leaderOf(leaders, servers, nil)
	if err != nil {
		return false
	}
	votes := 0
	for _, a := range answers {
		if a.leader == answers[leader].self {
			votes++
		}
	}
	return 2*votes > len(answers)
}

func columns(answers []leaderAnswer) (leaders, servers []string) {
	for _, a := range answers {
		leaders, servers = append(leaders, a.leader), append(servers, a.self)
	}
	return leaders, servers
}

// leaderOf finds the server that most members name as leader.
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
		return 0, errors.Join(errors.New("find the leader of consul: no member knows one"), unasked)
	}
	for i, s := range servers {
		if s == leader {
			return i, nil
		}
	}
	return 0, errors.Join(fmt.Errorf("find the leader of consul: no endpoint answered as %s", leader), unasked)
}

// CountKeys counts all keys, or those below the prefix, in one consistent listing from the first
// member that answers. Consul has no count, so all names are transferred.
func (o *Options) CountKeys(ctx context.Context, t database.Target) (int64, error) {
	n, err := o.members(t).list(ctx, func([]byte) {})
	if err != nil {
		return 0, fmt.Errorf("count consul keys: %w", err)
	}
	return n, nil
}

// HighestKey finds the highest key number in one consistent listing, as CountKeys counts keys.
// Names of such keys have no escapes.
func (o *Options) HighestKey(ctx context.Context, t database.Target, keySize int) (int64, error) {
	highest, prefix := int64(-1), len(t.KeyPrefix()) // the listing has only names with it
	_, err := o.members(t).list(ctx, func(name []byte) {
		if number, ok := workload.KeyNumber(name[prefix:], keySize); ok {
			highest = max(highest, number)
		}
	})
	if err != nil {
		return 0, fmt.Errorf("find the highest consul key: %w", err)
	}
	return highest, nil
}

// filteredHeader marks answers without the keys the token may not read.
const filteredHeader = "X-Consul-Results-Filtered-By-ACLs"

// list reads all names one by one, so that memory does not grow with their number. A name without
// the prefix is an error.
func (c *client) list(ctx context.Context, t database.Target, each func(name []byte)) (n int64, err error) {
	// Consul omits names the token may not read, and without a token it sends no header about that.
	// So a client must be allowed to read at least one key.
	_, _, err = c.kv.Get(t.KeyPrefix()+probeKey, (&api.QueryOptions{AllowStale: true}).WithContext(ctx))
	if err != nil {
		return 0, classify(ctx, err)
	}
	resp, err := c.get(ctx, "/v1/kv/"+t.KeyPrefix()+"?keys&consistent")
	var status api.StatusError
	switch {
	case errors.As(err, &status) && status.Code == http.StatusNotFound:
		return 0, nil // no key has the prefix
	case err != nil:
		return 0, err
	}
	defer func() { err = errors.Join(err, resp.Body.Close()) }()
	if resp.Header.Get(filteredHeader) == "true" {
		return 0, database.NotApplied(database.ClassDenied, errors.New("the token does not allow to read every key"))
	}
	prefix, foreign := t.KeyPrefix(), error(nil)
	n, err = eachString(bufio.NewReader(resp.Body), func(name []byte) {
		if bytes.HasPrefix(name, []byte(prefix)) {
			each(name)
		} else if foreign == nil {
			_, foreign = database.WithoutPrefix(prefix, unescaped(name))
		}
	})
	return n, errors.Join(err, foreign)
}

// maxName bounds the buffered part of a name, in bytes. Consul limits names to 512 bytes by
// default.
const maxName = 64 << 10

// eachString calls each for every string in a JSON array and returns their number. Strings keep
// their escapes, are cut after maxName bytes, and are valid until each returns. A decoder would
// allocate millions of names.
func eachString(r io.ByteReader, each func(text []byte)) (n int64, err error) {
	var text []byte
	inside, escaped := false, false
	for opened := false; ; {
		b, err := r.ReadByte()
		switch {
		case err == io.EOF:
			return 0, io.ErrUnexpectedEOF // before the closing bracket
		case err != nil:
			return 0, fmt.Errorf("read key %d: %w", n, err)
		case inside && b == '"' && !escaped:
			inside = false
			each(text)
		case inside:
			escaped = b == '\\' && !escaped
			if len(text) < maxName {
				text = append(text, b)
			}
		case b == '"' && opened:
			inside, text = true, text[:0]
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

// unescaped decodes a name from [eachString].
func unescaped(name []byte) string {
	var text string
	if err := json.Unmarshal(slices.Concat([]byte{'"'}, name, []byte{'"'}), &text); err != nil {
		return string(name)
	}
	return text
}

// maxJSON bounds a member's answer about itself, in bytes. A large configuration takes about 100
// KiB.
const maxJSON = 4 << 20

// getJSON decodes an answer into out.
func (c *client) getJSON(ctx context.Context, path string, out any) (err error) {
	resp, err := c.get(ctx, path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, resp.Body.Close()) }()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxJSON+1))
	switch {
	case err != nil:
		return classify(ctx, err)
	case len(text) > maxJSON:
		return fmt.Errorf("the answer to %s has more than %d bytes", path, maxJSON)
	}
	return json.Unmarshal(text, out)
}

// get requests a path. An answer other than 200 is a classified [api.StatusError]. The
// caller closes the body.
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

// list calls each for every key name in the target, perhaps more than once, and returns the number
// of keys.
func (m members) list(ctx context.Context, each func(name []byte)) (n int64, err error) {
	err = m.askFirst(ctx, func(_ int, c *client) (err error) {
		n, err = c.list(ctx, m.target, each)
		return err
	})
	return n, err
}
