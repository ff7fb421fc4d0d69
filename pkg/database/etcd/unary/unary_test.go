package unary

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	own "github.com/coreos/dbtester/pkg/database/etcd/http2"
	"github.com/coreos/dbtester/pkg/sleep/slowtest"
	"github.com/coreos/dbtester/pkg/wire/fiber"
)

// However a server cuts its frames, the reply is the same.
func TestReplies(t *testing.T) {
	long := strings.Repeat("long ", 20_000)
	headers := func(s *scripted, id uint32, p http2.HeadersFrameParam) {
		p.StreamID, p.BlockFragment, p.EndHeaders = id, s.block(":status", "200"), true
		_ = s.WriteHeaders(p)
	}
	for name, reply := range map[string]func(*scripted, uint32) string{
		"usual": func(s *scripted, id uint32) string { s.reply(id, "yes"); return "yes" },
		"empty": func(s *scripted, id uint32) string { s.reply(id, ""); return "" },
		"no data frame for an empty prefix": func(s *scripted, id uint32) string {
			s.begin(id)
			_ = s.WriteData(id, false, nil)
			_ = s.WriteData(id, false, message(""))
			s.end(id)
			return ""
		},
		"byte by byte": func(s *scripted, id uint32) string {
			s.begin(id)
			for _, b := range message("drip") {
				_ = s.WriteData(id, false, []byte{b})
			}
			s.end(id)
			return "drip"
		},
		"many frames": func(s *scripted, id uint32) string {
			s.begin(id)
			for b := message(long); len(b) > 0; {
				n := min(len(b), own.MaxFrame)
				_ = s.WriteData(id, false, b[:n])
				b = b[n:]
			}
			s.end(id)
			return long
		},
		"padding and priority": func(s *scripted, id uint32) string {
			headers(s, id, http2.HeadersFrameParam{PadLength: 7, Priority: http2.PriorityParam{StreamDep: 0, Weight: 3}})
			_ = s.WriteDataPadded(id, false, message("soft"), make([]byte, 255))
			s.end(id)
			return "soft"
		},
		"continuation": func(s *scripted, id uint32) string {
			block := s.block(":status", "200", "x-long", strings.Repeat(fmt.Sprint(id), 3000))
			_ = s.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: block[:1]})
			_ = s.WriteContinuation(id, false, block[1:1000])
			_ = s.WriteContinuation(id, true, block[1000:])
			_ = s.WriteData(id, false, message("on"))
			s.end(id)
			return "on"
		},
		"early hints": func(s *scripted, id uint32) string {
			s.headers(id, false, ":status", "103", "link", "x")
			s.reply(id, "final")
			return "final"
		},
		"other frames between": func(s *scripted, id uint32) string {
			s.begin(id)
			_ = s.WritePriority(id, http2.PriorityParam{StreamDep: 1})
			_ = s.WriteRawFrame(0xfa, 0xff, 99, []byte("?"))
			_ = s.WritePing(false, [8]byte{1})
			_ = s.WriteWindowUpdate(id, 5)
			_ = s.WriteData(id, false, message("mixed"))
			_ = s.WriteSettings(http2.Setting{ID: http2.SettingHeaderTableSize, Val: 0})
			s.end(id)
			return "mixed"
		},
	} {
		t.Run(name, func(t *testing.T) {
			want := make(chan string, 3)
			c := dial(t, listen(t, func(s *scripted) {
				s.greet()
				for id := s.request(); id != 0; id = s.request() {
					want <- reply(s, id)
				}
			}))
			for range 3 { // the tables on both sides stay in step
				got, _, err := ask(t.Context(), c, "/s/m", Message{One: []byte("k")})
				if err != nil {
					t.Fatalf("ask the server: %v", err)
				}
				if w := <-want; got != w {
					t.Fatalf("got %.80q, want %.80q", got, w)
				}
			}
		})
	}
}

