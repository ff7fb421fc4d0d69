package consul

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/hashicorp/consul/api"

	"github.com/coreos/dbtester/pkg/database"
)

var (
	_ database.Leaser = (*client)(nil)
	_ database.Leaser = (*lean)(nil)
	_ database.Leaser = (*below)(nil)
)

// Grant begins a session.
func (c *client) Grant(ctx context.Context, ttl time.Duration) (id database.SessionID, err error) {
	if err := c.ready(ctx); err != nil {
		return id, err
	}
	text, _, err := c.sessions.CreateNoChecks(entryOf(ttl), (&api.WriteOptions{}).WithContext(ctx))
	if err == nil {
		id, err = parsedSession(text)
	}
	return id, classify(ctx, err)
}

// KeepAlive renews a session.
func (c *client) KeepAlive(ctx context.Context, id database.SessionID) error {
	if err := c.ready(ctx); err != nil {
		return err
	}
	entry, _, err := c.sessions.Renew(uuid(id), (&api.WriteOptions{}).WithContext(ctx))
	if err == nil && entry == nil {
		return errNoSession()
	}
	return classify(ctx, err)
}

// Revoke ends a session. Consul does not report whether the session existed.
func (c *client) Revoke(ctx context.Context, id database.SessionID) error {
	if err := c.ready(ctx); err != nil {
		return err
	}
	_, err := c.sessions.Destroy(uuid(id), (&api.WriteOptions{}).WithContext(ctx))
	return classify(ctx, err)
}

// The paths of session requests.
const (
	pathCreate  = "/v1/session/create"
	pathRenew   = "/v1/session/renew/"
	pathDestroy = "/v1/session/destroy/"
)

// Grant implements [database.Leaser] like [client.Grant].
func (c *lean) Grant(ctx context.Context, ttl time.Duration) (id database.SessionID, err error) {
	body := fmt.Appendf(nil, `{"Behavior":"delete","Name":%q,"NodeChecks":[],"TTL":%q}`, sessionName, entryOf(ttl).TTL)
	text, err := c.session(ctx, pathCreate, body)
	if err != nil {
		return id, err
	}
	var answer struct{ ID string }
	if err = json.Unmarshal(text, &answer); err != nil {
		err = errors.Join(errMalformed, err)
	} else {
		id, err = parsedSession(answer.ID)
	}
	return id, classify(ctx, err)
}

// KeepAlive implements [database.Leaser] like [client.KeepAlive].
func (c *lean) KeepAlive(ctx context.Context, id database.SessionID) error {
	_, err := c.session(ctx, pathRenew+uuid(id), nil)
	return err
}

// Revoke implements [database.Leaser] like [client.Revoke].
func (c *lean) Revoke(ctx context.Context, id database.SessionID) error {
	_, err := c.session(ctx, pathDestroy+uuid(id), nil)
	return err
}

// session sends a request about a session and returns the body of its answer, which is valid until
// the next request. Errors are classified.
func (c *lean) session(ctx context.Context, path string, body []byte) ([]byte, error) {
	if c.closed.Load() {
		return nil, database.NotApplied(database.ClassConnection, errClosed)
	}
	if err := before(ctx); err != nil {
		return nil, err
	}
	request := append(c.begin(len(path)+len(body)), http.MethodPut+" "+path...)
	request = append(c.appendFields(request, http.MethodPut, "", len(body), false), body...)
	status, text, err := c.conn.exchange(ctx, request, nil, false, c.answer[:0])
	if err != nil {
		return nil, classify(ctx, err)
	}
	if cap(text) <= keepBytes {
		c.answer = text
	}
	switch status {
	case http.StatusOK:
		return text, nil
	case http.StatusNotFound:
		return nil, errNoSession()
	}
	return nil, classify(ctx, api.StatusError{Code: status, Body: string(text)})
}
