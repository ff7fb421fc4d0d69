package stream

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
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

// peer is the server side of one connection, spoken by golang.org/x/net. It counts windows.
type peer struct {
	t   *testing.T
	net net.Conn
	*http2.Framer
	fields  *hpack.Decoder
	encoded bytes.Buffer
	encoder *hpack.Encoder

	first   int64            // window for a new stream
	windows map[uint32]int64 // bytes that may be sent on a stream
	updates int              // WINDOW_UPDATE frames for streams
	opened  []uint32
	paths   map[uint32]string
	said    map[uint32][]byte // DATA from the client
	resets  map[uint32]http2.ErrCode
	lost    error // why nothing more is read
}

func newPeer(t *testing.T, nc net.Conn) *peer {
	p := &peer{
		t: t, net: nc, Framer: http2.NewFramer(nc, nc), first: own.FirstWindow,
		windows: map[uint32]int64{}, paths: map[uint32]string{}, said: map[uint32][]byte{}, resets: map[uint32]http2.ErrCode{},
	}
	p.SetMaxReadFrameSize(own.MaxFrame)
	p.fields = hpack.NewDecoder(4096, nil)
	p.encoder = hpack.NewEncoder(&p.encoded)
	return p
}

// leavesNothing fails a test that leaves goroutines behind.
func leavesNothing(t *testing.T) {
	t.Helper()
	before := goleak.IgnoreCurrent()
	common := goleak.IgnoreAnyFunction(poller.Forever)
	t.Cleanup(func() { goleak.VerifyNone(t, before, common) })
}

// listen serves every connection with a script until the test ends, and returns its address.
func listen(t *testing.T, script func(*peer)) string {
	t.Helper()
	leavesNothing(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("listen on loopback: %v", err)
	}
	var group sync.WaitGroup
	var mu sync.Mutex
	var open []net.Conn
	group.Go(func() {
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			open = append(open, nc)
			mu.Unlock()
			group.Go(func() {
				defer nc.Close()
				script(newPeer(t, nc))
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		over := make(chan struct{})
		go func() { group.Wait(); close(over) }()
		select {
		case <-over: // as the clients are closed
		case <-time.After(within):
			t.Error("a script has not ended")
		}
		mu.Lock()
		for _, nc := range open {
			nc.Close()
		}
		mu.Unlock()
		<-over
	})
	return l.Addr().String()
}

// greet exchanges prefaces.
func (p *peer) greet(settings ...http2.Setting) bool {
	got := make([]byte, len(http2.ClientPreface))
	if _, err := io.ReadFull(p.net, got); err != nil || string(got) != http2.ClientPreface {
		return false
	}
	return p.WriteSettings(settings...) == nil
}

// next reads one frame. It returns false when the connection ends.
func (p *peer) next() bool {
	_, ok := p.read()
	return ok
}

// read reads and notes one frame. It returns false when the connection ends.
func (p *peer) read() (f http2.Frame, ok bool) {
	f, err := p.ReadFrame()
	if err != nil {
		p.lost = err
		return nil, false
	}
	switch f := f.(type) {
	case *http2.SettingsFrame:
		if window, ok := f.Value(http2.SettingInitialWindowSize); ok {
			p.first = int64(window)
		}
	case *http2.HeadersFrame:
		p.headers(f)
	case *http2.DataFrame:
		p.said[f.StreamID] = append(p.said[f.StreamID], f.Data()...)
	case *http2.RSTStreamFrame:
		p.resets[f.StreamID] = f.ErrCode
	case *http2.PingFrame:
		if !f.IsAck() {
			_ = p.WritePing(true, f.Data)
		}
	case *http2.WindowUpdateFrame:
		p.grow(f)
	}
	return f, true
}

func (p *peer) headers(f *http2.HeadersFrame) {
	fields, err := p.fields.DecodeFull(f.HeaderBlockFragment())
	if err != nil || f.StreamEnded() {
		p.t.Errorf("the client's header fields: %v, at the end of the stream: %v", err, f.StreamEnded())
	}
	for _, field := range fields {
		switch {
		case field.Name == ":path":
			p.paths[f.StreamID] = field.Value
		case field.Name == "grpc-timeout":
			p.t.Errorf("a stream has a time-out of %s", field.Value)
		}
	}
	p.opened = append(p.opened, f.StreamID)
	p.windows[f.StreamID] = p.first
}

// grow notes that a window was renewed: never beyond its size.
func (p *peer) grow(f *http2.WindowUpdateFrame) {
	if f.StreamID == 0 {
		return
	}
	p.updates++
	if p.windows[f.StreamID] += int64(f.Increment); p.windows[f.StreamID] > p.first {
		p.t.Errorf("stream %d may be sent %d bytes, its window is %d", f.StreamID, p.windows[f.StreamID], p.first)
	}
}

// open reads until the client has opened its next stream.
func (p *peer) open() (id uint32) {
	for len(p.opened) == 0 {
		if !p.next() {
			return 0
		}
	}
	id, p.opened = p.opened[0], p.opened[1:]
	return id
}

// message reads until the next message of a stream is there.
func (p *peer) message(id uint32) (text string, ok bool) {
	for {
		if b := p.said[id]; len(b) >= own.Prefix {
			if size := own.Prefix + int(binary.BigEndian.Uint32(b[1:])); len(b) >= size {
				p.said[id] = b[size:]
				return string(b[own.Prefix:size]), true
			}
		}
		if !p.next() {
			return "", false
		}
	}
}

// reset reads until the client has reset a stream.
func (p *peer) reset(id uint32) http2.ErrCode {
	for {
		if code, ok := p.resets[id]; ok {
			return code
		}
		if !p.next() {
			p.t.Errorf("the connection has ended, want RST_STREAM of stream %d", id)
			return 0
		}
	}
}

// encode are messages as gRPC frames them.
func encode(texts ...string) (b []byte) {
	for _, text := range texts {
		b = append(own.AppendPrefix(b, len(text)), text...)
	}
	return b
}

// block encodes header fields, given in pairs.
func (p *peer) block(pairs ...string) []byte {
	p.encoded.Reset()
	for i := 0; i < len(pairs); i += 2 {
		if err := p.encoder.WriteField(hpack.HeaderField{Name: pairs[i], Value: pairs[i+1]}); err != nil {
			p.t.Errorf("encode a header field: %v", err)
		}
	}
	return bytes.Clone(p.encoded.Bytes())
}

func (p *peer) fieldsOf(id uint32, end bool, pairs ...string) {
	_ = p.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: p.block(pairs...), EndStream: end, EndHeaders: true})
}