// The error of a call, and whether it was surely not processed.
func TestErrors(t *testing.T) {
	for name, tt := range map[string]struct {
		script func(*scripted, uint32)
		code   codes.Code
		unsent bool
		text   string // part of the error
	}{
		"status": {func(s *scripted, id uint32) {
			s.headers(id, true, ":status", "200", "grpc-status", "9", "grpc-message", "100%25 gone %E2%82%AC%zz")
		}, codes.FailedPrecondition, false, "100%25 gone"},
		"escaped": {func(s *scripted, id uint32) {
			s.headers(id, true, ":status", "200", "grpc-status", "14", "grpc-message", "etcdserver: 100%25 %E2%82%AC")
		}, codes.Unavailable, false, "etcdserver: 100% €"},
		"status after data": {func(s *scripted, id uint32) {
			s.begin(id)
			_ = s.WriteData(id, false, message("half"))
			s.headers(id, true, "grpc-status", "8", "grpc-message", "full")
		}, codes.ResourceExhausted, false, "full"},
		"no status":         {func(s *scripted, id uint32) { s.begin(id); s.headers(id, true, "x", "y") }, codes.Unknown, false, "no gRPC status"},
		"status no word":    {func(s *scripted, id uint32) { s.headers(id, true, "grpc-status", "nine") }, codes.Internal, false, `"nine"`},
		"HTTP 503":          {func(s *scripted, id uint32) { s.headers(id, true, ":status", "503") }, codes.Unavailable, false, `"503"`},
		"HTTP 404 going on": {func(s *scripted, id uint32) { s.headers(id, false, ":status", "404") }, codes.Unimplemented, false, `"404"`},
		"no message":        {func(s *scripted, id uint32) { s.begin(id); s.end(id) }, codes.Internal, false, "ends after 0 bytes"},
		"half a message": {func(s *scripted, id uint32) {
			s.begin(id)
			_ = s.WriteData(id, false, message("abc")[:6])
			s.end(id)
		}, codes.Internal, false, "ends after 6 bytes"},
		"two messages": {func(s *scripted, id uint32) {
			s.begin(id)
			_ = s.WriteData(id, false, append(message("a"), message("b")...))
		}, codes.Internal, false, "6 bytes follow"},
		"compressed":    {func(s *scripted, id uint32) { s.begin(id); _ = s.WriteData(id, false, []byte{1, 0, 0, 0, 0}) }, codes.Internal, false, "compressed"},
		"giant":         {func(s *scripted, id uint32) { s.begin(id); _ = s.WriteData(id, false, []byte{0, 255, 0, 0, 0}) }, codes.Internal, false, "bytes, got 4278190080"},
		"data first":    {func(s *scripted, id uint32) { _ = s.WriteData(id, false, message("a")) }, codes.Internal, false, "without headers"},
		"ends in data":  {func(s *scripted, id uint32) { s.begin(id); _ = s.WriteData(id, true, message("a")) }, codes.Internal, false, "without trailers"},
		"headers twice": {func(s *scripted, id uint32) { s.begin(id); s.begin(id) }, codes.Internal, false, "second header block"},
		"window by 0": {func(s *scripted, id uint32) {
			_ = s.WriteRawFrame(http2.FrameWindowUpdate, 0, id, make([]byte, 4))
		}, codes.Internal, false, "by 0 to"},
		"refused":    {func(s *scripted, id uint32) { _ = s.WriteRSTStream(id, http2.ErrCodeRefusedStream) }, codes.Unavailable, true, "REFUSED_STREAM"},
		"cancelled":  {func(s *scripted, id uint32) { _ = s.WriteRSTStream(id, http2.ErrCodeCancel) }, codes.Canceled, false, "CANCEL"},
		"calm":       {func(s *scripted, id uint32) { _ = s.WriteRSTStream(id, http2.ErrCodeEnhanceYourCalm) }, codes.ResourceExhausted, false, "CALM"},
		"not secure": {func(s *scripted, id uint32) { _ = s.WriteRSTStream(id, http2.ErrCodeInadequateSecurity) }, codes.PermissionDenied, false, "SECURITY"},
		"odd reset":  {func(s *scripted, id uint32) { _ = s.WriteRSTStream(id, 77) }, codes.Internal, false, "0x4d"},
		"GOAWAY before the stream": {func(s *scripted, id uint32) {
			_ = s.WriteGoAway(id-2, http2.ErrCodeEnhanceYourCalm, []byte("too_many_pings"))
		}, codes.Unavailable, true, "too_many_pings"},
		"closed": {func(s *scripted, id uint32) { s.net.Close() }, codes.Unavailable, false, "connection is lost"},
		"reset": {func(s *scripted, id uint32) {
			_ = s.net.(*net.TCPConn).SetLinger(0)
			s.net.Close()
		}, codes.Unavailable, false, "connection is lost"},
	} {
		t.Run(name, func(t *testing.T) {
			c := dial(t, listen(t, func(s *scripted) {
				s.greet()
				s.reply(s.request(), "first")
				if id := s.request(); id != 0 {
					if s.number == 0 {
						tt.script(s, id)
					} else {
						s.reply(id, "other")
					}
				}
				s.echo()
			}))
			asks(t, c, Message{}, "first")
			_, unsent, err := ask(t.Context(), c, "/s/m", Message{One: []byte("k")})
			if status.Code(err) != tt.code || unsent != tt.unsent || !strings.Contains(err.Error(), tt.text) {
				t.Errorf("got %v, unsent %v; want %v with %q, unsent %v", err, unsent, tt.code, tt.text, tt.unsent)
			}
			asksSoon(t, c)
		})
	}
}

