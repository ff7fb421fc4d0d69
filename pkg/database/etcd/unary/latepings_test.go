package unary

import (
	"runtime"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	own "github.com/coreos/dbtester/pkg/database/etcd/http2"
)

// measures does as a grpc-go server that measures its bandwidth: before each answer it sends
// WINDOW_UPDATE and, once the last one was acknowledged, a PING.
type measures struct {
	*scripted
	acks   chan string // payloads in acknowledgements
	unread bool        // the last PING was not acknowledged
}

// next reads until a request is there, and returns its stream; 0 when the connection ends.
func (m *measures) next() uint32 {
	for {
		f, err := m.ReadFrame()
		if err != nil {
			return 0
		}
		switch f := f.(type) {
		case *http2.PingFrame:
			if f.IsAck() {
				m.unread = m.unread && string(f.Data[:]) != own.BandwidthPing
				m.acks <- string(f.Data[:])
			}
		case *http2.DataFrame:
			if f.StreamEnded() {
				return f.StreamID
			}
		}
	}
}

// keepalive reads until the client asks whether the server is alive, and returns the payload of
// its ping.
func (m *measures) keepalive() (payload [8]byte) {
	for {
		f, err := m.ReadFrame()
		if err != nil {
			m.t.Errorf("the connection has ended, want a keepalive ping: %v", err)
			return payload
		}
		if f, ok := f.(*http2.PingFrame); ok && !f.IsAck() {
			return f.Data
		}
	}
}

// ping sends the frames before an answer.
func (m *measures) ping() {
	_ = m.WriteWindowUpdate(0, 1)
	if !m.unread {
		m.unread = true
		_ = m.WritePing(false, [8]byte([]byte(own.BandwidthPing)))
	}
}

// latePinger returns a client that acknowledges late, connected to such a server.
func latePinger(t *testing.T, timing timing, script func(*measures)) *Client {
	t.Helper()
	address := listen(t, func(s *scripted) {
		if s.greet() {
			script(&measures{scripted: s, acks: make(chan string, 100)})
		}
	})
	c := start(Config{Addresses: []string{address}, LatePings: true}, timing)
	t.Cleanup(c.Close)
	return c
}

// calm returns timeouts for a client that does not look after its connection during a test.
func calm() timing {
	timing := quick()
	timing.conn.Keepalive = time.Hour
	return timing
}

// state returns the numbers of acknowledgement bytes that wait, and of bytes that wake the client.
func state(c *Client) (late, wakeAt int, ok bool) {
	link := c.peers[0].conn.Load().link
	link.Mu.Lock()
	defer link.Mu.Unlock()
	wakeAt, ok = link.Pings.WakeAt()
	return link.Out.Late(), wakeAt, ok
}

// An acknowledgement waits for the next request and goes before it. From then on the client sleeps
// until more than the next PING has come; the answer wakes it.
func TestLatePings(t *testing.T) {
	const requests = 5
	asleep, dialed := make(chan int, requests), make(chan *Client, 1)
	c := latePinger(t, calm(), func(m *measures) {
		c := <-dialed
		for n := range requests {
			id := m.next()
			if id == 0 {
				return
			}
			if n > 0 && (len(m.acks) != 1 || <-m.acks != own.BandwidthPing) {
				t.Errorf("request %d: want the acknowledgement of the last PING before it", n)
			}
			if n > 0 && m.unread {
				t.Errorf("request %d: the last PING is not acknowledged", n)
			}
			_, wakeAt, _ := state(c)
			asleep <- wakeAt
			m.ping()
			m.reply(id, "answer")
		}
		m.next() // until the client closes
	})
	dialed <- c
	for n := range requests {
		asks(t, c, Message{}, "answer")
		late, wakeAt, ok := state(c)
		if late != own.HeadSize+8 {
			t.Errorf("after answer %d, %d bytes of acknowledgements wait for a request, want %d", n, late, own.HeadSize+8)
		}
		if ok != (runtime.GOOS == "linux") {
			t.Fatalf("the client can sleep: %v, want that on Linux only", ok)
		}
		if ok && wakeAt > 1 {
			t.Errorf("after answer %d, %d bytes wake the client, want any", n, wakeAt)
		}
		if slept := <-asleep; ok && (slept == own.PingBytes+1) != (n > 0) {
			t.Errorf("while answer %d is awaited, %d bytes wake the client, want %d after a PING was acknowledged with the request", n, slept, own.PingBytes+1)
		}
	}
}

