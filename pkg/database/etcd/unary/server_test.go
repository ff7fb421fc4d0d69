package unary

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	own "github.com/coreos/dbtester/pkg/database/etcd/http2"
	"github.com/coreos/dbtester/pkg/wire/poller"
)

// within is how long anything may take on a busy machine: only a hang takes longer.
const within = 5 * time.Minute

// quick returns the client timeouts in tests.
func quick() timing {
	return timing{
		connect: within, firstPause: 5 * time.Millisecond, longestPause: 20 * time.Millisecond,
		conn: own.Timing{Keepalive: time.Hour, PingTimeout: within, Linger: 50 * time.Millisecond},
	}
}

// scripted is the server side of one connection, spoken by golang.org/x/net.
type scripted struct {
	t      *testing.T
	number int // of the connection, from 0
	net    net.Conn
	*http2.Framer
	fields   *hpack.Decoder
	encoded  bytes.Buffer
	encoder  *hpack.Encoder
	head     map[string]string
	bodies   map[uint32][]byte
	paths    map[uint32]string
	timeouts map[uint32]string // grpc-timeout
	resets   chan uint32
}

// listen serves every connection with a script until the test ends, and returns
// its address.
func listen(t *testing.T, script func(*scripted)) string {
	t.Helper()
	before := goleak.IgnoreCurrent()
	common := goleak.IgnoreAnyFunction(poller.Forever)
	t.Cleanup(func() { goleak.VerifyNone(t, before, common) })
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("listen on loopback: %v", err)
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	var conns []net.Conn
	wg.Go(func() {
		for n := 0; ; n++ {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			conns = append(conns, nc)
			mu.Unlock()
			wg.Go(func() {
				defer nc.Close()
				script(newScripted(t, n, nc))
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		mu.Lock()
		for _, nc := range conns {
			nc.Close()
		}
		mu.Unlock()
		wg.Wait()
	})
	return l.Addr().String()
}

func newScripted(t *testing.T, number int, nc net.Conn) *scripted {
	s := &scripted{
		t: t, number: number, net: nc, Framer: http2.NewFramer(nc, nc),
		head: map[string]string{}, bodies: map[uint32][]byte{}, paths: map[uint32]string{}, timeouts: map[uint32]string{}, resets: make(chan uint32, 100),
	}
	s.SetMaxReadFrameSize(own.MaxFrame)
	s.fields = hpack.NewDecoder(4096, func(f hpack.HeaderField) { s.head[f.Name] = f.Value })
	s.encoder = hpack.NewEncoder(&s.encoded)
	return s
}

// greet exchanges prefaces.
func (s *scripted) greet(settings ...http2.Setting) bool {
	got := make([]byte, len(http2.ClientPreface))
	if _, err := io.ReadFull(s.net, got); err != nil || string(got) != http2.ClientPreface {
		return false
	}
	return s.WriteSettings(settings...) == nil
}

// request reads until a request is complete, and returns its stream; 0 when the connection ends.
func (s *scripted) request() uint32 {
	for {
		f, err := s.ReadFrame()
		if err != nil {
			return 0
		}
		switch f := f.(type) {
		case *http2.HeadersFrame:
			_, err := s.fields.Write(f.HeaderBlockFragment())
			if err = errors.Join(err, s.fields.Close()); err != nil {
				s.t.Errorf("the client's header fields: %v", err)
				return 0
			}
			for name, want := range map[string]string{
				":method": "POST", ":scheme": "http", "te": "trailers", "content-type": "application/grpc", ":authority": s.net.LocalAddr().String(),
			} {
				if got := s.head[name]; got != want {
					s.t.Errorf("field %s is %q, want %q", name, got, want)
				}
			}
			s.paths[f.StreamID], s.bodies[f.StreamID], s.timeouts[f.StreamID] = s.head[":path"], nil, s.head["grpc-timeout"]
			clear(s.head)
		case *http2.DataFrame:
			if n := len(f.Data()); n > 0 {
				_ = s.WriteWindowUpdate(0, uint32(n))
			}
			s.bodies[f.StreamID] = append(s.bodies[f.StreamID], f.Data()...)
			if f.StreamEnded() {
				return f.StreamID
			}
		case *http2.RSTStreamFrame:
			s.resets <- f.StreamID
		}
	}
}

// message frames a text as gRPC does.
func message(text string) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(text))), text...)
}

// block encodes header fields, given in pairs.
func (s *scripted) block(pairs ...string) []byte {
	s.encoded.Reset()
	for i := 0; i < len(pairs); i += 2 {
		if err := s.encoder.WriteField(hpack.HeaderField{Name: pairs[i], Value: pairs[i+1]}); err != nil {
			s.t.Errorf("encode a header field: %v", err)
		}
	}
	return bytes.Clone(s.encoded.Bytes())
}

func (s *scripted) headers(id uint32, end bool, pairs ...string) {
	_ = s.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: s.block(pairs...), EndStream: end, EndHeaders: true})
}

func (s *scripted) begin(id uint32) {
	s.headers(id, false, ":status", "200", "content-type", "application/grpc")
}

func (s *scripted) end(id uint32) { s.headers(id, true, "grpc-status", "0", "grpc-message", "") }

// reply answers a call in the usual three frames.
func (s *scripted) reply(id uint32, text string) {
	s.begin(id)
	_ = s.WriteData(id, false, message(text))
	s.end(id)
}

// echo answers every request with its path and size.
func (s *scripted) echo() {
	for id := s.request(); id != 0; id = s.request() {
		s.reply(id, fmt.Sprintf("%s %d", s.paths[id], len(s.bodies[id])))
	}
}

// dial returns a client that is closed when the test ends.
func dial(t *testing.T, addresses ...string) *Client { return dialTimed(t, quick(), addresses...) }

func dialTimed(t *testing.T, timing timing, addresses ...string) *Client {
	t.Helper()
	c := start(Config{Addresses: addresses}, timing)
	t.Cleanup(c.Close)
	return c
}

// ask makes one call and returns the reply.
func ask(ctx context.Context, c *Client, path string, m Message) (reply string, unsent bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	unsent, err = c.Call(ctx, path, &m, func(b []byte) (bool, error) {
		reply = string(b)
		return false, nil
	})
	return reply, unsent, err
}

// asks fails the test unless one call gets that reply.
func asks(t *testing.T, c *Client, m Message, want string) {
	t.Helper()
	got, _, err := ask(t.Context(), c, "/s/m", m)
	if err != nil || got != want {
		t.Fatalf("got %.80q, %v; want %.80q", got, err, want)
	}
}