// A broken rule ends the connection, with every call on it, and the next connection serves.
func TestBrokenRules(t *testing.T) {
	raw := func(kind http2.FrameType, flags http2.Flags, stream uint32, payload string) func(*scripted, uint32) {
		return func(s *scripted, id uint32) {
			if stream == 1 {
				stream = id
			}
			_ = s.WriteRawFrame(kind, flags, stream, []byte(payload))
		}
	}
	for name, script := range map[string]func(*scripted, uint32){
		"garbage":                      func(s *scripted, _ uint32) { _, _ = s.net.Write(bytes.Repeat([]byte{0xff}, 5000)) },
		"large frame":                  raw(http2.FrameData, 0, 1, strings.Repeat("x", own.MaxFrame+1)),
		"data of no stream":            raw(http2.FrameData, 0, 0, ""),
		"data of a later stream":       raw(http2.FrameData, 0, 99999, ""),
		"data of an even stream":       raw(http2.FrameData, 0, 2, ""),
		"padding only":                 raw(http2.FrameData, own.FlagPadded, 1, "\x05abc"),
		"no padding":                   raw(http2.FrameData, own.FlagPadded, 1, ""),
		"headers of no stream":         raw(http2.FrameHeaders, own.FlagEndHeaders, 0, ""),
		"short priority":               raw(http2.FrameHeaders, own.FlagEndHeaders|own.FlagPriority, 1, "abc"),
		"bad fields":                   raw(http2.FrameHeaders, own.FlagEndHeaders, 1, "\xff\xff\xff\xff\xff\xff"),
		"half a field":                 raw(http2.FrameHeaders, own.FlagEndHeaders, 1, "\x40\x0aab"),
		"long field":                   raw(http2.FrameHeaders, own.FlagEndHeaders, 1, "\x40\x7f\x80\x80\x80\x01a"),
		"CONTINUATION without a block": raw(http2.FrameContinuation, own.FlagEndHeaders, 1, ""),
		"data within fields": func(s *scripted, id uint32) {
			_ = s.WriteRawFrame(http2.FrameHeaders, 0, id, nil)
			_ = s.WriteRawFrame(http2.FrameData, 0, id, nil)
		},
		"fields without end": func(s *scripted, id uint32) {
			_ = s.WriteRawFrame(http2.FrameHeaders, 0, id, nil)
			for range 5 {
				_ = s.WriteRawFrame(http2.FrameContinuation, 0, id, make([]byte, own.MaxFrame))
			}
		},
		"empty continuations": func(s *scripted, id uint32) {
			_ = s.WriteRawFrame(http2.FrameHeaders, 0, id, nil)
			_ = s.WriteRawFrame(http2.FrameContinuation, 0, id, nil)
		},
		"reset of nothing":      raw(http2.FrameRSTStream, 0, 0, "abcd"),
		"short reset":           raw(http2.FrameRSTStream, 0, 1, "abc"),
		"settings of a stream":  raw(http2.FrameSettings, 0, 1, ""),
		"short settings":        raw(http2.FrameSettings, 0, 0, "abcde"),
		"answer with settings":  raw(http2.FrameSettings, own.FlagAck, 0, "abcdef"),
		"large window":          raw(http2.FrameSettings, 0, 0, "\x00\x04\x80\x00\x00\x00"),
		"small frames":          raw(http2.FrameSettings, 0, 0, "\x00\x05\x00\x00\x00\x01"),
		"push":                  raw(http2.FramePushPromise, own.FlagEndHeaders, 1, "\x00\x00\x00\x02"),
		"short ping":            raw(http2.FramePing, 0, 0, "abc"),
		"short GOAWAY":          raw(http2.FrameGoAway, 0, 0, "abc"),
		"short window update":   raw(http2.FrameWindowUpdate, 0, 0, "abc"),
		"window by nothing":     raw(http2.FrameWindowUpdate, 0, 0, "\x00\x00\x00\x00"),
		"window without bounds": raw(http2.FrameWindowUpdate, 0, 0, "\x7f\xff\xff\xff"),
	} {
		t.Run(name, func(t *testing.T) {
			c := dial(t, listen(t, func(s *scripted) {
				s.greet()
				s.AllowIllegalWrites = true
				if s.number == 0 {
					s.request()
					script(s, s.request())
				}
				s.echo()
			}))
			var wg sync.WaitGroup
			for range 2 {
				wg.Go(func() {
					_, unsent, err := ask(t.Context(), c, "/s/m", Message{})
					if status.Code(err) != codes.Unavailable || unsent {
						t.Errorf("got %v, unsent %v", err, unsent)
					}
				})
			}
			wg.Wait()
			asksSoon(t, c)
		})
	}
}

