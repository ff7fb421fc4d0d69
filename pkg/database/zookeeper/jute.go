package zookeeper

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"
)

// What requests ask for.
const (
	opCreate  = 1
	opDelete  = 2
	opGetData = 4
	opSetData = 5
	opSync    = 9
	opPing    = 11
	opAuth    = 100
	opClose   = -11
)

// Numbers of requests that are none of the client's sequence, and of the server's
// own words.
const (
	xidNotice = -1
	xidPing   = -2
	xidAuth   = -4
)

// Sizes in bytes.
const (
	lengthField = 4         // in front of every packet
	headerSize  = 4 + 8 + 4 // of an answer: xid, zxid, error
	statSize    = 68        // of what is told of a znode
	passwdSize  = 16        // of a session's password
)

// errMalformed is the cause of every error about what a server sent.
var errMalformed = errors.New("malformed answer")

// packet begins a packet, whose length is set by sealed.
func packet(b []byte) []byte { return append(b[:0], 0, 0, 0, 0) }

// sealed ends a packet.
func sealed(b []byte) []byte {
	binary.BigEndian.PutUint32(b, uint32(len(b)-lengthField))
	return b
}

func appendInt(b []byte, n int32) []byte  { return binary.BigEndian.AppendUint32(b, uint32(n)) }
func appendLong(b []byte, n int64) []byte { return binary.BigEndian.AppendUint64(b, uint64(n)) }

// appendBytes appends a text, or bytes, with its length before it.
func appendBytes[T string | []byte](b []byte, text T) []byte {
	return append(appendInt(b, int32(len(text))), text...)
}

// appendHeader begins a request.
func appendHeader(b []byte, xid, op int32) []byte { return appendInt(appendInt(packet(b), xid), op) }

// appendConnect appends the request for a new session, by a client that has seen
// what servers did up to zxid: one that is behind does not serve it.
func appendConnect(b []byte, zxid int64, timeout time.Duration) []byte {
	const version, session, readOnly = 0, 0, 0
	b = appendLong(appendInt(packet(b), version), zxid)
	b = appendLong(appendInt(b, int32(timeout.Milliseconds())), session)
	b = appendBytes(b, make([]byte, passwdSize))
	return sealed(append(b, readOnly))
}

// appendAuth appends a request that shows credentials.
func appendAuth(b []byte, scheme string, credentials []byte) []byte {
	const kind = 0
	b = appendInt(appendHeader(b, xidAuth, opAuth), kind)
	return sealed(appendBytes(appendBytes(b, scheme), credentials))
}

// append appends the access as a part of a create request.
func (a access) append(b []byte) []byte {
	b = appendInt(b, int32(len(a)))
	for _, acl := range a {
		b = appendBytes(appendBytes(appendInt(b, acl.Perms), acl.Scheme), acl.ID)
	}
	return b
}

// welcome is what a server says to a request for a session.
type welcome struct {
	timeout time.Duration // that was agreed on
	session int64         // 0 is none
}

// parseWelcome reads the answer to a request for a session, without its length.
// What follows the password, servers of some versions leave out.
func parseWelcome(b []byte) (welcome, error) {
	const version, timeout, session = 4, 4, 8
	if len(b) < version+timeout+session {
		return welcome{}, fmt.Errorf("%w: %d bytes are no session", errMalformed, len(b))
	}
	w := welcome{
		timeout: time.Duration(int32(binary.BigEndian.Uint32(b[version:]))) * time.Millisecond,
		session: int64(binary.BigEndian.Uint64(b[version+timeout:])),
	}
	if w.session != 0 && w.timeout <= 0 {
		return w, fmt.Errorf("%w: a session for %v", errMalformed, w.timeout)
	}
	return w, nil
}

// header is what every answer begins with.
type header struct {
	size int // of what follows, in bytes
	xid  int32
	zxid int64
	code int32
}

// parseHeader reads the length of an answer and its header, of an answer with that
// many bytes at most.
func parseHeader(b []byte, most int) (header, error) {
	length := int64(binary.BigEndian.Uint32(b))
	if length < headerSize || length > int64(most) {
		return header{}, fmt.Errorf("%w: %d bytes, the most is %d", errMalformed, length, most)
	}
	b = b[lengthField:]
	return header{
		size: int(length) - headerSize,
		xid:  int32(binary.BigEndian.Uint32(b)),
		zxid: int64(binary.BigEndian.Uint64(b[4:])),
		code: int32(binary.BigEndian.Uint32(b[12:])),
	}, nil
}

// lengthOf reads the length of what follows.
func lengthOf(b []byte) int32 { return int32(binary.BigEndian.Uint32(b)) }

// versionOf returns the version of a znode from its stat, which begins with the
// transactions that made and changed it, and when they did.
func versionOf(stat []byte) int32 { return int32(binary.BigEndian.Uint32(stat[4*8:])) }

// errorOf returns the library's name for what a server said, nil for success.
func errorOf(code int32) error {
	switch code {
	case 0:
		return nil
	case -8:
		return zk.ErrBadArguments
	case -100:
		return zk.ErrAPIError
	case -101:
		return zk.ErrNoNode
	case -102:
		return zk.ErrNoAuth
	case -103:
		return zk.ErrBadVersion
	case -108:
		return zk.ErrNoChildrenForEphemerals
	case -110:
		return zk.ErrNodeExists
	case -111:
		return zk.ErrNotEmpty
	case -112:
		return zk.ErrSessionExpired
	case -114:
		return zk.ErrInvalidACL
	case -115:
		return zk.ErrAuthFailed
	case -116:
		return zk.ErrClosing
	case -117:
		return zk.ErrNothing
	case -118:
		return zk.ErrSessionMoved
	}
	return fmt.Errorf("error %d", code)
}
