package zookeeper

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"
)

// Request opcodes.
const (
	opCreate       = 1
	opDelete       = 2
	opExists       = 3
	opGetData      = 4
	opSetData      = 5
	opGetACL       = 6
	opGetChildren  = 8
	opSync         = 9
	opPing         = 11
	opGetChildren2 = 12
	opAuth         = 100
	opAddWatch     = 106
	opClose        = -11
)

// Transaction numbers (xid) outside the request sequence.
const (
	xidNotice = -1
	xidPing   = -2
	xidAuth   = -4
)

// Sizes in bytes.
const (
	lengthField = 4         // before every packet
	headerSize  = 4 + 8 + 4 // of an answer: xid, zxid, error
	statSize    = 68        // znode metadata
	passwdSize  = 16        // session password
)

// errMalformed is wrapped by every error about an answer that cannot be parsed.
var errMalformed = errors.New("malformed answer")

// packet begins a packet in b; sealed sets its length.
func packet(b []byte) []byte { return append(b[:0], 0, 0, 0, 0) }

// sealed sets the length field of a packet.
func sealed(b []byte) []byte {
	binary.BigEndian.PutUint32(b, uint32(len(b)-lengthField))
	return b
}

func appendInt(b []byte, n int32) []byte  { return binary.BigEndian.AppendUint32(b, uint32(n)) }
func appendLong(b []byte, n int64) []byte { return binary.BigEndian.AppendUint64(b, uint64(n)) }

// appendBytes appends a length and then the text.
func appendBytes[T string | []byte](b []byte, text T) []byte {
	return append(appendInt(b, int32(len(text))), text...)
}

// appendHeader begins a request packet.
func appendHeader(b []byte, xid, op int32) []byte { return appendInt(appendInt(packet(b), xid), op) }

// appendConnect appends the request for a session with its password; session 0 requests a new one.
// Servers that have not applied transaction zxid refuse it.
func appendConnect(b []byte, zxid int64, timeout time.Duration, session int64, password [passwdSize]byte) []byte {
	const version, readOnly = 0, 0
	b = appendLong(appendInt(packet(b), version), zxid)
	b = appendLong(appendInt(b, int32(timeout.Milliseconds())), session)
	b = appendBytes(b, password[:])
	return sealed(append(b, readOnly))
}

// appendAuth appends a request that authenticates the session.
func appendAuth(b []byte, scheme string, credentials []byte) []byte {
	const kind = 0
	b = appendInt(appendHeader(b, xidAuth, opAuth), kind)
	return sealed(appendBytes(appendBytes(b, scheme), credentials))
}

// append encodes the access for a create request.
func (a access) append(b []byte) []byte {
	b = appendInt(b, int32(len(a)))
	for _, acl := range a {
		b = appendBytes(appendBytes(appendInt(b, acl.Perms), acl.Scheme), acl.ID)
	}
	return b
}

// connectAnswer is the answer to a request for a session.
type connectAnswer struct {
	timeout time.Duration // of the session, as the server set it
	session int64         // 0 means that the session expired
	// password belongs to the session; zero if the answer lacks it.
	password [passwdSize]byte
}

// parseConnectAnswer reads the answer to a request for a session, without its length.
// Some server versions omit the field after the password.
func parseConnectAnswer(b []byte) (connectAnswer, error) {
	const version, timeout, session = 4, 4, 8
	if len(b) < version+timeout+session {
		return connectAnswer{}, fmt.Errorf("%w: an answer to connect of %d bytes", errMalformed, len(b))
	}
	w := connectAnswer{
		timeout: time.Duration(int32(binary.BigEndian.Uint32(b[version:]))) * time.Millisecond,
		session: int64(binary.BigEndian.Uint64(b[version+timeout:])),
	}
	if w.session != 0 && w.timeout <= 0 {
		return w, fmt.Errorf("%w: a session time-out of %v", errMalformed, w.timeout)
	}
	if rest := b[version+timeout+session:]; len(rest) >= lengthField+passwdSize {
		copy(w.password[:], rest[lengthField:])
	}
	return w, nil
}

// header begins every answer.
type header struct {
	size int // bytes after the header
	xid  int32
	zxid int64
	code int32
}

// parseHeader reads the length and header of an answer, which may have at most most bytes.
func parseHeader(b []byte, most int) (header, error) {
	length := int64(binary.BigEndian.Uint32(b))
	if length < headerSize || length > int64(most) {
		return header{}, fmt.Errorf("%w: it announces %d bytes, the most is %d", errMalformed, length, most)
	}
	b = b[lengthField:]
	return header{
		size: int(length) - headerSize,
		xid:  int32(binary.BigEndian.Uint32(b)),
		zxid: int64(binary.BigEndian.Uint64(b[4:])),
		code: int32(binary.BigEndian.Uint32(b[12:])),
	}, nil
}

// lengthOf reads a length field.
func lengthOf(b []byte) int32 { return int32(binary.BigEndian.Uint32(b)) }

// versionOf returns the version of a znode from its stat, where it follows the ids and times of the
// transactions that created and modified the znode.
func versionOf(stat []byte) int32 { return int32(binary.BigEndian.Uint32(stat[4*8:])) }

// errorOf returns the go-zookeeper error for a protocol code, nil for success.
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
	case -123:
		return zk.ErrReconfigDisabled
	}
	return serverError{code}
}