// asksSoon fails the test unless a call is answered before long.
func asksSoon(t *testing.T, c *Client) {
	t.Helper()
	var err error
	for deadline := time.Now().Add(within); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if _, _, err = ask(t.Context(), c, "/s/m", Message{}); err == nil {
			return
		}
	}
	t.Fatalf("ask the server: %v", err)
}

// A server with another protocol fails calls at once, and the error names its protocol.
func TestOtherProtocols(t *testing.T) {
	for name, tt := range map[string]struct{ says, want string }{
		"TLS":     {"\x15\x03\x01\x00\x02\x02\x46", "speaks TLS"},
		"HTTP/1":  {"HTTP/1.0 400 Bad Request\r\n\r\n", "speaks HTTP/1"},
		"nothing": {"", "EOF"},
		"ack":     {"\x00\x00\x00\x04\x01\x00\x00\x00\x00", "comes first"}, // an acknowledgement before any SETTINGS
		"ping":    {"\x00\x00\x08\x06\x00\x00\x00\x00\x0012345678", "must be SETTINGS"},
	} {
		t.Run(name, func(t *testing.T) {
			c := dial(t, listen(t, func(s *scripted) {
				_, _ = s.net.Read(make([]byte, 1000))
				_, _ = s.net.Write([]byte(tt.says))
			}))
			_, unsent, err := ask(t.Context(), c, "/s/m", Message{})
			if status.Code(err) != codes.Unavailable || !unsent || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, unsent %v; want %q", err, unsent, tt.want)
			}
		})
	}
	t.Run("silent", func(t *testing.T) {
		quick := quick()
		quick.connect = 50 * time.Millisecond
		c := dialTimed(t, quick, listen(t, func(s *scripted) { _ = s.request() }))
		if _, unsent, err := ask(t.Context(), c, "/s/m", Message{}); status.Code(err) != codes.Unavailable || !unsent {
			t.Errorf("got %v, unsent %v", err, unsent)
		}
	})
	t.Run("nobody", func(t *testing.T) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatalf("listen on loopback: %v", err)
		}
		l.Close()
		c := dial(t, l.Addr().String())
		for range 3 {
			if _, unsent, err := ask(t.Context(), c, "/s/m", Message{}); status.Code(err) != codes.Unavailable || !unsent {
				t.Errorf("got %v, unsent %v", err, unsent)
			}
		}
	})
}

