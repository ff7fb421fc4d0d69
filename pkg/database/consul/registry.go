package consul

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hashicorp/consul/api"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/sleep"
)

var (
	_ database.Registrar = (*Options)(nil)
	_ database.Sessions  = (*registry)(nil)
	_ database.Session   = (*registration)(nil)
)

const (
	// leastCheck is the shortest TTL that is requested for a check. Consul has no bound.
	leastCheck = time.Second
	// forgotten is the time after which an agent deregisters an instance whose check is critical:
	// the shortest that Consul accepts. Agents look every 30 s.
	forgotten = time.Minute
	// settling bounds the wait for agents that do not reach the servers yet. One that failed to do
	// so when it started tries again after about 15 s.
	settling = time.Minute
)

// Registry returns the facts about services with a TTL check.
func (o *Options) Registry() database.SessionFacts {
	return database.SessionFacts{
		What: "service with a TTL check, which an agent makes critical", Least: leastCheck, Most: mostTTL, Step: time.Millisecond,
		Rule: "at the end of its TTL, by a write of its agent to the servers; all instances of an agent also end if that fails",
		Ends: func(ttl time.Duration, _ int) (earliest, latest time.Duration) {
			return ttl, ttl
		},
		Remains: true,
		Renewal: "a PUT of /v1/agent/check/update at the instance's agent, which writes nothing to the servers", Watch: "blocking queries of /v1/health/service for instances that pass, each answered with all of them",
		Requests: "PUTs of /v1/agent/service/register, check/update and service/deregister",
		Beside:   "sessions of its key-value store",
	}
}

// registry registers instances at the member agents in turn, and follows them through the preferred
// or else the first member.
type registry struct {
	target  database.Target
	agents  []*api.Client // by member
	http    []*http.Client
	through int    // member to follow through
	name    string // of the service
	last    atomic.Int64
}

