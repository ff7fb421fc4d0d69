package unary

import (
	"bytes"
	"io"
	"net"
	"slices"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	own "github.com/coreos/dbtester/pkg/database/etcd/http2"
)

// canned is a connection on which the server has said everything already.
type canned struct {
	net.Conn
	settings []byte        // comes first
	listened chan struct{} // closed when the rest may be said
	said     []byte
	cut      int // bytes in one read at most
}

func (c *canned) Read(b []byte) (int, error) {
	if n := copy(b, c.settings); n > 0 {
		c.settings = c.settings[n:]
		return n, nil
	}
	<-c.listened
	if len(c.said) == 0 {
		return 0, io.EOF
	}
	n := copy(b[:min(len(b), c.cut)], c.said)
	c.said = c.said[n:]
	return n, nil
}

func (c *canned) Write(b []byte) (int, error) { return len(b), nil }
func (c *canned) Close() error                { return nil }

// Whatever a server sends, in whatever pieces, every call ends.
func FuzzServer(f *testing.F) {
	for _, seed := range seeds() {
		f.Add(seed, uint8(255))
		f.Add(seed, uint8(1))
	}
	f.Fuzz(func(t *testing.T, said []byte, cut uint8) {
		settings := []byte{0, 0, 0, own.FrameSettings, 0, 0, 0, 0, 0}
		nc := &canned{settings: settings, listened: make(chan struct{}), said: said, cut: int(cut) + 1}
		c := newConn(quick(), own.NewRequestHeads("http", "a:1", nil))
		c.withdraw, c.replace = func() {}, func(error) bool { return false }
		if err := c.handshake(t.Context(), nc); err != nil {
			t.Fatalf("handshake with the scripted server: %v", err)
		}
		calls := make([]*call, 4)
		for i := range calls {
			calls[i] = &call{ended: make(chan struct{}, 1)}
			calls[i].reset("/s/m")
			m := &Message{One: make([]byte, i*40_000)}
			if i%2 == 1 {
				m.Each = func([]byte) error { return nil }
			}
			if !c.start(calls[i], m) {
				t.Fatalf("a new connection refuses call %d", i)
			}
		}
		close(nc.listened)
		_ = c.serve(t.Context())
		for i, k := range calls {
			select {
			case <-k.ended:
			default:
				t.Fatalf("call %d has not ended", i)
			}
			if _, err := k.reply.message(); k.err == nil && err != nil {
				t.Errorf("call %d succeeded without a complete reply: %v", i, err)
			}
			if k.err == nil && k.unsent {
				t.Errorf("call %d succeeded and is reported as not sent", i)
			}
		}
		if c.streams.live.count+len(c.streams.waiting)+len(c.streams.ended) > 0 {
			t.Errorf("the closed connection keeps %d streams and %d calls", c.streams.live.count, len(c.streams.waiting))
		}
	})
}

// seeds are things that servers say.
func seeds() [][]byte {
	var out bytes.Buffer
	framer := http2.NewFramer(&out, nil)
	framer.AllowIllegalWrites = true
	block := func(pairs ...string) []byte {
		var b bytes.Buffer
		e := hpack.NewEncoder(&b)
		for i := 0; i < len(pairs); i += 2 {
			_ = e.WriteField(hpack.HeaderField{Name: pairs[i], Value: pairs[i+1]})
		}
		return b.Bytes()
	}
	begin, end := block(":status", "200"), block("grpc-status", "0")
	steps := []func(){
		func() {
			_ = framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: begin, EndHeaders: true})
		},
		func() { _ = framer.WriteData(1, false, message("yes")) },
		func() {
			_ = framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: end, EndHeaders: true, EndStream: true})
		},
		func() { _ = framer.WriteWindowUpdate(0, 1<<20) },
		func() { _ = framer.WriteWindowUpdate(7, 1<<20) },
		func() {
			_ = framer.WriteSettings(http2.Setting{ID: 4, Val: 10}, http2.Setting{ID: 3, Val: 1}, http2.Setting{ID: 1, Val: 0})
		},
		func() { _ = framer.WriteSettings(http2.Setting{ID: 4, Val: own.MaxWindow}) },
		func() { _ = framer.WritePing(false, [8]byte{}) },
		func() { _ = framer.WriteRSTStream(3, http2.ErrCodeRefusedStream) },
		func() { _ = framer.WriteGoAway(3, http2.ErrCodeNo, []byte("bye")) },
		func() {
			_ = framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 5, BlockFragment: begin[:1], PadLength: 3})
		},
		func() { _ = framer.WriteContinuation(5, true, nil) },
		func() { _ = framer.WriteDataPadded(5, true, message("no"), []byte{0, 0}) },
	}
	var all [][]byte
	for _, step := range steps {
		step()
		all = append(all, slices.Clone(out.Bytes())) // with all before it
	}
	return all
}