// Requests arrive whole whatever the server windows and limits are, and never more than those
// allow.
func TestFlowControl(t *testing.T) {
	const streams, frameWindow, calls, size = 3, 100, 20, 5000
	c := dial(t, listen(t, func(s *scripted) {
		s.greet(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: streams}, http2.Setting{ID: http2.SettingInitialWindowSize, Val: frameWindow})
		throttled(s, streams, frameWindow)
	}))
	var wg sync.WaitGroup
	for i := range calls {
		wg.Go(func() {
			m := Message{One: bytes.Repeat([]byte{byte(i)}, size+i), Rest: bytes.Repeat([]byte("r"), i)}
			want := m.appendTo(nil, m.size())
			got, _, err := ask(t.Context(), c, "/s/m", m)
			if err != nil || got != string(want) {
				t.Errorf("call %d: %d bytes came back, %v; want %d", i, len(got), err, len(want))
			}
		})
	}
	wg.Wait()
}

// throttled returns every request as its reply, opens windows a little at a time,
// and counts.
func throttled(s *scripted, streams int, window int) {
	connection, open := own.FirstWindow, map[uint32]int{}
	changed := false
	for {
		f, err := s.ReadFrame()
		if err != nil {
			return
		}
		switch f := f.(type) {
		case *http2.HeadersFrame:
			if open[f.StreamID] = window; len(open) > streams {
				s.t.Errorf("%d streams are open, %d may be", len(open), streams)
			}
		case *http2.DataFrame:
			n := len(f.Data())
			connection -= n
			if open[f.StreamID] -= n; open[f.StreamID] < 0 || connection < 0 {
				s.t.Errorf("windows are exceeded: %d and %d", open[f.StreamID], connection)
			}
			s.bodies[f.StreamID] = append(s.bodies[f.StreamID], f.Data()...)
			if f.StreamEnded() {
				delete(open, f.StreamID)
				body := s.bodies[f.StreamID]
				s.reply(f.StreamID, string(body))
				continue
			}
			if !changed && open[f.StreamID] == 0 { // once for all, by a setting
				changed = true
				for id := range open {
					open[id] += 50
				}
				window += 50
				_ = s.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: uint32(window)})
				continue
			}
			if open[f.StreamID] == 0 {
				open[f.StreamID] += 1500
				_ = s.WriteWindowUpdate(f.StreamID, 1500)
			}
			if connection < 30_000 {
				connection += 10_000
				_ = s.WriteWindowUpdate(0, 10_000)
			}
		}
	}
}

// A deadline ends a call in every state, with RST_STREAM if its stream is open.
func TestDeadlines(t *testing.T) {
	slowtest.Skip(t)
	resets := make(chan uint32, 10)
	c := dial(t, listen(t, func(s *scripted) {
		s.resets = resets
		s.greet(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 100}, http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 2})
		for id := s.request(); id != 0; id = s.request() {
			if s.paths[id] == "/answer" {
				s.reply(id, "ok")
			}
		}
	}))
	if _, _, err := ask(t.Context(), c, "/answer", Message{}); err != nil {
		t.Fatalf("ask the server: %v", err)
	}
	var wg sync.WaitGroup
	open := func() int {
		conn := c.peers[0].conn.Load()
		conn.link.Mu.Lock()
		defer conn.link.Mu.Unlock()
		streams, _ := conn.streams.Count()
		return streams
	}
	call := func(name string, after time.Duration, size int, want bool, streams int) {
		ctx, cancel := context.WithTimeout(t.Context(), after)
		wg.Go(func() {
			defer cancel()
			_, unsent, err := ask(ctx, c, "/hang", Message{One: make([]byte, size)})
			if !errors.Is(err, context.DeadlineExceeded) || unsent != want {
				t.Errorf("%s: %v, unsent %v", name, err, unsent)
			}
		})
		for end := time.Now().Add(after); open() < streams && time.Now().Before(end); {
			time.Sleep(time.Millisecond)
		}
	}
	call("sent", 3*time.Second, 10, false, 1) // a busy machine needs time to send it
	call("half sent", 3*time.Second, 1000, true, 2)
	call("in the queue", time.Second, 10, true, 2)
	wg.Wait()
	first, second := <-resets, <-resets
	if first+second != 3+5 {
		t.Errorf("RST_STREAM was sent for streams %d and %d, want 3 and 5", first, second)
	}
	if _, _, err := ask(t.Context(), c, "/answer", Message{}); err != nil {
		t.Fatalf("ask the server: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := ask(ctx, c, "/hang", Message{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled before: %v", err)
	}
}