// A PING that asks whether the client is alive is acknowledged at once, with those that wait.
func TestOtherPingsAreNotLate(t *testing.T) {
	const alive = "12345678"
	acked := make(chan struct{})
	c := latePinger(t, calm(), func(m *measures) {
		id := m.next()
		m.ping()
		m.reply(id, "answer")
		_ = m.WritePing(false, [8]byte([]byte(alive)))
		go m.next()
		if first, second := <-m.acks, <-m.acks; first != own.BandwidthPing || second != alive {
			t.Errorf("acknowledged %q and %q, want %q and %q", first, second, own.BandwidthPing, alive)
		}
		close(acked)
	})
	asks(t, c, Message{}, "answer")
	<-acked
}

// Without another request, the acknowledgement is sent when the client looks after the connection.
func TestLatePingsWithoutRequests(t *testing.T) {
	acked := make(chan struct{})
	timing := quick()
	timing.conn.Keepalive = timing.firstPause
	c := latePinger(t, timing, func(m *measures) {
		id := m.next()
		m.ping()
		m.reply(id, "answer")
		go m.next()
		if got := <-m.acks; got != own.BandwidthPing {
			t.Errorf("acknowledged %q, want %q", got, own.BandwidthPing)
		}
		close(acked)
	})
	asks(t, c, Message{}, "answer")
	<-acked
}

// While the answer to a keepalive ping is awaited, which is shorter than a PING with the frames
// before it, any byte wakes the client, whatever requests it sends meanwhile.
func TestLatePingsAndKeepalive(t *testing.T) {
	silent, dialed := make(chan struct{}), make(chan *Client, 1)
	timing := quick()
	timing.conn.Keepalive = timing.firstPause
	c := latePinger(t, timing, func(m *measures) {
		c := <-dialed
		id := m.next()
		m.ping()
		m.reply(id, "answer")
		first := m.next() // with the acknowledgement
		alive := m.keepalive()
		close(silent)
		second := m.next()
		if _, wakeAt, ok := state(c); ok && wakeAt > 1 {
			t.Errorf("while the answer to a keepalive ping is awaited, %d bytes wake the client, want any", wakeAt)
		}
		_ = m.WritePing(true, alive)
		m.reply(first, "answer")
		m.reply(second, "answer")
		m.next()
	})
	dialed <- c
	asks(t, c, Message{}, "answer")
	var waits sync.WaitGroup
	defer waits.Wait()
	waits.Go(func() {
		if got, _, err := ask(t.Context(), c, "/s/m", Message{}); err != nil || got != "answer" {
			t.Errorf("got %.80q, %v; want the answer", got, err)
		}
	})
	<-silent
	asks(t, c, Message{}, "answer")
}

// A short answer wakes the client with the PING before it, or when the client looks after the
// connection if no PING came.
func TestLatePingsAndShortAnswers(t *testing.T) {
	for name, pings := range map[string]bool{"with a PING": true, "without": false} {
		t.Run(name, func(t *testing.T) {
			timing := calm()
			if !pings {
				timing.conn.Keepalive = timing.firstPause
			}
			c := latePinger(t, timing, func(m *measures) {
				id := m.next()
				m.ping()
				m.reply(id, "answer")
				id = m.next()
				if pings {
					m.ping()
				}
				_ = m.WriteRSTStream(id, http2.ErrCodeRefusedStream)
				m.next()
			})
			asks(t, c, Message{}, "answer")
			if _, _, err := ask(t.Context(), c, "/s/m", Message{}); status.Code(err) != codes.Unavailable {
				t.Errorf("got %v, want that the server refused the call", err)
			}
		})
	}
}
