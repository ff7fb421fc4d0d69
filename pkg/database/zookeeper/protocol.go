package zookeeper

import (
	"context"
	"fmt"

	"github.com/go-zookeeper/zk"

	"github.com/coreos/dbtester/pkg/database"
)

// Protocol is how clients speak to a cluster: to ZooKeeper, or to a proxy that
// passes for it.
type Protocol struct {
	Keys Keyspace
	// MaxPacket is the largest request in bytes that the server takes. It answers
	// larger ones by closing the connection, so clients don't send them.
	MaxPacket int
	// Transport carries the requests of clients; empty is [Lean]. What is no load,
	// such as the making of parents, is left to the library.
	Transport Transport
}

// DefaultMaxPacket is ZooKeeper's own default of jute.maxbuffer.
const DefaultMaxPacket = 1<<20 - 1

// limitKeySize is the key that Info.MaxValue reckons with: the size that
// experiments have by default.
const limitKeySize = 256

// createOverhead is what a create request holds besides path, value and access:
//
//	xid, opcode     4 + 4
//	path, value     a length of 4 each
//	flags           4
const createOverhead = 20

// answerOverhead is what the answer to a get holds besides the value:
//
//	xid, zxid, error  4 + 8 + 4
//	value             a length of 4
//	stat              68
const answerOverhead = 88

// openToAll is the size in bytes of the access that anyone has: the number of its
// entries, and of its only one the permissions, "world" and "anyone".
const openToAll = 4 + 4 + 4 + 5 + 4 + 6

// putSize is the size of the larger of the two requests that a put may need, with
// an access of that many bytes.
func putSize(access, path, value int) int { return createOverhead + access + path + value }

// MaxValue returns the largest value under a key of keySize bytes that needs no
// escapes, for a client without credentials; 0 if there is none.
func (p Protocol) MaxValue(keySize int) int {
	return max(0, p.MaxPacket-putSize(openToAll, p.Keys.pathSize(keySize), 0))
}

// Dial opens one session and makes the parents of the keys if they are not
// there. It fails if no endpoint answers; with Prefer set, only that one is
// tried, then and whenever the connection is lost.
//
// With credentials, what it creates belongs to whoever shows the same. Without, or
// with others, it fails where the parents of the keys are somebody's.
//
// Its memory follows from Target.MaxBytes: with [Standard] it holds the largest
// request and the largest answer, with [Lean] no more than 20 KiB of either.
func (p Protocol) Dial(ctx context.Context, t database.Target) (database.Client, error) {
	if p.Transport == Standard {
		s, err := p.dialStandard(ctx, t)
		if err != nil {
			return nil, fmt.Errorf("dial: %w", err)
		}
		return &client{requests: s, keys: p.Keys, limit: min(p.MaxPacket, s.largest), access: s.access.size()}, nil
	}
	l, err := p.dialLean(ctx, t)
	if err != nil {
		return nil, fmt.Errorf("dial: %w", err)
	}
	return &client{requests: l, keys: p.Keys, limit: p.MaxPacket, access: len(l.access)}, nil
}

// dialStandard opens a session and makes the parents of the keys in it.
func (p Protocol) dialStandard(ctx context.Context, t database.Target) (*session, error) {
	s, err := open(ctx, t, p.bufferSize(t.MaxBytes))
	if err != nil {
		return nil, err
	}
	if err := p.Keys.prepare(ctx, s); err != nil {
		s.close()
		return nil, fmt.Errorf("find or make the parents of the keys: %w", err)
	}
	return s, nil
}

// dialLean opens a lean session, and one of the library if there are parents to make.
func (p Protocol) dialLean(ctx context.Context, t database.Target) (*lean, error) {
	l, err := openLean(ctx, t, p.MaxPacket+answerOverhead)
	if err != nil {
		return nil, err
	}
	done, err := readable(ctx, l, p.Keys.marker())
	if err != nil {
		err = fmt.Errorf("find the parents of the keys: %w", err)
	} else if !done {
		t.MaxBytes = 1 // parents are small
		var maker *session
		if maker, err = p.dialStandard(ctx, t); err == nil {
			maker.close()
		}
	}
	if err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

// bufferSize is the size in bytes that both buffers of a session need so that
// requests and answers with maxBytes of key and value fit; 0 means that the size
// is unknown.
func (p Protocol) bufferSize(maxBytes int) int {
	// Spare is for a few escapes. The least also holds a batch of parents.
	const spare, least = 512, 4 << 10
	// The largest value under a short key is read in more than it was put in.
	size := p.MaxPacket + answerOverhead
	if maxBytes > 0 {
		size = min(size, putSize(openToAll, p.Keys.pathSize(0), maxBytes)+spare)
	}
	return max(size+lengthField, least)
}

// Serves returns nil if that member opens a session, which takes a quorum, and
// answers a read that goes through the leader.
func (p Protocol) Serves(ctx context.Context, t database.Target, member int) error {
	if member < 0 || member >= len(t.Endpoints) {
		return fmt.Errorf("member %d of %d", member, len(t.Endpoints))
	}
	t.Prefer = member
	s, err := open(ctx, t, p.bufferSize(1))
	if err != nil {
		return fmt.Errorf("member %d: %w", member, err)
	}
	defer s.close()
	if err := s.sync(ctx, []byte("/")); err != nil {
		return fmt.Errorf("sync through member %d: %w", member, err)
	}
	if err := s.do(ctx, func(c *zk.Conn) error { _, _, err := c.Exists("/"); return err }); err != nil {
		return fmt.Errorf("read from member %d: %w", member, err)
	}
	return nil
}

// CountKeys counts every key whose write was answered before, by the number of
// children of each parent. Any member may answer.
func (p Protocol) CountKeys(ctx context.Context, t database.Target) (int64, error) {
	t.Prefer = -1
	s, err := open(ctx, t, p.bufferSize(1))
	if err != nil {
		return 0, fmt.Errorf("count keys: %w", err)
	}
	defer s.close()
	n, err := p.Keys.count(ctx, s)
	if err != nil {
		return 0, fmt.Errorf("count keys: %w", err)
	}
	return n, nil
}
