package agent_test

import (
	"bytes"
	"io"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/test/bufconn"

	"github.com/coreos/dbtester/agent"
	pb "github.com/coreos/dbtester/dbtesterpb"
)

// rawServer is an agent behind gRPC for tests that send frames.
func rawServer(t *testing.T, options ...grpc.ServerOption) *bufconn.Listener {
	t.Helper()
	h := serve(t, nil)
	listener := bufconn.Listen(1 << 20)
	server := grpc.NewServer(append(agent.ServerOptions(slogTo(t)), options...)...)
	h.agent.Register(server)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	t.Cleanup(func() { server.Stop(); <-served })
	return listener
}

func dialRaw(t *testing.T, listener *bufconn.Listener) net.Conn {
	t.Helper()
	conn, err := listener.DialContext(t.Context())
	if err != nil {
		t.Fatalf("dial the agent: %v", err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatalf("set a deadline: %v", err)
	}
	return conn
}

// announce begins an Open with a message that declares a size in bytes, with extra headers, and
// returns the frames.
func announce(t *testing.T, size uint32, extra ...hpack.HeaderField) []byte {
	t.Helper()
	var out, block bytes.Buffer
	out.WriteString(http2.ClientPreface)
	framer, encoder := http2.NewFramer(&out, nil), hpack.NewEncoder(&block)
	fields := append([]hpack.HeaderField{
		{Name: ":method", Value: "POST"}, {Name: ":scheme", Value: "http"}, {Name: ":path", Value: pb.Agent_Open_FullMethodName},
		{Name: ":authority", Value: "agent"}, {Name: "content-type", Value: "application/grpc"}, {Name: "te", Value: "trailers"},
	}, extra...)
	for _, f := range fields {
		if err := encoder.WriteField(f); err != nil {
			t.Fatalf("encode the headers: %v", err)
		}
	}
	const frameSize = 16 << 10
	head := block.Next(frameSize)
	errs := []error{framer.WriteSettings(), framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: head, EndHeaders: block.Len() == 0})}
	for block.Len() > 0 {
		part := block.Next(frameSize)
		errs = append(errs, framer.WriteContinuation(1, block.Len() == 0, part))
	}
	message := append([]byte{0, byte(size >> 24), byte(size >> 16), byte(size >> 8), byte(size)}, make([]byte, 1000)...)
	for _, err := range append(errs, framer.WriteData(1, false, message)) {
		if err != nil {
			t.Fatalf("write a frame: %v", err)
		}
	}
	return out.Bytes()
}

// answer reads until a call has ended and describes how.
func answer(conn net.Conn) string {
	framer := http2.NewFramer(io.Discard, conn)
	framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	for {
		frame, err := framer.ReadFrame()
		if err != nil {
			return err.Error()
		}
		switch f := frame.(type) {
		case *http2.MetaHeadersFrame:
			if f.StreamEnded() {
				var text []string
				for _, field := range f.Fields {
					text = append(text, field.Name+": "+field.Value)
				}
				return strings.Join(text, "\n")
			}
		case *http2.RSTStreamFrame, *http2.GoAwayFrame:
			return f.Header().String()
		}
	}
}

// A message is refused by its declared size, before it is sent and without memory for it. So are
// endless headers.
func TestHugeMessage(t *testing.T) {
	listener := rawServer(t)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 20 {
		conn := dialRaw(t, listener)
		if _, err := conn.Write(announce(t, 1<<30)); err != nil {
			t.Fatalf("announce a message: %v", err)
		}
		if got := answer(conn); !strings.Contains(got, "grpc-status: 8") || !strings.Contains(got, "larger than max (1073741824 vs. 1048576)") {
			t.Fatalf("a message of 1 GiB: %s", got)
		}
		conn.Close()
	}
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > 256<<20 {
		t.Errorf("20 announcements of 1 GiB took %d MiB", used>>20)
	}
	conn := dialRaw(t, listener)
	if _, err := conn.Write(announce(t, 10, hpack.HeaderField{Name: "x", Value: strings.Repeat("y", 100<<10)})); err != nil {
		t.Fatalf("send long headers: %v", err)
	}
	if got := answer(conn); strings.Contains(got, "grpc-status: 0") || strings.Contains(got, "timeout") {
		t.Errorf("headers of 100 KiB: %s", got)
	}
}

// The largest message a gRPC client sends is refused by name.
func TestLargeRequest(t *testing.T) {
	h := serve(t, nil)
	_, err := h.Open(t.Context(), &pb.OpenRequest{RunId: "run1", Owner: strings.Repeat("x", 2<<20)})
	wantCode(t, err, codes.ResourceExhausted)
	if got := h.status(); got.State != pb.State_STATE_IDLE {
		t.Errorf("after a refused open: %v", got)
	}
}

// Connections that never complete a request are closed, however slowly they send.
func TestSlowLoris(t *testing.T) {
	listener := rawServer(t, grpc.ConnectionTimeout(200*time.Millisecond))
	for _, begin := range []string{"", "PRI", http2.ClientPreface, http2.ClientPreface + "\x00\x00\x06\x04\x00"} {
		conn := dialRaw(t, listener)
		_, _ = conn.Write([]byte(begin)) // on a busy machine the connection is closed already
		n, err := io.Copy(io.Discard, conn)
		if timeout, ok := err.(net.Error); ok && timeout.Timeout() {
			t.Errorf("a connection that began with %q is still open; read %d bytes", begin, n)
		}
	}
}