// A server that does not read can't hold a caller beyond its deadline.
func TestServerDoesNotRead(t *testing.T) {
	done := make(chan struct{})
	c := dial(t, listen(t, func(s *scripted) {
		s.greet(http2.Setting{ID: http2.SettingInitialWindowSize, Val: own.MaxWindow})
		_ = s.WriteWindowUpdate(0, own.MaxWindow-own.FirstWindow)
		<-done
	}))
	defer close(done)
	var wg sync.WaitGroup
	value := make([]byte, 8<<20)
	for range 4 {
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer cancel()
			if _, _, err := ask(ctx, c, "/s/m", Message{One: value}); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("the call ended with %v, want its deadline", err)
			}
		})
	}
	wg.Wait()
}

// A server that sent GOAWAY gets no more calls, and answers the calls it has.
func TestGoAway(t *testing.T) {
	leaving, left := make(chan struct{}), make(chan struct{})
	c := dial(t, listen(t, func(s *scripted) {
		s.greet()
		if s.number > 0 {
			s.echo()
			return
		}
		id := s.request()
		_ = s.WriteGoAway(own.MaxWindow, http2.ErrCodeNo, nil) // as servers do that stop in order
		_ = s.WriteGoAway(id, http2.ErrCodeNo, nil)
		close(leaving)
		<-left
		s.reply(id, "slow")
		if s.request() != 0 {
			t.Error("a call was sent after GOAWAY")
		}
	}))
	var wg sync.WaitGroup
	wg.Go(func() { asks(t, c, Message{}, "slow") })
	<-leaving
	old := c.peers[0].conn.Load()
	for range 5 {
		if old != nil && c.peers[0].conn.Load() == old { // GOAWAY may not have arrived yet
			time.Sleep(20 * time.Millisecond)
			continue
		}
		asks(t, c, Message{}, "/s/m 5")
	}
	close(left)
	wg.Wait()
}

// A connection without stream ids is replaced.
func TestStreamsRunOut(t *testing.T) {
	c := dial(t, listen(t, func(s *scripted) { s.greet(); s.echo() }))
	asks(t, c, Message{}, "/s/m 5")
	first := c.peers[0].conn.Load()
	first.link.Mu.Lock()
	first.streams.nextID = own.MaxWindow - 4
	first.link.Mu.Unlock()
	for range 10 {
		asks(t, c, Message{One: []byte("1")}, "/s/m 8")
	}
	if c.peers[0].conn.Load() == first {
		t.Error("a connection without stream ids is still used")
	}
}

