package zookeeper

import (
	"context"
	"fmt"

	"github.com/go-zookeeper/zk"

	"github.com/coreos/dbtester/pkg/database"
)

// Protocol configures clients for ZooKeeper, or for a proxy that speaks its protocol.
type Protocol struct {
	Keys Keyspace
	// MaxPacket is the largest request in bytes that the server accepts. It closes the
	// connection on larger ones, so clients refuse to send them.
	MaxPacket int
	// Transport sends client requests; empty means [database.Lean]. The library does everything
	// else, such as creating parents.
	Transport database.Transport
	// EventsBeforeReads means that the answer to a read comes after the events for earlier writes
	// to the znode, and that no other request waits for events, as with a proxy. Servers send
	// events before the answer to any later write.
	EventsBeforeReads bool
}

// DefaultMaxPacket is the default for jute.maxbuffer in ZooKeeper.
const DefaultMaxPacket = 1<<20 - 1

// limitKeySize is the key size in bytes that Info.MaxValue assumes: the default for experiments.
const limitKeySize = 256

// createOverhead is the size in bytes of a create request without path, value and ACL:
//
//	xid, opcode     4 + 4
//	path, value     4 each for the length
//	flags           4
const createOverhead = 20

// answerOverhead is the size in bytes of the answer to a get without the value:
//
//	xid, zxid, error  4 + 8 + 4
//	value             4 for the length
//	stat              68
const answerOverhead = 88

// openToAll is the encoded size in bytes of the ACL that admits everyone: the entry count, and one
// entry with permissions, "world" and "anyone".
const openToAll = 4 + 4 + 4 + 5 + 4 + 6

// putSize returns the size in bytes of a create request, the larger of the two requests a put may
// need. access is the encoded size of the ACL.
func putSize(access, path, value int) int { return createOverhead + access + path + value }

// MaxValue returns the largest value in bytes under a key of keySize bytes without escapes, for a
// client without credentials; 0 if no value fits.
func (p Protocol) MaxValue(keySize int) int {
	return max(0, p.MaxPacket-putSize(openToAll, p.Keys.pathSize(keySize), 0))
}

// MaxTxnValue returns the largest value in bytes for each key in a transaction of that many keys,
// for a client without credentials; 0 if no value fits.
func (p Protocol) MaxTxnValue(keySize, keys int) int {
	if keys < 2 {
		return p.MaxValue(keySize)
	}
	each := multiHeader + putSize(openToAll, p.Keys.pathSize(keySize), 0) - requestHeader
	return max(0, (p.MaxPacket-multiOverhead)/keys-each)
}

// Dial opens one session and creates missing parents of the keys. It fails if no endpoint answers.
// With Prefer set it uses only that endpoint, even after the connection was lost.
//
// With credentials, only clients with the same ones may use the znodes it creates. It fails if the
// parents of the keys belong to other credentials.
//
// ZooKeeper has no request timeout: a server continues with a request the client gave up. It only
// ends sessions from which it receives nothing.
//
// The memory for a client depends on Target.MaxBytes: with [database.Standard] it holds the largest
// request and the largest answer, with [database.Lean] at most 20 KiB of either.
func (p Protocol) Dial(ctx context.Context, t database.Target) (database.Client, error) {
	p.Keys = p.Keys.below(t)
	if p.Transport == database.Standard {
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
	return &client{requests: l, keys: p.Keys, limit: p.MaxPacket, access: len(l.acl)}, nil
}

// dialStandard opens a library session and creates the parents of the keys.
func (p Protocol) dialStandard(ctx context.Context, t database.Target) (*session, error) {
	s, err := open(ctx, t, p.bufferSize(t.MaxBytes))
	if err != nil {
		return nil, err
	}
	if err := p.Keys.prepare(ctx, s); err != nil {
		s.close()
		return nil, fmt.Errorf("find or create the parents of the keys: %w", err)
	}
	return s, nil
}

// dialLean opens a lean session, and a library session to create missing parents.
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

// bufferSize returns the size in bytes of each of the two session buffers, for requests and answers
// with maxBytes of key and value; maxBytes 0 means unknown.
func (p Protocol) bufferSize(maxBytes int) int {
	// Spare is for a few escapes. The least size also holds a batch of parents.
	const spare, least = 512, 4 << 10
	// With a short key, the answer with the largest value is larger than its request.
	size := p.MaxPacket + answerOverhead
	if maxBytes > 0 {
		size = min(size, putSize(openToAll, p.Keys.pathSize(0), maxBytes)+spare)
	}
	return max(size+lengthField, least)
}

// Serves returns nil if that member opens a session, which needs a quorum, and answers
// a read and a sync, which goes through the leader.
func (p Protocol) Serves(ctx context.Context, t database.Target, member int) error {
	if member < 0 || member >= len(t.Endpoints) {
		return fmt.Errorf("the member must be from 0 to %d, got %d", len(t.Endpoints)-1, member)
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

// CountKeys returns the number of keys whose write was answered before the call: the children of
// all parents. Any member may answer.
func (p Protocol) CountKeys(ctx context.Context, t database.Target) (int64, error) {
	t.Prefer = -1
	s, err := open(ctx, t, p.bufferSize(1))
	if err != nil {
		return 0, fmt.Errorf("count keys: %w", err)
	}
	defer s.close()
	n, err := p.Keys.below(t).count(ctx, s)
	if err != nil {
		return 0, fmt.Errorf("count keys: %w", err)
	}
	return n, nil
}

// maxListing bounds the answer with the child names of one parent, in bytes. It holds 250,000 keys
// of 256 bytes. ZooKeeper has no listing in parts.
const maxListing = 64 << 20

// HighestKey returns the highest number among keys whose write was answered before the call, or -1.
// It lists the children of one parent after another, and fails if a listing is larger than
// maxListing.
func (p Protocol) HighestKey(ctx context.Context, t database.Target, keySize int) (int64, error) {
	t.Prefer = -1
	s, err := openFor(ctx, t, p.bufferSize(1), maxListing)
	if err != nil {
		return 0, fmt.Errorf("find the highest key: %w", err)
	}
	defer s.close()
	n, err := p.Keys.below(t).highest(ctx, s, keySize)
	if err != nil {
		return 0, fmt.Errorf("find the highest key: %w", err)
	}
	return n, nil
}