// DialRegistry makes clients for all member agents. An ACL token must allow writing the service,
// whose name begins with "dbtester", and reading node_prefix "".
func (o *Options) DialRegistry(ctx context.Context, t database.Target) (database.Sessions, error) {
	r, err := newRegistry(t)
	if err != nil {
		return nil, fmt.Errorf("dial consul: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	if _, _, err := r.passing(ctx, r.agents[r.through], 0); err != nil && !inTrouble(err) {
		return nil, errors.Join(fmt.Errorf("dial consul: %w%s", err, hint(err)), r.Close())
	}
	return r, nil
}

// newRegistry returns an unconnected registry.
func newRegistry(t database.Target) (*registry, error) {
	r := &registry{
		target: t, through: max(t.Prefer, 0),
		name: sessionName + "-" + strings.Trim(strings.ReplaceAll(t.KeyPrefix()+database.SessionKeys, "/", "-"), "-"),
	}
	if _, err := endpoint(t, r.through); err != nil {
		return nil, err
	}
	for i := range t.Endpoints {
		client, config, err := openLibrary(t, i, mostWatched, sessionConns)
		if err != nil {
			return nil, err
		}
		r.agents, r.http = append(r.agents, client), append(r.http, config.HttpClient)
	}
	return r, nil
}

// AwaitRegistry registers an instance at each agent and waits until consumers would see it.
func (o *Options) AwaitRegistry(ctx context.Context, t database.Target) error {
	r, err := newRegistry(t)
	if err != nil {
		return fmt.Errorf("dial consul: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, settling)
	defer cancel()
	for member := 0; member < len(r.agents) && err == nil; member++ {
		if err = r.await(ctx); err != nil {
			err = fmt.Errorf("wait until the agent of consul member %d registers a service: %w", member, err)
		}
	}
	return errors.Join(err, r.Close())
}

// await registers an instance at the next agent, waits until it passes, and deregisters it.
func (r *registry) await(ctx context.Context) (err error) {
	name := "probe-" + strings.ToLower(rand.Text())
	one, err := r.Grant(ctx, settling)
	if err == nil {
		err = one.Attach(ctx, []byte(name), nil)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, one.Release(context.WithoutCancel(ctx))) }()
	for index := uint64(0); ; {
		names, next, err := r.passing(ctx, r.agents[r.through], index)
		if err != nil || slices.Contains(names, name) {
			return err
		}
		index = max(next, 1)
	}
}

// Grant begins a registration at the next agent. Nothing is sent yet.
func (r *registry) Grant(_ context.Context, ttl time.Duration) (database.Session, error) {
	facts := (*Options)(nil).Registry()
	return &registration{on: r, agent: r.agents[int(r.last.Add(1)-1)%len(r.agents)].Agent(), ttl: facts.Granted(ttl)}, nil
}

// Watch repeats blocking queries for the instances that pass.
func (r *registry) Watch(ctx context.Context, ready func(), changed func(database.Change)) error {
	client, config, err := openLibrary(r.target, r.through, mostWatched, 1)
	if err != nil {
		return fmt.Errorf("watch: %w", err)
	}
	defer config.HttpClient.CloseIdleConnections()
	listed := database.NewListed(ready, changed)
	for index := uint64(0); ; {
		sent := time.Now()
		names, next, err := r.passing(ctx, client, index)
		at := time.Now()
		switch _, class := database.Classify(err); {
		case ctx.Err() != nil:
			return nil
		case class == database.ClassDenied:
			return fmt.Errorf("watch: %w", err)
		case err != nil:
			if !sleep.For(ctx, roundTrip) { // members elect a leader, or this one restarts
				return nil
			}
			continue
		case index > 0 && at.Sub(sent) > roundTrip: // the query waited, so nothing had changed before
			listed.Unchanged(at)
			sent = at
		}
		listed.Next(names, sent, at)
		index = max(next, 1) // may be below the last one, for example after a restore
	}
}

// passing returns the names of the instances whose checks pass, and the index of the answer. It
// waits for a change after the index after, unless that is 0.
func (r *registry) passing(ctx context.Context, client *api.Client, after uint64) (names []string, index uint64, err error) {
	options := &api.QueryOptions{WaitIndex: after}
	entries, meta, err := client.Health().Service(r.name, "", true, options.WithContext(ctx))
	if err != nil {
		return nil, 0, classify(ctx, err)
	}
	for _, e := range entries {
		if name, ours := strings.CutPrefix(e.Service.ID, r.name+"-"); ours {
			names = append(names, decodeKey(name))
		}
	}
	return names, meta.LastIndex, nil
}

// Close closes the connections.
func (r *registry) Close() error {
	for _, h := range r.http {
		h.CloseIdleConnections()
	}
	return nil
}

// registration is one instance at an agent.
type registration struct {
	on    *registry
	agent *api.Agent
	ttl   time.Duration
	id    string // "" before Attach
}

func (r *registration) TTL() time.Duration { return r.ttl }

// Attach registers the instance, which passes from now on. A service has no value.
func (r *registration) Attach(ctx context.Context, key, _ []byte) error {
	name, err := encodeKey(key)
	if err != nil {
		return database.NotApplied(database.ClassOther, err)
	}
	id := r.on.name + "-" + name
	err = r.agent.ServiceRegisterOpts(&api.AgentServiceRegistration{
		ID: id, Name: r.on.name,
		Check: &api.AgentServiceCheck{CheckID: id, TTL: r.ttl.String(), Status: api.HealthPassing, DeregisterCriticalServiceAfter: forgotten.String()},
	}, api.ServiceRegisterOpts{}.WithContext(ctx))
	if err == nil {
		r.id = id
	}
	return classify(ctx, err)
}

// Keep renews the check. The agent writes to the servers only if it was critical.
func (r *registration) Keep(ctx context.Context) error {
	err := r.agent.UpdateTTLOpts(r.id, "", api.HealthPassing, (&api.QueryOptions{}).WithContext(ctx))
	if isUnknown(err) {
		return errNoSession()
	}
	return classify(ctx, err)
}

// Abandon does nothing: a check becomes critical unless it is renewed.
func (r *registration) Abandon() {}

// Release deregisters the instance.
func (r *registration) Release(ctx context.Context) error {
	if r.id == "" {
		return nil
	}
	err := r.agent.ServiceDeregisterOpts(r.id, (&api.QueryOptions{}).WithContext(ctx))
	if isUnknown(err) {
		return nil
	}
	return classify(ctx, err)
}

// isUnknown reports whether an agent has no such check or service.
func isUnknown(err error) bool {
	var status api.StatusError
	return errors.As(err, &status) && status.Code == http.StatusNotFound
}
