package consul

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/hashicorp/consul/api"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/sleep"
)

var (
	_ database.SessionDialer = (*Options)(nil)
	_ database.Sessions      = (*sessions)(nil)
	_ database.Session       = (*session)(nil)
	_ database.Taker         = (*session)(nil)
)

const (
	// leastTTL and mostTTL bound a TTL, unless session_ttl_min changes the lower one.
	leastTTL = 10 * time.Second
	mostTTL  = 24 * time.Hour
	// sessionConns bounds the session requests that run at the same time.
	sessionConns = 64
	// roundTrip is longer than any answer without a wait takes.
	roundTrip = 100 * time.Millisecond
)

// sessionFacts returns the facts about sessions in the key-value store, without health checks.
func sessionFacts() *database.SessionFacts {
	return &database.SessionFacts{
		What: "session without health checks, which deletes its keys (LockDelay 15 s, Consul's default)", Least: leastTTL, Most: mostTTL, Step: time.Millisecond,
		Rule: "after twice its TTL", Takes: true, Refused: lockDelay,
		Ends: func(ttl time.Duration, _ int) (earliest, latest time.Duration) {
			return 2 * ttl, 2 * ttl
		},
		Renewal: "a PUT of /v1/session/renew by Consul's own client", Watch: "a blocking query of their keys and a list after each change",
		Requests: "PUTs of /v1/session/create, renew and destroy",
		Beside:   "services that its agents register and check by health checks",
	}
}

// sessions are granted through one member, over separate connections.
type sessions struct {
	http   *http.Client
	api    *api.Client
	prefix string
	target database.Target
	body   int64
}

