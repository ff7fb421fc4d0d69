package zookeeper

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"testing"
	"testing/iotest"

	"github.com/go-zookeeper/zk"
	"github.com/google/go-cmp/cmp"
)

// Requests equal those of the protocol byte for byte.
func TestPackets(t *testing.T) {
	open, err := accessOf(nil)
	if err != nil {
		t.Fatalf("ACL of the credentials: %v", err)
	}
	create := appendBytes(appendBytes(appendHeader(nil, 7, opCreate), "/0/k"), []byte("v"))
	for _, tt := range []struct {
		name, want string
		got        []byte
	}{
		{
			"create", "\x00\x00\x00\x34\x00\x00\x00\x07\x00\x00\x00\x01\x00\x00\x00\x04/0/k\x00\x00\x00\x01v" +
				"\x00\x00\x00\x01\x00\x00\x00\x1f\x00\x00\x00\x05world\x00\x00\x00\x06anyone\x00\x00\x00\x00",
			sealed(appendInt(open.append(create), 0)),
		},
		{"ping", "\x00\x00\x00\x08\xff\xff\xff\xfe\x00\x00\x00\x0b", sealed(appendHeader([]byte("old"), xidPing, opPing))},
		{"auth", "\x00\x00\x00\x1d\xff\xff\xff\xfc\x00\x00\x00\x64\x00\x00\x00\x00\x00\x00\x00\x06digest\x00\x00\x00\x03a:b", appendAuth(nil, digestScheme, []byte("a:b"))},
		{
			"connect", "\x00\x00\x00\x2d\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x05\x00\x00\x27\x10\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x10" +
				string(make([]byte, 17)), appendConnect(nil, 5, sessionTimeout, 0, [passwdSize]byte{}),
		},
	} {
		if diff := cmp.Diff([]byte(tt.want), tt.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
	if got, want := len(open.append(nil)), open.size(); got != want {
		t.Errorf("an access of %d bytes, said to be %d", got, want)
	}
	if got, want := len(create)+open.size()+4-lengthField, putSize(open.size(), len("/0/k"), 1); got != want {
		t.Errorf("a create of %d bytes, said to be %d", got, want)
	}
}

// Server errors have the names from the library, and are classified.
func TestErrors(t *testing.T) {
	for code, want := range map[int32]error{
		0: nil, -8: zk.ErrBadArguments, -100: zk.ErrAPIError, -101: zk.ErrNoNode, -102: zk.ErrNoAuth, -103: zk.ErrBadVersion, -108: zk.ErrNoChildrenForEphemerals,
		-110: zk.ErrNodeExists, -111: zk.ErrNotEmpty, -112: zk.ErrSessionExpired, -114: zk.ErrInvalidACL, -115: zk.ErrAuthFailed,
		-116: zk.ErrClosing, -117: zk.ErrNothing, -118: zk.ErrSessionMoved, -123: zk.ErrReconfigDisabled,
	} {
		if got := errorOf(code); !errors.Is(got, want) {
			t.Errorf("%d is %v, want %v", code, got, want)
		}
	}
}

// reading returns a session that reads answers from a server.
func reading(from io.Reader) *lean {
	l := &lean{maxAnswer: 4096}
	l.conn.In.Reset(from)
	return l
}

// Whatever a server answers, the result is the same however the answer is split, or the
// answer is refused. No more is consumed than the announced lengths.
func FuzzAnswers(f *testing.F) {
	answer := func(xid int32, code uint32, body ...byte) []byte {
		b := binary.BigEndian.AppendUint32(nil, uint32(headerSize+len(body)))
		b = binary.BigEndian.AppendUint32(b, uint32(xid))
		b = binary.BigEndian.AppendUint64(b, 42)
		return append(binary.BigEndian.AppendUint32(b, code), body...)
	}
	value := append([]byte{0, 0, 0, 2, 'h', 'i'}, make([]byte, statSize)...)
	f.Add(answer(1, 0, value...))
	f.Add(answer(1, 0, append([]byte{0xff, 0xff, 0xff, 0xff}, make([]byte, statSize+3)...)...))
	f.Add(append(append(answer(xidPing, 0), answer(xidNotice, 0, 1, 2, 3)...), answer(1, 0xffffff9b)...))
	f.Add(answer(2, 0))
	f.Add(answer(1, 0, value[:20]...))
	f.Fuzz(func(t *testing.T, said []byte) {
		type read struct {
			Value   []byte
			Version int32
			Code    int32
			Failed  bool
		}
		var got [2]read
		for i, in := range []*lean{reading(bytes.NewReader(said)), reading(iotest.OneByteReader(bytes.NewReader(said)))} {
			a, err := in.readHeader(1)
			if err == nil && a.code == 0 {
				got[i].Value, got[i].Version, err = in.readData(&a, nil)
			}
			if err == nil {
				err = in.conn.In.Skip(a.size)
			}
			got[i].Code, got[i].Failed = a.code, err != nil
		}
		if diff := cmp.Diff(got[0], got[1]); diff != "" {
			t.Errorf("whole and in bytes:\n%s", diff)
		}
		if len(got[0].Value) > len(said) {
			t.Errorf("%d bytes of %d", len(got[0].Value), len(said))
		}
		if w, err := parseConnectAnswer(said); err == nil && w.session != 0 && w.timeout <= 0 {
			t.Errorf("welcome %+v", w)
		}
	})
}
