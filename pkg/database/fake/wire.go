package fake

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// opcode is the operation of a request, one byte on the wire.
type opcode byte

const (
	opReady opcode = iota + 1
	opVersion
	opLead
	opCount
	opPut
	opGet
	opDelete
	opHighest   // among keys whose size is the request key, in decimal
	opClean     // some keys the request key describes: their count
	opRevision  // for a key, its version
	opTxn       // a put whose value begins with the version the key must have
	opGrant     // a session, whose TTL in milliseconds is the request key: its number
	opKeep      // a session, whose number is the request key
	opAttach    // the key behind a session number in the request key
	opRelease   // a session
	opSessions  // all session keys, without the request value in front
	opEnter     // a session's wait for a lock, both in the request key, by the recipe in its value
	opAwait     // a waiting session's turn: its fence
	opLeave     // a session's turn or wait: not found if it had no turn
	opWatch     // the key that the request value is; see watch.go
	opWatchAll  // the keys that begin with the request value
	opWatchPart // the keys in the range the request describes
	opMark      // comes back behind all events
	opEvent     // a change, from the server
	opResume    // a watch that was on another connection, see watch.go
	opGap       // changes the server has discarded, from the server
	opTake      // as opAttach, unless another session has the key
)

// watches reports whether a request begins to watch keys.
func (o opcode) watches() bool {
	return o == opWatch || o == opWatchAll || o == opWatchPart || o == opResume
}

// code is the result of a request.
type code byte

const (
	codeOK code = iota + 1
	codeNotFound
	codeRefused
	codeTooLarge
	codeNotReady
	codeUnavailable // surely not applied
	codeUnknown     // may have been applied
	codeConflict    // with the key version
)

// opCount, opHighest and opClean concern the keys that begin with the request value.
//
// A frame, in both directions, is one byte, the lengths of two fields as 4 bytes
// big endian, and the fields: opcode, key and value, or code, nothing and
// answer. The file of writes has requests in their wire format.
const headerSize = 9

// versionSize is in bytes. A version is big endian.
const versionSize = 8

// maxField is the longest accepted field; a sender of a longer one does not speak this
// protocol.
const maxField = 64 << 20

var errFrame = errors.New("not a frame of the fake")

func writeFrame(w *bufio.Writer, kind byte, key, value []byte) error {
	var header [headerSize]byte
	header[0] = kind
	binary.BigEndian.PutUint32(header[1:], uint32(len(key)))
	binary.BigEndian.PutUint32(header[5:], uint32(len(value)))
	// A bufio.Writer keeps its first error for Flush.
	_, _ = w.Write(header[:])
	_, _ = w.Write(key)
	_, _ = w.Write(value)
	return w.Flush()
}

func readFrame(r *bufio.Reader) (kind byte, key, value []byte, err error) {
	var header [headerSize]byte
	if _, err := io.ReadFull(r, header[:]); err != nil {
		return 0, nil, nil, err
	}
	keySize, valueSize := binary.BigEndian.Uint32(header[1:]), binary.BigEndian.Uint32(header[5:])
	if keySize > maxField || valueSize > maxField {
		return 0, nil, nil, fmt.Errorf("%w: fields of %d and %d bytes", errFrame, keySize, valueSize)
	}
	var fields bytes.Buffer // grows with the received bytes, not with the lengths in the header
	if _, err := io.CopyN(&fields, r, int64(keySize)+int64(valueSize)); err != nil {
		return 0, nil, nil, noEOF(err)
	}
	all := fields.Bytes()
	return header[0], all[:keySize:keySize], all[keySize:], nil
}

// arrived reports whether all of the next frame has been read from the connection.
func arrived(r *bufio.Reader) bool {
	header, err := r.Peek(min(r.Buffered(), headerSize))
	if err != nil || len(header) < headerSize {
		return false
	}
	return int64(r.Buffered()) >= headerSize+int64(binary.BigEndian.Uint32(header[1:]))+int64(binary.BigEndian.Uint32(header[5:]))
}

// noEOF turns the end of a stream within a frame into an error that cannot be mistaken for its
// proper end.
func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