// DialSessions opens connections to the preferred or else the first member. An ACL token must
// allow writing session_prefix "".
func (o *Options) DialSessions(ctx context.Context, t database.Target) (database.Sessions, error) {
	s := &sessions{prefix: t.KeyPrefix() + database.SessionKeys, target: t, body: o.members(t).maxBody}
	var err error
	if s.api, s.http, err = s.open(sessionConns); err != nil {
		return nil, fmt.Errorf("dial consul: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	if _, _, err := s.names(ctx, s.api, "-", 0); err != nil && !inTrouble(err) {
		return nil, errors.Join(fmt.Errorf("dial consul: %w%s", err, hint(err)), s.Close())
	}
	return s, nil
}

// open returns a client with some connections.
func (s *sessions) open(conns int) (*api.Client, *http.Client, error) {
	client, config, err := openLibrary(s.target, max(s.target.Prefer, 0), s.body, conns)
	if err != nil {
		return nil, nil, err
	}
	return client, config.HttpClient, nil
}

// Grant begins a session.
func (s *sessions) Grant(ctx context.Context, ttl time.Duration) (database.Session, error) {
	ttl = sessionFacts().Granted(ttl)
	id, _, err := s.api.Session().CreateNoChecks(entryOf(ttl), (&api.WriteOptions{}).WithContext(ctx))
	if err != nil {
		return nil, classify(ctx, err)
	}
	return &session{on: s, id: id, ttl: ttl}, nil
}

// Watch waits for changes to the keys with blocking queries, and lists the keys after each.
func (s *sessions) Watch(ctx context.Context, ready func(), changed func(database.Change)) error {
	client, idle, err := s.open(1)
	if err != nil {
		return fmt.Errorf("watch: %w", err)
	}
	defer idle.CloseIdleConnections()
	listed := database.NewListed(ready, changed)
	for {
		sent := time.Now()
		names, index, err := s.names(ctx, client, "", 0)
		if err == nil {
			listed.Next(names, sent, time.Now())
			// With names that end at the first "-", an answer is short.
			sent = time.Now()
			_, _, err = s.names(ctx, client, "-", max(index, 1))
		}
		switch _, class := database.Classify(err); {
		case ctx.Err() != nil:
			return nil
		case err == nil && time.Since(sent) > roundTrip: // the query waited, so nothing had changed before
			listed.Unchanged(time.Now())
		case class == database.ClassDenied:
			return fmt.Errorf("watch: %w", err)
		case err != nil && !sleep.For(ctx, roundTrip): // members elect a leader, or this one restarts
			return nil
		}
	}
}

// names returns the names of the keys up to a separator, and the index of the answer. It waits for
// a change after the index after, unless that is 0.
func (s *sessions) names(ctx context.Context, client *api.Client, separator string, after uint64) (names []string, index uint64, err error) {
	options := &api.QueryOptions{WaitIndex: after}
	keys, meta, err := client.KV().Keys(s.prefix, separator, options.WithContext(ctx))
	if err != nil {
		return nil, 0, classify(ctx, err)
	}
	for _, key := range keys {
		if name, ours := strings.CutPrefix(key, s.prefix); ours {
			names = append(names, decodeKey(name))
		}
	}
	return names, meta.LastIndex, nil
}

// Close closes the connections.
func (s *sessions) Close() error {
	s.http.CloseIdleConnections()
	return nil
}

type session struct {
	on  *sessions
	id  string
	ttl time.Duration
}

func (s *session) TTL() time.Duration { return s.ttl }

// Attach creates a key and acquires it.
func (s *session) Attach(ctx context.Context, key, value []byte) error {
	taken, err := s.Take(ctx, key, value)
	if err == nil && !taken {
		return database.NotApplied(database.ClassOther, errors.New("another session holds the key"))
	}
	return err
}

// Take acquires a key. For the LockDelay after a session ends, no session acquires its keys.
func (s *session) Take(ctx context.Context, key, value []byte) (bool, error) {
	name, err := encodeKey(key)
	if err != nil {
		return false, database.NotApplied(database.ClassOther, err)
	}
	acquired, _, err := s.on.api.KV().Acquire(&api.KVPair{Key: s.on.prefix + name, Value: value, Session: s.id}, (&api.WriteOptions{}).WithContext(ctx))
	if errors.Is(err, errFalse) {
		return false, nil
	}
	return err == nil && acquired, classify(ctx, err)
}

func (s *session) Keep(ctx context.Context) error {
	entry, _, err := s.on.api.Session().Renew(s.id, (&api.WriteOptions{}).WithContext(ctx))
	if err == nil && entry == nil {
		return errNoSession()
	}
	return classify(ctx, err)
}

// Abandon does nothing: a session ends unless it is renewed.
func (s *session) Abandon() {}

// Release ends the session. To Consul, ending it again is no error.
func (s *session) Release(ctx context.Context) error {
	_, err := s.on.api.Session().Destroy(s.id, (&api.WriteOptions{}).WithContext(ctx))
	return classify(ctx, err)
}

const (
	// lockDelay is the default LockDelay, and mostLockDelay the longest one.
	lockDelay     = 15 * time.Second
	mostLockDelay = 60 * time.Second
	// delayRest is how long the direct recipe waits before it requests a delayed lock again:
	// members do not report when the delay is over.
	delayRest = 100 * time.Millisecond
)

// sessionName lets operators recognize sessions by this program.
const sessionName = "dbtester"

// entryOf returns a session without health checks.
func entryOf(ttl time.Duration) *api.SessionEntry {
	return &api.SessionEntry{Name: sessionName, TTL: sessionFacts().Granted(ttl).String(), Behavior: api.SessionBehaviorDelete}
}

// parsedSession parses the id of a session, which is a UUID.
func parsedSession(text string) (id database.SessionID, err error) {
	plain := strings.ReplaceAll(text, "-", "")
	if n, err := hex.Decode(id[:], []byte(plain)); err != nil || n != len(id) {
		return id, fmt.Errorf("%w: a session has a UUID, got one of %d digits", errMalformed, len(plain))
	}
	return id, nil
}

// uuid formats the id as Consul does.
func uuid(id database.SessionID) string {
	return fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
}

// errNoSession returns the error for a request about a missing session.
func errNoSession() error { return database.NotApplied(database.ClassNotFound, database.ErrNoSession) }
