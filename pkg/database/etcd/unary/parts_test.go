package unary

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	own "github.com/coreos/dbtester/pkg/database/etcd/http2"
)

// each makes a call whose reply is a stream, and returns its messages.
func each(t *testing.T, c *Client, m Message, take func(string) error) (got []string, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	m.Each = func(b []byte) error {
		got = append(got, string(b))
		if take == nil {
			return nil
		}
		return take(string(b))
	}
	_, err = c.Call(ctx, "/s/m", &m, nil)
	return got, err
}

// However a server cuts the messages on a stream into frames, they arrive in order and whole.
func TestStreamOfReplies(t *testing.T) {
	long := strings.Repeat("long ", 20_000)
	frames := func(s *scripted, id uint32, b []byte, size int) {
		for part := range slices.Chunk(b, size) {
			_ = s.WriteData(id, false, part)
		}
	}
	all := slices.Concat(message("one"), message(""), message(long), message("two"))
	for name, tc := range map[string]struct {
		reply func(*scripted, uint32)
		want  []string
	}{
		"none": {func(s *scripted, id uint32) { s.begin(id) }, nil},
		"a frame each": {func(s *scripted, id uint32) {
			s.begin(id)
			frames(s, id, message("a"), 100)
			frames(s, id, message("b"), 100)
		}, []string{"a", "b"}},
		"many in a frame": {func(s *scripted, id uint32) {
			s.begin(id)
			frames(s, id, slices.Concat(message("a"), message(""), message("b")), 100)
		}, []string{"a", "", "b"}},
		"across frames": {func(s *scripted, id uint32) { s.begin(id); frames(s, id, all, own.MaxFrame) }, []string{"one", "", long, "two"}},
		"byte by byte": {func(s *scripted, id uint32) {
			s.begin(id)
			frames(s, id, slices.Concat(message("ab"), message("c")), 1)
		}, []string{"ab", "c"}},
	} {
		t.Run(name, func(t *testing.T) {
			c := dial(t, listen(t, func(s *scripted) {
				s.greet()
				for id := s.request(); id != 0; id = s.request() {
					if len(s.bodies[id]) == own.Prefix { // for an empty request
						s.reply(id, "one message")
						continue
					}
					tc.reply(s, id)
					s.end(id)
				}
			}))
			for range 2 { // the second uses the first one's memory
				got, err := each(t, c, Message{One: []byte("k")}, nil)
				if err != nil || !slices.Equal(got, tc.want) {
					t.Fatalf("got %d messages %.60q, %v; want %d %.60q", len(got), got, err, len(tc.want), tc.want)
				}
				asks(t, c, Message{}, "one message")
			}
		})
	}
}

// The parts a stream received before an error are not a reply, and the connection continues.
func TestStreamOfRepliesFails(t *testing.T) {
	for name, tc := range map[string]struct {
		reply func(*scripted, uint32)
		take  func(string) error
		code  codes.Code
		text  string
	}{
		"status": {reply: func(s *scripted, id uint32) {
			s.begin(id)
			_ = s.WriteData(id, false, message("a"))
			s.headers(id, true, "grpc-status", "11", "grpc-message", "compacted")
		}, code: codes.OutOfRange, text: "compacted"},
		"unknown method": {reply: func(s *scripted, id uint32) {
			s.headers(id, true, ":status", "200", "content-type", "application/grpc", "grpc-status", "12", "grpc-message", "unknown method")
		}, code: codes.Unimplemented, text: "unknown method"},
		"half a message": {reply: func(s *scripted, id uint32) {
			s.begin(id)
			_ = s.WriteData(id, false, append(message("a"), message("bcd")[:6]...))
			s.end(id)
		}, code: codes.Internal, text: "ends after 6 bytes"},
		"half a prefix": {reply: func(s *scripted, id uint32) {
			s.begin(id)
			_ = s.WriteData(id, false, append(message("a"), 0, 0))
			s.end(id)
		}, code: codes.Internal, text: "ends after 2 bytes"},
		"too large": {reply: func(s *scripted, id uint32) {
			s.begin(id)
			_ = s.WriteData(id, false, append(message("a"), message(strings.Repeat("b", 101))...))
		}, code: codes.Internal, text: "at most 100 bytes, got 101"},
		"refused by the caller": {reply: func(s *scripted, id uint32) {
			s.begin(id)
			_ = s.WriteData(id, false, append(message("a"), message("bad")...))
		}, take: func(m string) error {
			if m == "bad" {
				return errors.New("not what was asked for")
			}
			return nil
		}, code: codes.Internal, text: "not what was asked for"},
		"data first": {reply: func(s *scripted, id uint32) { _ = s.WriteData(id, false, message("a")) }, code: codes.Internal, text: "without headers"},
	} {
		t.Run(name, func(t *testing.T) {
			c := dial(t, listen(t, func(s *scripted) {
				s.greet()
				tc.reply(s, s.request())
				s.echo()
			}))
			got, err := each(t, c, Message{One: []byte("k"), MaxReply: 100}, tc.take)
			if status.Code(err) != tc.code || err == nil || !strings.Contains(err.Error(), tc.text) {
				t.Errorf("%q, %v; want %v with %q", got, err, tc.code, tc.text)
			}
			asks(t, c, Message{}, fmt.Sprintf("/s/m %d", own.Prefix))
		})
	}
}

// A stream ends with RST_STREAM if the caller wants no more from it.
func TestStreamOfRepliesIsCancelled(t *testing.T) {
	resets := make(chan uint32, 10)
	c := dial(t, listen(t, func(s *scripted) {
		s.resets = resets
		s.greet()
		id := s.request()
		s.begin(id)
		_ = s.WriteData(id, false, message("a"))
		s.echo()
	}))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	unsent, err := c.Call(ctx, "/s/m", &Message{Each: func([]byte) error { cancel(); return nil }}, nil)
	if !errors.Is(err, context.Canceled) || unsent {
		t.Errorf("%v, unsent %v; want that the call was sent and cancelled", err, unsent)
	}
	asks(t, c, Message{}, fmt.Sprintf("/s/m %d", own.Prefix)) // the server read RST_STREAM before
	select {
	case <-resets:
	default:
		t.Error("the server was not told that nobody reads on")
	}
}

// The server may send on when half the stream window is used.
func TestStreamWindow(t *testing.T) {
	c := newConn(quick(), own.NewRequestHeads("http", "a:1", nil))
	k := &call{id: 1}
	for _, n := range []int{own.MaxWindow/2 - 1, 1, 5} {
		c.streams.widenReply(k, n)
	}
	want := own.AppendWindowUpdate(nil, 1, own.MaxWindow/2)
	if got := c.link.Out.Pending; !slices.Equal(got, want) || k.credit != 5 {
		t.Errorf("sent %x with %d bytes left, want %x and 5", got, k.credit, want)
	}
}
