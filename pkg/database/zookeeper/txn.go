package zookeeper

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/go-zookeeper/zk"

	"github.com/coreos/dbtester/pkg/database"
)

var _ database.Transactor = (*client)(nil)

// guardedSet is one key in a transaction: a setData with a version, or a create.
type guardedSet struct {
	path, value []byte
	create      bool
	version     int32 // expected by a setData; afterwards the new znode version
	err         error // for this request alone, nil if it or another one was not made
}

// versionOffset is added to a znode version, because a new znode has version 0.
const versionOffset = 1

// Txn makes all puts if the znodes have the expected versions. One key needs a create or a
// setData with a version, several keys one multi request. The answer to a conflict lacks the znode
// version.
func (c *client) Txn(ctx context.Context, puts []database.GuardedPut) error {
	size := multiOverhead
	for i := range puts {
		path := c.pathOf(puts[i].Key)
		size += multiHeader + putSize(c.access, len(path), len(puts[i].Value)) - requestHeader
	}
	if len(puts) > 1 && size > c.limit {
		return database.NotApplied(database.ClassTooLarge, fmt.Errorf("a request may have at most %d bytes, got %d", c.limit, size))
	}
	if len(puts) == 1 {
		return c.txnOne(ctx, &puts[0])
	}
	sets := make([]guardedSet, len(puts))
	for i, p := range puts {
		sets[i] = guardedSet{path: c.keys.appendPath(nil, p.Key), value: p.Value, create: p.Version == database.NoVersion, version: int32(p.Version - versionOffset)}
	}
	if err := c.multi(ctx, sets); err != nil {
		return err
	}
	for i := range sets {
		if err := sets[i].err; err != nil {
			return lostRace(&puts[i], classify(err, true))
		}
	}
	for i := range sets {
		puts[i].Version = int64(sets[i].version) + versionOffset
	}
	return nil
}

// txnOne applies a guarded put to one key.
func (c *client) txnOne(ctx context.Context, p *database.GuardedPut) error {
	path := c.pathOf(p.Key)
	if err := c.checkSize(path, p.Value); err != nil {
		return err
	}
	if p.Version == database.NoVersion {
		if err := c.add(ctx, path, p.Value); err != nil {
			return lostRace(p, err)
		}
		p.Version = versionOffset
		return nil
	}
	version, err := c.update(ctx, path, p.Value, int32(p.Version-versionOffset))
	if err != nil {
		return lostRace(p, err)
	}
	p.Version = int64(version) + versionOffset
	return nil
}

// lostRace returns the error for a key that may have another version than expected, and records
// its version as far as it is known.
func lostRace(p *database.GuardedPut, err error) error {
	switch {
	case errors.Is(err, zk.ErrNoNode):
		p.Version = database.NoVersion
		return database.NotApplied(database.ClassConflict, err)
	case errors.Is(err, zk.ErrBadVersion), errors.Is(err, zk.ErrNodeExists):
		p.Version = database.UnknownVersion
	}
	return err
}

// Version returns the version of key, after a sync.
func (c *client) Version(ctx context.Context, key []byte) (int64, error) {
	path := c.pathOf(key)
	if err := c.sync(ctx, path); err != nil {
		return 0, err
	}
	_, version, err := c.get(ctx, nil, path)
	switch {
	case errors.Is(err, zk.ErrNoNode):
		return database.NoVersion, nil
	case err != nil:
		return 0, err
	}
	return int64(version) + versionOffset, nil
}

func (s *session) update(ctx context.Context, path, value []byte, version int32) (int32, error) {
	at := string(path)
	// A timed-out call writes to its own answer, which is never read.
	var now int32
	err := s.do(ctx, func(c *zk.Conn) error {
		stat, err := c.Set(at, value, version)
		if err == nil {
			now = stat.Version
		}
		return err
	})
	if err != nil {
		return 0, err
	}
	return now, nil
}

func (s *session) multi(ctx context.Context, sets []guardedSet) error {
	var ops []any
	for _, set := range sets {
		if set.create {
			ops = append(ops, &zk.CreateRequest{Path: string(set.path), Data: set.value, Acl: s.access})
		} else {
			ops = append(ops, &zk.SetDataRequest{Path: string(set.path), Data: set.value, Version: set.version})
		}
	}
	// A timed-out call writes to its own answer, which is never read.
	var answers []zk.MultiResponse
	failed := false
	err := s.do(ctx, func(c *zk.Conn) error {
		got, err := c.Multi(ops...)
		failed = slices.ContainsFunc(got, func(a zk.MultiResponse) bool { return a.Error != nil })
		if failed {
			err = nil // the error for one request decides
		}
		answers = got
		return err
	})
	if err != nil {
		return err
	}
	if len(answers) != len(sets) {
		return classify(fmt.Errorf("%w: %d answers to %d requests of one transaction", errMalformed, len(answers), len(sets)), true)
	}
	for i, a := range answers {
		switch sets[i].version = 0; {
		case decides(a.Error):
			sets[i].err = a.Error
		case a.Stat != nil:
			sets[i].version = a.Stat.Version
		}
	}
	return refused(sets, failed)
}

