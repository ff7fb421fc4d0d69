package etcd

import (
	"cmp"
	"context"
	"errors"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/database/etcd/answer"
	"github.com/coreos/dbtester/pkg/database/etcd/unary"
	"github.com/coreos/dbtester/pkg/workload"
)

// Methods, as gRPC names them on the wire.
const (
	pathPut    = "/etcdserverpb.KV/Put"
	pathRange  = "/etcdserverpb.KV/Range"
	pathDelete = "/etcdserverpb.KV/DeleteRange"
	pathTxn    = "/etcdserverpb.KV/Txn"
	pathStream = "/etcdserverpb.KV/RangeStream"
	pathStatus = "/etcdserverpb.Maintenance/Status"
)

// lean is a client without grpc-go. It encodes requests straight into the connection buffer, and
// decodes only the needed fields of replies. It is safe for concurrent use and keeps neither key
// nor value.
type lean struct {
	calls  *unary.Client
	tokens *leanTokens // replaces calls for clients that have credentials
	// maxReply is the largest reply for one key and value, in bytes.
	maxReply int
}

var (
	_ database.AppendGetter = (*lean)(nil)
	_ database.Client       = (*lean)(nil)
	_ database.Deleter      = (*lean)(nil)
	_ database.Ranger       = (*lean)(nil)
	_ database.Swapper      = (*lean)(nil)
	_ database.Continuer    = (*lean)(nil)
)

// replyMargin is a generous bound, in bytes, on a reply without its key and value.
const replyMargin = 64 << 10