// A server that owes a reply gets a keepalive ping, and loses the connection if it
// does not answer.
func TestKeepalive(t *testing.T) {
	slowtest.Skip(t)
	quick := quick()
	quick.conn.Keepalive = 30 * time.Millisecond
	for name, answers := range map[string]bool{"alive": true, "dead": false} {
		quick.conn.PingTimeout = 100 * time.Millisecond
		if answers { // for which a busy machine needs time; the next ping comes after it
			quick.conn.PingTimeout = 2 * time.Second
		}
		t.Run(name, func(t *testing.T) {
			c := dialTimed(t, quick, listen(t, func(s *scripted) {
				s.greet()
				id := uint32(0)
				for pings := 0; ; {
					f, err := s.ReadFrame()
					if err != nil {
						return
					}
					switch f := f.(type) {
					case *http2.DataFrame:
						id = f.StreamID
					case *http2.PingFrame:
						if !answers {
							continue
						}
						_ = s.WritePing(true, f.Data)
						if pings++; pings == 3 {
							s.reply(id, "at last")
						}
					}
				}
			}))
			got, _, err := ask(t.Context(), c, "/s/m", Message{})
			if answers && (err != nil || got != "at last") || !answers && status.Code(err) != codes.Unavailable {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
}

// Calls take the servers that are up in turn, and those that come back.
func TestTurns(t *testing.T) {
	name := func(name string) func(s *scripted) {
		return func(s *scripted) {
			s.greet()
			for id := s.request(); id != 0; id = s.request() {
				s.reply(id, name)
			}
		}
	}
	dead, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("listen on loopback: %v", err)
	}
	dead.Close()
	c := dial(t, listen(t, name("a")), dead.Addr().String(), listen(t, name("b")))
	got := map[string]int{}
	for n := 0; n < 10_000 && len(got) < 2; n++ {
		reply, _, err := ask(t.Context(), c, "/s/m", Message{})
		if err != nil {
			t.Fatalf("ask the server: %v", err)
		}
		got[reply]++
	}
	if got["a"] == 0 || got["b"] == 0 {
		t.Errorf("asked %v", got)
	}
}

// A closed client ends its calls and leaves nothing behind.
func TestClose(t *testing.T) {
	began := make(chan struct{})
	c := dial(t, listen(t, func(s *scripted) {
		s.greet()
		if s.request() != 0 {
			close(began)
		}
		s.request()
	}))
	var wg sync.WaitGroup
	wg.Go(func() {
		if _, unsent, err := ask(t.Context(), c, "/s/m", Message{}); status.Code(err) != codes.Canceled || unsent {
			t.Errorf("got %v, unsent %v", err, unsent)
		}
	})
	<-began
	c.Close()
	wg.Wait()
	if _, unsent, err := ask(t.Context(), c, "/s/m", Message{}); status.Code(err) != codes.Canceled || !unsent {
		t.Errorf("got %v, unsent %v", err, unsent)
	}
	c.Close()
}

// Many callers for several methods on one connection each get their own reply.
func TestManyCallers(t *testing.T) {
	c := dial(t, listen(t, func(s *scripted) {
		s.greet(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 70})
		s.echo()
	}))
	var wg sync.WaitGroup
	for i := range 100 {
		wg.Go(func() {
			for n := range 50 {
				path, size := fmt.Sprintf("/s/%d", (i+n)%7), i*(n%3)
				want := fmt.Sprintf("%s %d", path, own.Prefix+(&Message{Rest: make([]byte, size)}).size())
				got, _, err := ask(t.Context(), c, path, Message{Rest: make([]byte, size)})
				if err != nil || got != want {
					t.Errorf("got %q, %v; want %q", got, err, want)
					return
				}
			}
		})
	}
	wg.Wait()
}

// Every request carries the time left until its deadline when it is sent, also one
// that waited for flow control by the server; without a deadline it carries no time.
func TestTimeoutHeader(t *testing.T) {
	held, hold := make(chan struct{}), make(chan struct{})
	c := dial(t, listen(t, func(s *scripted) {
		s.greet(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 1})
		for id := s.request(); id != 0; id = s.request() {
			if s.paths[id] == "/hold" {
				close(held)
				<-hold
			}
			s.reply(id, s.timeouts[id])
		}
	}))
	read := func(ctx context.Context, path string) string {
		var reply string
		if _, err := c.Call(ctx, path, &Message{}, func(b []byte) (bool, error) { reply = string(b); return false, nil }); err != nil {
			t.Errorf("call %s: %v", path, err)
		}
		return reply
	}
	hears := func(path string, timeout, waited time.Duration, begun func()) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), timeout)
		defer cancel()
		begun()
		left := grpcDuration(t, read(ctx, path))
		if left > timeout-waited || left < timeout-waited-within {
			t.Errorf("%s: grpc-timeout is %v, want at most %v and little less", path, left, timeout-waited)
		}
	}
	for range 3 { // the header must not disturb the compression of later requests
		hears("/s/m", 30*time.Minute, 0, func() {})
		hears("/s/m", 20*time.Hour, 0, func() {})
		if got := read(t.Context(), "/s/m"); got != "" {
			t.Errorf("grpc-timeout is %q in a call without a deadline, want none", got)
		}
	}
	var wg sync.WaitGroup
	wg.Go(func() { read(t.Context(), "/hold") })
	<-held
	const waited = 200 * time.Millisecond
	begun := make(chan struct{})
	wg.Go(func() { hears("/s/m", 30*time.Minute, waited, func() { close(begun) }) })
	<-begun
	time.Sleep(waited + 50*time.Millisecond)
	close(hold)
	wg.Wait()
}