func (p *peer) begin(id uint32) {
	p.fieldsOf(id, false, ":status", "200", "content-type", "application/grpc")
}

func (p *peer) end(id uint32) { p.fieldsOf(id, true, "grpc-status", "0") }

// say sends messages in one frame.
func (p *peer) say(id uint32, texts ...string) { _ = p.WriteData(id, false, encode(texts...)) }

// listener keeps the messages on a stream and its end.
type listener struct {
	messages chan string
	over     chan error
}

func newListener() *listener {
	return &listener{messages: make(chan string, 10_000), over: make(chan error, 2)}
}

func (l *listener) receive(_ time.Time, message []byte) error {
	l.messages <- string(message)
	return nil
}

func (l *listener) ended(err error) { l.over <- err }

// hears fails the test unless messages come next.
func (l *listener) hears(t *testing.T, want ...string) {
	t.Helper()
	for i, text := range want {
		select {
		case got := <-l.messages:
			if got != text {
				t.Fatalf("message %d is %.80q of %d bytes, want %.80q of %d", i, got, len(got), text, len(text))
			}
		case err := <-l.over:
			l.over <- err
			if len(l.messages) == 0 {
				t.Fatalf("the stream ended with %v, want message %d", err, i)
			}
			if got := <-l.messages; got != text {
				t.Fatalf("message %d is %.80q of %d bytes, want %.80q of %d", i, got, len(got), text, len(text))
			}
		case <-time.After(within):
			t.Fatalf("message %d has not come", i)
		}
	}
}

// end waits until the stream ends.
func (l *listener) end(t *testing.T) error {
	t.Helper()
	select {
	case err := <-l.over:
		return err
	case <-time.After(within):
		t.Fatal("the stream has not ended")
		return nil
	}
}

// quick returns timeouts for tests in which servers are idle.
func quick() own.Timing {
	return own.Timing{Keepalive: time.Hour, PingTimeout: 5 * time.Second, Linger: 50 * time.Millisecond}
}

// dials returns a connection that is closed when the test ends.
func dials(t *testing.T, config Config) *Conn {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	c, err := dial(ctx, config, quick())
	if err != nil {
		t.Fatalf("dial: %v", err)
	}
	t.Cleanup(c.Close)
	return c
}

// opens returns a stream and its listener.
func opens(t *testing.T, c *Conn, method string) (*Stream, *listener) {
	t.Helper()
	l := newListener()
	s, err := c.Open(method, l.receive, l.ended)
	if err != nil {
		t.Fatalf("open a stream: %v", err)
	}
	return s, l
}

// canned is a connection on which the server has said everything already.
type canned struct {
	net.Conn
	settings []byte        // comes first
	opened   chan struct{} // closed when the rest may be said
	said     []byte
	cut      func(left int) int // bytes in the next read at most
	waits    chan struct{}      // closed when it waits to be opened; may be nil
	closed   chan struct{}      // after which nothing more is read; nil to end after the last byte
	once     sync.Once
}

var emptySettings = own.AppendHead(nil, 0, own.FrameSettings, 0, 0)

func (c *canned) Read(b []byte) (int, error) {
	if n := copy(b, c.settings); n > 0 {
		c.settings = c.settings[n:]
		return n, nil
	}
	if c.waits != nil {
		close(c.waits)
		c.waits = nil
	}
	<-c.opened
	if len(c.said) == 0 {
		if c.closed != nil {
			<-c.closed
		}
		return 0, io.EOF
	}
	n := copy(b[:max(1, min(len(b), c.cut(len(c.said))))], c.said)
	c.said = c.said[n:]
	return n, nil
}

func (c *canned) Write(b []byte) (int, error) { return len(b), nil }

func (c *canned) Close() error {
	if c.closed != nil {
		c.once.Do(func() { close(c.closed) })
	}
	return nil
}

// serve begins a connection over it.
func (c *canned) serve(t testing.TB, config Config) *Conn {
	t.Helper()
	config.Address = "a:1"
	conn, err := serve(t.Context(), c, config, quick())
	if err != nil {
		t.Fatalf("handshake with the canned server: %v", err)
	}
	t.Cleanup(conn.Close)
	return conn
}

var errMine = errors.New("receive has failed")
