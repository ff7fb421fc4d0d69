package fake

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/database/fake/expiry"
)

var (
	_ database.SessionDialer = (*Options)(nil)
	_ database.SessionRuler  = (*Options)(nil)
	_ database.Sessions      = (*sessions)(nil)
	_ database.Session       = (*session)(nil)
	_ database.Taker         = (*session)(nil)
)

// leastTTL is the shortest TTL of a session.
const leastTTL = 100 * time.Millisecond

// facts returns the facts about sessions under a law.
func facts(law expiry.Law) *database.SessionFacts {
	return &database.SessionFacts{
		What: "session", Least: leastTTL, Step: time.Millisecond, Rule: law.Rule(), Ends: law.Ends,
		Renewal: "a request of its own", Watch: "a list of all keys, again and again", Takes: true,
		Requests: "a request of its own for each",
	}
}

// SessionFacts returns the facts under the law in the options.
func (o *Options) SessionFacts() database.SessionFacts { return *facts(o.Expiry) }

// sessions grants sessions over a few connections, each for one request at a time.
type sessions struct {
	prefix string
	free   chan *client
	all    []*client
}

// sessionConns bounds the session requests that run at the same time.
const sessionConns = 8

// DialSessions opens connections to the preferred or else the first member.
func (o *Options) DialSessions(ctx context.Context, t database.Target) (database.Sessions, error) {
	s, err := o.dialSessions(ctx, t, sessionConns)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// dialSessions opens that many connections.
func (o *Options) dialSessions(ctx context.Context, t database.Target, conns int) (*sessions, error) {
	s := &sessions{prefix: t.KeyPrefix() + database.SessionKeys, free: make(chan *client, conns)}
	t.Prefix = ""
	for range conns {
		c, err := o.Dial(ctx, t)
		if err != nil {
			return nil, errors.Join(err, s.Close())
		}
		s.all = append(s.all, c.(*client))
		s.free <- c.(*client)
	}
	return s, nil
}

// do sends one request.
func (s *sessions) do(ctx context.Context, op opcode, key, value []byte) ([]byte, error) {
	select {
	case c := <-s.free:
		defer func() { s.free <- c }()
		data, err := c.do(ctx, op, key, value)
		return data, noSession(err)
	case <-ctx.Done():
		return nil, database.NotApplied(classOf(ctx, ctx.Err()), ctx.Err())
	}
}

// Grant begins a session.
func (s *sessions) Grant(ctx context.Context, ttl time.Duration) (database.Session, error) {
	ttl = max(ttl, leastTTL)
	data, err := s.do(ctx, opGrant, strconv.AppendInt(nil, ttl.Milliseconds(), 10), nil)
	if err != nil {
		return nil, err
	}
	id, err := granted(data)
	if err != nil {
		return nil, err
	}
	return &session{on: s, id: id[:sessionID], ttl: ttl}, nil
}

// Watch polls the list of keys.
func (s *sessions) Watch(ctx context.Context, ready func(), changed func(database.Change)) error {
	return database.WatchList(ctx, 2*time.Millisecond, func(ctx context.Context) (names []string, err error) {
		data, err := s.do(ctx, opSessions, nil, []byte(s.prefix))
		if err == nil {
			err = json.Unmarshal(data, &names)
		}
		return names, err
	}, ready, changed)
}

// Close closes the connections.
func (s *sessions) Close() error {
	var errs []error
	for _, c := range s.all {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

// session is a number at the leader.
type session struct {
	on  *sessions
	id  []byte
	ttl time.Duration
}

func (s *session) TTL() time.Duration { return s.ttl }

func (s *session) Attach(ctx context.Context, key, value []byte) error {
	_, err := s.on.do(ctx, opAttach, append(append([]byte{}, s.id...), s.on.prefix+string(key)...), value)
	return err
}

// Take takes a key. The answer is a byte, 1 if the session now has the key.
func (s *session) Take(ctx context.Context, key, value []byte) (bool, error) {
	data, err := s.on.do(ctx, opTake, append(append([]byte{}, s.id...), s.on.prefix+string(key)...), value)
	return err == nil && len(data) == 1 && data[0] == 1, err
}

func (s *session) Keep(ctx context.Context) error {
	_, err := s.on.do(ctx, opKeep, s.id, nil)
	return err
}

func (s *session) Abandon() {}

func (s *session) Release(ctx context.Context) error {
	_, err := s.on.do(ctx, opRelease, s.id, nil)
	return err
}

// sessionID is the size of a session number in bytes, big endian.
const sessionID = 8

// session handles a request about sessions.
func (s *server) session(op opcode, key, value []byte) (code, []byte) {
	table, now := s.leases.of(&s.Options), time.Now()
	switch op {
	case opGrant:
		ms, err := strconv.ParseInt(string(key), 10, 32)
		if err != nil || ms <= 0 {
			return codeRefused, []byte("the key must be a TTL in milliseconds")
		}
		return codeOK, binary.BigEndian.AppendUint64(nil, uint64(table.Grant(time.Duration(ms)*time.Millisecond, now)))
	case opSessions:
		names := table.Names(string(value), now)
		if names == nil {
			names = []string{}
		}
		data, err := json.Marshal(names)
		if err != nil {
			return codeRefused, []byte("the names cannot be encoded")
		}
		return codeOK, data
	}
	if len(key) < sessionID {
		return codeRefused, []byte("the key must begin with the number of a session")
	}
	id, there := int64(binary.BigEndian.Uint64(key)), true
	switch op {
	case opKeep:
		there = table.Keep(id, now)
	case opAttach:
		there = table.Attach(id, string(key[sessionID:]), now)
	case opTake:
		taken := false
		if there, taken = table.Take(id, string(key[sessionID:]), now); taken {
			return codeOK, []byte{1}
		}
	case opRelease:
		table.Release(id)
	}
	if !there {
		return codeNotFound, nil
	}
	return codeOK, nil
}

// granted returns the session in the answer to a grant.
func granted(data []byte) (id database.SessionID, err error) {
	if len(data) != sessionID {
		return id, database.MaybeApplied(database.ClassOther, fmt.Errorf("a session has a number of %d bytes, got %d", sessionID, len(data)))
	}
	return database.NumberedSession(int64(binary.BigEndian.Uint64(data))), nil
}

// noSession returns the error for a request about a session the leader does not have.
func noSession(err error) error {
	if errors.Is(err, database.ErrNotFound) {
		return database.NotApplied(database.ClassNotFound, database.ErrNoSession)
	}
	return err
}