// Calls by fibers carry the time that their context knows, and less if they were sent later.
func TestTimeoutHeaderOfFibers(t *testing.T) {
	const late, left = 200 * time.Millisecond, 30 * time.Minute
	hold, begin := make(chan struct{}), make(chan struct{})
	c := dial(t, listen(t, func(s *scripted) {
		<-begin
		s.greet(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 1})
		for id := s.request(); id != 0; id = s.request() {
			if s.paths[id] == "/hold" {
				<-hold
			}
			s.reply(id, s.timeouts[id])
		}
	}))
	var group sync.WaitGroup
	check := func(path string, left, least, most time.Duration) {
		fiber.Go(&group, func(f *fiber.Fiber) {
			ctx := newFiberContext(f)
			ctx.left = left
			reply, err := askInFiber(ctx, c, path, Message{})
			if got := grpcDuration(t, reply); err != nil || got < least || got > most {
				t.Errorf("%s with %v left: grpc-timeout is %q, want %v to %v; error %v", path, left, reply, least, most, err)
			}
		})
	}
	const little = within
	check("/before/there/was/a/connection", left, left-late-little, left-late)
	time.Sleep(late)
	close(begin)
	soon(t, &group)
	for _, left := range []time.Duration{left, left, left / 3, left} {
		check("/at/once", left, left, left)
		soon(t, &group)
	}
	check("/hold", left, left, left)
	check("/while/another/holds/the/connection", left, left-late-little, left-late)
	time.Sleep(late)
	hold <- struct{}{}
	soon(t, &group)
}

// grpcDuration reads a duration as gRPC writes it.
func grpcDuration(t *testing.T, text string) time.Duration {
	t.Helper()
	units := map[string]time.Duration{"n": 1, "u": time.Microsecond, "m": time.Millisecond, "S": time.Second, "M": time.Minute, "H": time.Hour}
	if len(text) < 2 || len(text) > 9 || units[text[len(text)-1:]] == 0 {
		t.Errorf("grpc-timeout must be 1 to 8 digits and a unit, got %q", text)
		return 0
	}
	n, err := strconv.ParseInt(text[:len(text)-1], 10, 64)
	if err != nil {
		t.Errorf("grpc-timeout %q: %v", text, err)
	}
	return time.Duration(n) * units[text[len(text)-1:]]
}

// A stream the server cancels after the call deadline ran out of time: it was not cancelled by the
// caller.
func TestServerCancelsLateCall(t *testing.T) {
	c := dial(t, listen(t, func(s *scripted) {
		s.greet()
		for id := s.request(); id != 0; id = s.request() {
			time.Sleep(grpcDuration(t, s.timeouts[id]) + 20*time.Millisecond)
			_ = s.WriteRSTStream(id, http2.ErrCodeCancel)
		}
	}))
	for range 2 { // the connection is open when the second call is made
		deadline := lateContext{t.Context(), time.Now().Add(50 * time.Millisecond)}
		_, err := c.Call(deadline, "/s/m", &Message{}, func([]byte) (bool, error) { return false, nil })
		if status.Code(err) != codes.DeadlineExceeded {
			t.Errorf("the call ended with %v, want %v", err, codes.DeadlineExceeded)
		}
	}
	var group sync.WaitGroup
	fiber.Go(&group, func(f *fiber.Fiber) {
		ctx := newFiberContext(f)
		ctx.left = 50 * time.Millisecond
		ctx.Context = lateContext{ctx.Context, time.Now().Add(ctx.left)}
		if _, err := askInFiber(ctx, c, "/s/m", Message{}); status.Code(err) != codes.DeadlineExceeded {
			t.Errorf("the call of a fiber ended with %v, want %v", err, codes.DeadlineExceeded)
		}
	})
	soon(t, &group)
}

// lateContext has a deadline and does not end with it.
type lateContext struct {
	context.Context
	at time.Time
}

func (l lateContext) Deadline() (time.Time, bool) { return l.at, true }
