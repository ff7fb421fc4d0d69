package unary

import (
	"bytes"
	"context"
	"io"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	own "github.com/coreos/dbtester/pkg/database/etcd/http2"
)

// refuse sends the settings and GOAWAY in one piece, as a server does that is about to stop, and waits
// until the client has closed the connection.
func (s *scripted) refuse() {
	var b bytes.Buffer
	f := http2.NewFramer(&b, nil)
	_ = f.WriteSettings()
	_ = f.WriteGoAway(0, http2.ErrCodeNo, nil)
	_, _ = s.net.Write(b.Bytes())
	_, _ = io.Copy(io.Discard, s.net)
}

// A server that sends GOAWAY at once to every client gets one more connection at once, and others
// after pauses. Calls fail meanwhile.
func TestGoAwayAtOnce(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	timing := quick()
	timing.firstPause, timing.longestPause = within, within
	c := dialTimed(t, timing, listen(t, func(s *scripted) {
		if s.number == 2 {
			t.Error("a third connection came without a pause")
			cancel()
		}
		s.refuse()
	}))
	if _, unsent, err := ask(ctx, c, "/s/m", Message{}); status.Code(err) != codes.Unavailable || !unsent {
		t.Errorf("a call to a server that sends GOAWAY at once: %v, unsent %v; want Unavailable, not sent", err, unsent)
	}
}

// However often a server sends GOAWAY at once, its client afterwards has one connection.
func TestOneConnectionAfterGoAways(t *testing.T) {
	const refused = 1000
	timing := quick()
	timing.firstPause, timing.longestPause = time.Microsecond, time.Microsecond
	var served atomic.Int64
	c := dialTimed(t, timing, listen(t, func(s *scripted) {
		if s.number < refused {
			s.refuse()
			return
		}
		served.Add(1)
		s.greet()
		s.echo()
	}))
	for _, _, err := ask(t.Context(), c, "/s/m", Message{}); err != nil; _, _, err = ask(t.Context(), c, "/s/m", Message{}) {
		if status.Code(err) != codes.Unavailable {
			t.Fatalf("a call to a server that sends GOAWAY at once: %v", err)
		}
		time.Sleep(time.Millisecond)
	}
	time.Sleep(20 * time.Millisecond) // for a second connection
	if n := served.Load(); n != 1 {
		t.Errorf("the client has %d connections, want 1", n)
	}
}

// A connection that was retired and replaced before calls could use it does not hide its
// replacement.
func TestReplacedBeforePublished(t *testing.T) {
	p := &peer{client: dial(t)}
	conns := [2]*conn{}
	for i := range conns {
		conns[i] = newConn(quick(), own.NewRequestHeads("http", "a:1", nil))
	}
	conns[0].withdraw = func() { p.conn.CompareAndSwap(conns[0], nil) }
	conns[0].replace = func(error) bool { return true }
	conns[0].link.Mu.Lock()
	conns[0].retire(status.Error(codes.Unavailable, "the server sent GOAWAY"))
	conns[0].link.Mu.Unlock()
	p.publish(conns[1])
	p.publish(conns[0])
	if p.conn.Load() != conns[1] {
		t.Error("calls cannot use the replacement")
	}
}