// dialLean connects and requests the server status. A key and its value have at most maxEntry
// bytes. See [unary.Config] for latePings.
func dialLean(ctx context.Context, t database.Target, maxEntry int, latePings bool) (*lean, error) {
	config, err := leanConfig(t)
	config.LatePings = latePings
	if err != nil {
		return nil, err
	}
	c := &lean{maxReply: maxEntry + replyMargin}
	if t.Auth == nil {
		c.calls = unary.New(config)
	} else {
		c.tokens = newLeanTokens(t.Auth, config)
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	if err := c.call(ctx, pathStatus, &unary.Message{}, wellFormed); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

func leanConfig(t database.Target) (unary.Config, error) {
	addresses, err := t.Preferred()
	if err != nil {
		return unary.Config{}, err
	}
	config, err := t.TLS.Config()
	return unary.Config{Addresses: addresses, TLS: config}, errors.Join(err, checkAuth(t.Auth))
}

// Put creates or overwrites key.
func (c *lean) Put(ctx context.Context, key, value []byte) error { return c.put(ctx, "", key, value) }

// put creates or overwrites the key before+key.
func (c *lean) put(ctx context.Context, before string, key, value []byte) error {
	return c.call(ctx, pathPut, &unary.Message{Before: before, One: key, Two: value}, wellFormed)
}

// Get returns the value of key.
func (c *lean) Get(ctx context.Context, key []byte, mode workload.ReadMode) ([]byte, error) {
	return c.get(ctx, nil, "", key, mode)
}

// AppendGet appends the value of key to a buffer.
func (c *lean) AppendGet(ctx context.Context, to, key []byte, mode workload.ReadMode) ([]byte, error) {
	return c.get(ctx, to, "", key, mode)
}

// get appends the value of the key before+key to a buffer. In place of an empty buffer without room
// it returns the reply memory, which otherwise serves the next call.
func (c *lean) get(ctx context.Context, to []byte, before string, key []byte, mode workload.ReadMode) ([]byte, error) {
	longer, found := to, false
	err := c.call(ctx, pathRange, &unary.Message{Before: before, One: key, Rest: rangeFields(0, mode)}, func(reply []byte) (keep bool, err error) {
		err = values(reply, func(v []byte) {
			if found, keep = true, len(to) == 0 && cap(to) < len(v); keep {
				longer = v
			} else {
				longer = append(to, v...)
			}
		})
		return keep, err
	})
	switch {
	case err != nil:
		return to, err
	case !found:
		return to, database.ErrNotFound
	}
	return longer, nil
}

// Range reads up to limit keys and their values, like [client.Range].
func (c *lean) Range(ctx context.Context, key []byte, limit int, mode workload.ReadMode) (keys int, size int64, err error) {
	return c.RangeTo(ctx, key, []byte(toEnd), limit, mode)
}

func (c *lean) RangeTo(ctx context.Context, key, end []byte, limit int, mode workload.ReadMode) (keys int, size int64, err error) {
	err = c.call(ctx, pathRange, &unary.Message{One: key, Two: end, Rest: rangeFields(limit, mode), MaxReply: c.rangeReply(limit)}, func(reply []byte) (keep bool, err error) {
		return false, values(reply, func(v []byte) { keys, size = keys+1, size+int64(len(v)) })
	})
	if err != nil {
		return 0, 0, err
	}
	return keys, size, nil
}

// rangeReply bounds the reply to a range of limit keys, in bytes, at most 1 GiB.
func (c *lean) rangeReply(limit int) int {
	const most = 1 << 30
	if limit <= 0 || limit > most/c.maxReply {
		return most
	}
	return limit * c.maxReply
}

// Delete removes key.
func (c *lean) Delete(ctx context.Context, key []byte) error {
	return c.call(ctx, pathDelete, &unary.Message{One: key}, wellFormed)
}

// Swap sets key to value in one transaction if it holds old. A missing key is a
// conflict.
func (c *lean) Swap(ctx context.Context, key, old, value []byte) error {
	request, err := proto.Marshal(swap(key, old, value))
	if err != nil {
		return database.NotApplied(database.ClassOther, err)
	}
	var resp pb.TxnResponse
	err = c.call(ctx, pathTxn, &unary.Message{Rest: request}, func(reply []byte) (keep bool, err error) {
		return false, proto.Unmarshal(reply, &resp)
	})
	if err == nil && !resp.Succeeded {
		return database.NotApplied(database.ClassConflict, answer.ErrConflict)
	}
	return err
}

// Continues reports whether the goroutine that reads answers continues the waiting fibers. With
// credentials a call may also wait for a new token.
func (c *lean) Continues() bool { return c.tokens == nil }

// Close closes the connections.
func (c *lean) Close() error {
	if c.tokens != nil {
		c.tokens.Close()
		return nil
	}
	c.calls.Close()
	return nil
}

func (c *lean) call(ctx context.Context, path string, m *unary.Message, read func([]byte) (bool, error)) error {
	if err := ctx.Err(); err != nil {
		return answer.Classify(err, false)
	}
	m.MaxReply = cmp.Or(m.MaxReply, c.maxReply)
	if c.tokens != nil {
		unsent, err := c.tokens.Call(ctx, path, m, read)
		return answer.Classify(err, !unsent)
	}
	unsent, err := c.calls.Call(ctx, path, m, read)
	return answer.Classify(err, !unsent)
}

// Field numbers in etcd messages.
const (
	rangeLimit        = 3 // in RangeRequest
	rangeSerializable = 7
	rangeHeader       = 1 // in RangeResponse
	rangeKeyValues    = 2
	rangeCount        = 4
	headerRevision    = 3 // in ResponseHeader
	streamResponse    = 1 // in RangeStreamResponse
	keyValueValue     = 5 // in KeyValue
)

// rangeFields encodes the fields of a RangeRequest after its keys.
func rangeFields(limit int, mode workload.ReadMode) []byte {
	var b []byte
	if limit > 0 {
		b = protowire.AppendVarint(protowire.AppendTag(b, rangeLimit, protowire.VarintType), uint64(limit))
	}
	if mode == workload.ReadStale {
		b = protowire.AppendVarint(protowire.AppendTag(b, rangeSerializable, protowire.VarintType), 1)
	}
	return b
}

var errMalformed = errors.New("the reply is not a valid message")

// wellFormed checks that a reply is a valid message.
func wellFormed(reply []byte) (keep bool, err error) {
	return false, fields(reply, func(protowire.Number, []byte, uint64) error { return nil })
}

// values calls each for every value in a RangeResponse, as part of the reply. An empty value is not
// encoded, but its key is.
func values(reply []byte, each func(value []byte)) error {
	return fields(reply, func(number protowire.Number, kv []byte, _ uint64) error {
		if number != rangeKeyValues {
			return nil
		}
		var value []byte
		err := fields(kv, func(number protowire.Number, v []byte, _ uint64) error {
			if number == keyValueValue {
				value = v[:len(v):len(v)]
			}
			return nil
		})
		if err == nil {
			each(value)
		}
		return err
	})
}

// fields calls each for every field in a message, with its bytes or its number if it has such a
// type.
func fields(message []byte, each func(protowire.Number, []byte, uint64) error) error {
	for len(message) > 0 {
		var f field
		var err error
		if message, err = f.take(message); err != nil {
			return err
		}
		if err := each(f.number, f.text, f.is); err != nil {
			return err
		}
	}
	return nil
}

// field holds one message field: bytes, or a number.
type field struct {
	number protowire.Number
	text   []byte
	is     uint64
}

// take reads the first field of a message, and returns the rest.
func (f *field) take(message []byte) (rest []byte, err error) {
	number, kind, n := protowire.ConsumeTag(message)
	if n < 0 {
		return nil, status.Error(codes.Internal, errMalformed.Error())
	}
	message = message[n:]
	*f = field{number: number}
	switch kind {
	case protowire.BytesType:
		f.text, n = protowire.ConsumeBytes(message)
	case protowire.VarintType:
		f.is, n = protowire.ConsumeVarint(message)
	default:
		n = protowire.ConsumeFieldValue(number, kind, message)
	}
	if n < 0 {
		return nil, status.Error(codes.Internal, errMalformed.Error())
	}
	return message[n:], nil
}