// decides reports whether the error for one request is the reason that its transaction was not
// made. Requests after the failed one have an error too, unlike those before it.
func decides(err error) bool {
	if err == nil {
		return false
	}
	_, refused := classOf(err)
	return refused
}

// refused returns an error if a transaction failed and no request in it has the reason.
func refused(sets []guardedSet, failed bool) error {
	if !failed {
		return nil
	}
	for i := range sets {
		if sets[i].err != nil {
			return nil
		}
	}
	return database.NotApplied(database.ClassOther, errors.New("the transaction was refused without a reason"))
}

func (l *lean) update(ctx context.Context, path, value []byte, version int32) (int32, error) {
	b := appendBytes(appendBytes(l.begin(opSetData, len(path)+len(value)), path), value)
	a, err := l.send(ctx, appendInt(b, version))
	if err != nil {
		return 0, err
	}
	if a.code == 0 {
		if a.size < statSize {
			return 0, l.fail(ctx, fmt.Errorf("%w: %d bytes are too few for the metadata of a znode", errMalformed, a.size))
		}
		stat, err := l.conn.In.Next(statSize)
		if err != nil {
			return 0, l.fail(ctx, err)
		}
		version = versionOf(stat)
		a.size -= statSize
	}
	return version, l.finish(ctx, a)
}

// Parts of a multi request and its answer.
const (
	opMulti       = 14
	opFailed      = -1        // the type of an error answer
	multiHeader   = 4 + 1 + 4 // before every request: type, whether it is the end, error
	requestHeader = 4 + 4     // xid, opcode
	multiOverhead = requestHeader + multiHeader
)

func appendMultiHeader(b []byte, op int32, end byte) []byte {
	const noError = -1
	return appendInt(append(appendInt(b, op), end), noError)
}

func (l *lean) multi(ctx context.Context, sets []guardedSet) error {
	const flags, end = 0, 1
	texts := 0
	for _, s := range sets {
		texts += len(s.path) + len(s.value) + len(l.acl) + 2*multiHeader
	}
	b := l.begin(opMulti, texts)
	for _, s := range sets {
		op := int32(opSetData)
		if s.create {
			op = opCreate
		}
		b = appendBytes(appendBytes(appendMultiHeader(b, op, 0), s.path), s.value)
		if s.create {
			b = appendInt(append(b, l.acl...), flags)
		} else {
			b = appendInt(b, s.version)
		}
	}
	a, err := l.send(ctx, appendMultiHeader(b, opFailed, end))
	if err != nil {
		return err
	}
	failed := false
	if a.code == 0 {
		body, err := l.conn.In.Next(a.size)
		if err == nil {
			failed, err = parseMulti(body, sets)
		}
		if err != nil {
			return l.fail(ctx, err)
		}
		a.size = 0
	}
	if err := l.finish(ctx, a); err != nil {
		return err
	}
	return refused(sets, failed)
}

// parseMulti sets the version or error of each request from the answer to a multi request, and
// returns whether the transaction failed.
func parseMulti(b []byte, sets []guardedSet) (failed bool, err error) {
	short := fmt.Errorf("%w: the answer to a transaction ends early", errMalformed)
	for i := range sets {
		if len(b) < multiHeader {
			return false, short
		}
		op := lengthOf(b)
		b = b[multiHeader:]
		size := 0
		switch {
		case op == opFailed && len(b) >= 4:
			size, failed = 4, true
			if err := errorOf(lengthOf(b)); decides(err) {
				sets[i].err = err
			}
		case op == opSetData && len(b) >= statSize:
			size, sets[i].version = statSize, versionOf(b)
		case op == opCreate && len(b) >= lengthField:
			size, sets[i].version = lengthField+max(0, int(binary.BigEndian.Uint32(b))), 0
		}
		if size == 0 || size > len(b) {
			return false, short
		}
		b = b[size:]
	}
	return failed, nil
}
