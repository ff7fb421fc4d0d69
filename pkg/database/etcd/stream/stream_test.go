package stream

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	own "github.com/coreos/dbtester/pkg/database/etcd/http2"
	"github.com/coreos/dbtester/pkg/sleep/slowtest"
)

// However a server cuts messages into frames, they arrive one by one and in order.
func TestMessages(t *testing.T) {
	long := strings.Repeat("long ", 200_000) // more than is read at once
	for name, say := range map[string]func(*peer, uint32) []string{
		"one in a frame": func(p *peer, id uint32) []string { p.say(id, "one"); p.say(id, "two"); return []string{"one", "two"} },
		"many in a frame": func(p *peer, id uint32) []string {
			p.say(id, "a", "", "ccc", "dd", "")
			return []string{"a", "", "ccc", "dd", ""}
		},
		"byte by byte": func(p *peer, id uint32) []string {
			for _, b := range encode("drip", "", "drop") {
				_ = p.WriteData(id, false, []byte{b})
				_ = p.WriteData(id, false, nil)
			}
			return []string{"drip", "", "drop"}
		},
		"large": func(p *peer, id uint32) []string {
			for b := encode("before", long, "between", long, "after"); len(b) > 0; {
				n := min(len(b), own.MaxFrame)
				for p.windows[id] < int64(n) {
					if !p.next() {
						return nil
					}
				}
				p.windows[id] -= int64(n)
				_ = p.WriteData(id, false, b[:n])
				b = b[n:]
			}
			return []string{"before", long, "between", long, "after"}
		},
		"padding": func(p *peer, id uint32) []string {
			b := encode("soft", "er")
			_ = p.WriteDataPadded(id, false, b[:7], make([]byte, 255))
			_ = p.WriteDataPadded(id, false, b[7:], nil)
			return []string{"soft", "er"}
		},
		"other frames between": func(p *peer, id uint32) []string {
			b := encode("mixed")
			_ = p.WriteData(id, false, b[:3])
			_ = p.WritePriority(id, http2.PriorityParam{StreamDep: 1})
			_ = p.WriteRawFrame(0xfa, 0xff, 99, []byte("?"))
			_ = p.WritePing(false, [8]byte{1})
			_ = p.WriteWindowUpdate(id, 5)
			_ = p.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 3})
			_ = p.WriteData(id, false, b[3:])
			return []string{"mixed"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			want := make(chan []string, 3)
			c := dials(t, Config{Address: listen(t, func(p *peer) {
				p.greet()
				for id := p.open(); id != 0; id = p.open() {
					p.fieldsOf(id, false, ":status", "103", "link", "x")
					p.begin(id)
					want <- say(p, id)
					p.end(id)
				}
			})})
			for range 3 {
				_, l := opens(t, c, "/s/m")
				l.hears(t, <-want...)
				if err := l.end(t); !errors.Is(err, io.EOF) {
					t.Errorf("the stream ended with %v, want EOF", err)
				}
			}
		})
	}
}

// frames returns the frames from a server that sends messages on stream 1, cut into frames at some
// places.
func frames(said []byte, at ...int) (b []byte) {
	b = own.AppendHead(b, 1, own.FrameHeaders, own.FlagEndHeaders, 1)
	b = append(b, 0x88) // :status 200
	for from, i := 0, 0; i <= len(at); i++ {
		to := len(said)
		if i < len(at) {
			to = at[i]
		}
		b = append(own.AppendHead(b, to-from, own.FrameData, 0, 1), said[from:to]...)
		from = to
	}
	return b
}

// Whatever byte a frame or a read ends at, the same messages arrive, and one time for each read.
func TestEveryCut(t *testing.T) {
	texts := []string{"first", "", "second message", "3"}
	said := encode(texts...)
	check := func(name string, b []byte, cut func(left int) int) {
		nc := &canned{settings: slices.Clone(emptySettings), opened: make(chan struct{}), said: b, cut: cut}
		c := nc.serve(t, Config{})
		_, l := opens(t, c, "/s/m")
		close(nc.opened)
		if err := l.end(t); status.Code(err) != codes.Unavailable {
			t.Errorf("%s: the stream ended with %v, want that the connection is lost", name, err)
		}
		if len(l.messages) != len(texts) {
			t.Fatalf("%s: %d messages, want %d", name, len(l.messages), len(texts))
		}
		l.hears(t, texts...)
	}
	whole := func(left int) int { return left }
	for i := range said {
		check(fmt.Sprintf("frame of %d bytes", i), frames(said, i), whole)
	}
	b := frames(said, 9)
	for i := range b {
		check(fmt.Sprintf("read of %d bytes", i), b, func(left int) int {
			if read := len(b) - left; read < i {
				return i - read
			}
			return left
		})
	}
	check("read of bytes", b, func(int) int { return 1 })
}

// All messages that end in a read have its time.
func TestTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		said := encode("a", "b", "c")
		b := frames(said)
		first := len(b) - len(encode("c"))
		nc := &canned{settings: slices.Clone(emptySettings), opened: make(chan struct{}), said: b}
		nc.cut = func(left int) int {
			if left < len(b) {
				time.Sleep(time.Second)
				return left
			}
			return first
		}
		c := nc.serve(t, Config{})
		var times []time.Time
		over := make(chan error, 1)
		if _, err := c.Open("/s/m", func(at time.Time, _ []byte) error { times = append(times, at); return nil }, func(err error) { over <- err }); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		close(nc.opened)
		<-over
		// The frame is incomplete after the first read.
		if want := start.Add(time.Second); len(times) != 3 || !times[0].Equal(want) || times[2] != times[0] {
			t.Errorf("times %v, want 3 times %v", times, want)
		}
	})
}

// How a stream ends, which frame is then sent to the server, and that others on the connection
// continue.
func TestEnds(t *testing.T) {
	reset := func(code http2.ErrCode) func(*peer, uint32) {
		return func(p *peer, id uint32) { _ = p.WriteRSTStream(id, code) }
	}
	const none = 1000 // no RST_STREAM
	for name, tt := range map[string]struct {
		script func(*peer, uint32)
		code   codes.Code
		text   string // part of the error
		reset  http2.ErrCode
	}{
		"trailers only": {func(p *peer, id uint32) {
			p.fieldsOf(id, true, ":status", "200", "grpc-status", "14", "grpc-message", "etcdserver: no leader")
		}, codes.Unavailable, "no leader", http2.ErrCodeNo},
		"status after messages": {func(p *peer, id uint32) {
			p.begin(id)
			p.say(id, "one")
			p.fieldsOf(id, true, "grpc-status", "11", "grpc-message", "compacted")
		}, codes.OutOfRange, "compacted", http2.ErrCodeNo},
		"end":           {func(p *peer, id uint32) { p.begin(id); p.end(id) }, codes.Unknown, "EOF", http2.ErrCodeNo},
		"no status":     {func(p *peer, id uint32) { p.begin(id); p.fieldsOf(id, true, "x", "y") }, codes.Unknown, "no gRPC status", http2.ErrCodeNo},
		"HTTP 503":      {func(p *peer, id uint32) { p.fieldsOf(id, true, ":status", "503") }, codes.Unavailable, `"503"`, http2.ErrCodeNo},
		"HTTP 404 open": {func(p *peer, id uint32) { p.fieldsOf(id, false, ":status", "404") }, codes.Unimplemented, `"404"`, http2.ErrCodeCancel},
		"half a message": {func(p *peer, id uint32) {
			p.begin(id)
			_ = p.WriteData(id, false, encode("abc")[:6])
			p.end(id)
		}, codes.Internal, "within a message", http2.ErrCodeNo},
		"compressed":      {func(p *peer, id uint32) { p.begin(id); _ = p.WriteData(id, false, []byte{1, 0, 0, 0, 0}) }, codes.Internal, "compressed", http2.ErrCodeProtocol},
		"giant":           {func(p *peer, id uint32) { p.begin(id); _ = p.WriteData(id, false, []byte{0, 255, 0, 0, 0}) }, codes.Internal, "at most 1000 bytes, got 4278190080", http2.ErrCodeProtocol},
		"beyond the most": {func(p *peer, id uint32) { p.begin(id); p.say(id, strings.Repeat("x", 1001)) }, codes.Internal, "got 1001", http2.ErrCodeProtocol},
		"beyond, cut": {func(p *peer, id uint32) {
			p.begin(id)
			_ = p.WriteData(id, false, []byte{0, 0})
			_ = p.WriteData(id, false, []byte{0, 3, 233})
		}, codes.Internal, "got 1001", http2.ErrCodeProtocol},
		"data first":      {func(p *peer, id uint32) { p.say(id, "a") }, codes.Internal, "without headers", http2.ErrCodeProtocol},
		"ends in data":    {func(p *peer, id uint32) { p.begin(id); _ = p.WriteData(id, true, encode("a")) }, codes.Internal, "without trailers", http2.ErrCodeProtocol},
		"headers twice":   {func(p *peer, id uint32) { p.begin(id); p.begin(id) }, codes.Internal, "second header block", http2.ErrCodeProtocol},
		"window by 0":     {func(p *peer, id uint32) { _ = p.WriteRawFrame(http2.FrameWindowUpdate, 0, id, make([]byte, 4)) }, codes.Internal, "by 0 to", http2.ErrCodeFlowControl},
		"window exceeded": {func(p *peer, id uint32) { p.begin(id); p.say(id, strings.Repeat("x", 996), strings.Repeat("x", 995)) }, codes.Internal, "more than the stream's window", http2.ErrCodeFlowControl},
		"refused":         {reset(http2.ErrCodeRefusedStream), codes.Unavailable, "REFUSED_STREAM", none},
		"cancelled":       {reset(http2.ErrCodeCancel), codes.Canceled, "CANCEL", none},
		"calm":            {reset(http2.ErrCodeEnhanceYourCalm), codes.ResourceExhausted, "CALM", none},
		"odd reset":       {reset(77), codes.Internal, "0x4d", none},
	} {
		t.Run(name, func(t *testing.T) {
			c := dials(t, Config{Window: 2000, MaxMessage: 1000, Address: listen(t, func(p *peer) {
				p.greet()
				p.AllowIllegalWrites = true
				other, id := p.open(), p.open()
				p.begin(other)
				p.say(other, "before")
				tt.script(p, id)
				p.say(other, "after")
				if tt.reset != none {
					if code := p.reset(id); code != tt.reset {
						t.Errorf("the stream was reset with %v, want %v", code, tt.reset)
					}
				}
				p.say(other, "late")
				for p.next() {
				}
				if _, reset := p.resets[id]; reset != (tt.reset != none) {
					t.Errorf("the stream was reset: %v", reset)
				}
			})})
			_, other := opens(t, c, "/s/other")
			s, l := opens(t, c, "/s/m")
			err := l.end(t)
			if status.Code(err) != tt.code || !strings.Contains(err.Error(), tt.text) {
				t.Errorf("the stream ended with %v, want %v with %q", err, tt.code, tt.text)
			}
			if bad := s.Send([]byte("x")); !errors.Is(bad, err) {
				t.Errorf("Send after the end: %v, want %v", bad, err)
			}
			s.Close() // has no effect
			other.hears(t, "before", "after", "late")
			if len(l.over) > 0 {
				t.Error("the end was reported twice")
			}
		})
	}
}

// When a connection ends, its streams end, and no others can be opened.
func TestConnectionEnds(t *testing.T) {
	for name, script := range map[string]func(*peer){
		"closed":            func(p *peer) { _ = p.net.(*net.TCPConn).CloseWrite(); p.message(1) },
		"reset":             func(p *peer) { _ = p.net.(*net.TCPConn).SetLinger(0) },
		"garbage":           func(p *peer) { _, _ = p.net.Write([]byte(strings.Repeat("\xff", 5000))); p.message(1) },
		"large frame":       func(p *peer) { _ = p.WriteRawFrame(http2.FrameData, 0, 1, make([]byte, own.MaxFrame+1)); p.message(1) },
		"data of no stream": func(p *peer) { _ = p.WriteRawFrame(http2.FrameData, 0, 99, nil); p.message(1) },
		"even stream":       func(p *peer) { _ = p.WriteRawFrame(http2.FrameData, 0, 2, nil); p.message(1) },
		"padding":           func(p *peer) { _ = p.WriteRawFrame(http2.FrameData, own.FlagPadded, 1, []byte{5, 1}); p.message(1) },
		"fields": func(p *peer) {
			_ = p.WriteRawFrame(http2.FrameHeaders, own.FlagEndHeaders, 1, bytes.Repeat([]byte{255}, 6))
			p.message(1)
		},
		"fields of no stream": func(p *peer) { _ = p.WriteRawFrame(http2.FrameHeaders, own.FlagEndHeaders, 99, nil); p.message(1) },
		"short reset":         func(p *peer) { _ = p.WriteRawFrame(http2.FrameRSTStream, 0, 1, []byte("abc")); p.message(1) },
		"push": func(p *peer) {
			_ = p.WriteRawFrame(http2.FramePushPromise, 4, 1, []byte("\x00\x00\x00\x02"))
			p.message(1)
		},
		"window":       func(p *peer) { _ = p.WriteWindowUpdate(0, own.MaxWindow); p.message(1) },
		"short GOAWAY": func(p *peer) { _ = p.WriteRawFrame(http2.FrameGoAway, 0, 0, []byte("abc")); p.message(1) },
	} {
		t.Run(name, func(t *testing.T) {
			c := dials(t, Config{Address: listen(t, func(p *peer) {
				p.greet()
				p.AllowIllegalWrites = true
				id := p.open()
				p.open()
				p.begin(id)
				p.say(id, "last words")
				script(p)
			})})
			_, first := opens(t, c, "/s/m")
			_, second := opens(t, c, "/s/m")
			if name != "reset" { // which may overtake them
				first.hears(t, "last words")
			}
			for _, l := range []*listener{first, second} {
				if err := l.end(t); status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), "connection is lost") {
					t.Errorf("a stream ended with %v, want that the connection is lost", err)
				}
			}
			if _, err := c.Open("/s/m", first.receive, first.ended); status.Code(err) != codes.Unavailable {
				t.Errorf("open a stream on a lost connection: %v", err)
			}
		})
	}
}

// After GOAWAY the remaining streams are served on, and the connection ends with the last one.
func TestGoAway(t *testing.T) {
	left := make(chan struct{})
	c := dials(t, Config{Address: listen(t, func(p *peer) {
		p.greet()
		first, second := p.open(), p.open()
		p.begin(first)
		_ = p.WriteGoAway(first, http2.ErrCodeNo, []byte("bye"))
		<-left
		p.say(first, "still here")
		p.end(first)
		for p.next() {
		}
		if _, reset := p.resets[second]; reset || len(p.opened) > 0 {
			t.Errorf("after GOAWAY streams %v were opened and %v reset", p.opened, p.resets)
		}
	})})
	_, first := opens(t, c, "/s/m")
	_, second := opens(t, c, "/s/m")
	if err := second.end(t); status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), `"bye"`) {
		t.Errorf("a stream that the server does not know ended with %v", err)
	}
	if _, err := c.Open("/s/m", second.receive, second.ended); status.Code(err) != codes.Unavailable {
		t.Errorf("open a stream after GOAWAY: %v", err)
	}
	close(left)
	first.hears(t, "still here")
	if err := first.end(t); !errors.Is(err, io.EOF) {
		t.Errorf("the stream ended with %v, want EOF", err)
	}
	select {
	case <-c.over:
	case <-time.After(within):
		t.Error("the connection has not ended with its last stream")
	}
}

// A window is renewed by exactly the bytes taken, padding included: a server that counts is never
// given more than the window, and never less than half once everything was taken.
func TestWindow(t *testing.T) {
	for _, window := range []int{1, 2, 7, 1000, 70_000} {
		t.Run(strconv.Itoa(window), func(t *testing.T) {
			const messages = 300
			random := rand.New(rand.NewPCG(1, uint64(window)))
			var texts []string
			for range messages {
				texts = append(texts, strings.Repeat("x", random.IntN(max(4, min(3*window, 3000)))))
			}
			c := dials(t, Config{Window: window, Address: listen(t, func(p *peer) {
				p.greet()
				id := p.open()
				if p.first != int64(window) {
					t.Errorf("the window is %d bytes, want %d", p.first, window)
				}
				p.begin(id)
				for b := encode(texts...); len(b) > 0; {
					for p.windows[id] == 0 || random.IntN(3) == 0 && p.windows[id] <= int64(window)/2 {
						if !p.next() {
							t.Errorf("the connection ended %d bytes before the end: %v", len(b), p.lost)
							return
						}
					}
					room := int(p.windows[id])
					n := 1 + random.IntN(min(len(b), room, own.MaxFrame-300))
					if room -= n; room > 0 && random.IntN(4) == 0 {
						padding := random.IntN(min(room, 256))
						_ = p.WriteDataPadded(id, false, b[:n], make([]byte, padding))
						p.windows[id] -= int64(padding) + 1
					} else {
						_ = p.WriteData(id, false, b[:n])
					}
					p.windows[id] -= int64(n)
					b = b[n:]
				}
				for p.windows[id] <= int64(window)/2 {
					if !p.next() {
						t.Errorf("%d of a window of %d bytes are left after all was taken", p.windows[id], window)
						return
					}
				}
				p.end(id)
				for p.next() {
				}
			})})
			_, l := opens(t, c, "/s/m")
			l.hears(t, texts...)
			if err := l.end(t); !errors.Is(err, io.EOF) {
				t.Errorf("the stream ended with %v, want EOF", err)
			}
		})
	}
}

// TestLongStream: a stream does not stop after a window of bytes. With DBTESTER_LONG it carries 4
// GiB, more than any window can have: a window that is not renewed ends within 2 GiB.
func TestLongStream(t *testing.T) {
	total, window := int64(32<<20), 64<<10
	if slowtest.Long() {
		total, window = 4<<30, 0
	}
	const message = own.MaxFrame - own.Prefix
	zeros := make([]byte, message)
	frame := append(own.AppendHead(nil, own.MaxFrame, own.FrameData, 0, 1), encode(string(zeros))...)
	c := dials(t, Config{Window: window, Address: listen(t, func(p *peer) {
		p.greet()
		id := p.open()
		p.begin(id)
		const most = 16 // frames at once
		batch := slices.Repeat(frame, most)
		for left := total; left > 0; {
			for p.windows[id] < own.MaxFrame {
				if !p.next() {
					t.Errorf("the connection ended %d bytes before the end", left)
					return
				}
			}
			n := min(most, p.windows[id]/own.MaxFrame, left/own.MaxFrame)
			if _, err := p.net.Write(batch[:int(n)*len(frame)]); err != nil {
				t.Errorf("write: %v", err)
				return
			}
			p.windows[id] -= n * own.MaxFrame
			left -= n * own.MaxFrame
		}
		p.end(id)
		for p.next() {
		}
	})})
	var got, wrong int64
	over := make(chan error, 1)
	_, err := c.Open("/s/m", func(_ time.Time, m []byte) error {
		if got += int64(len(m)) + own.Prefix; len(m) != message {
			wrong++
		}
		return nil
	}, func(err error) { over <- err })
	if err != nil {
		t.Fatal(err)
	}
	if err := <-over; !errors.Is(err, io.EOF) || got != total || wrong > 0 {
		t.Errorf("%d bytes of %d came, %d messages of another size, and %v", got, total, wrong, err)
	}
}

// A slow function makes the server wait after one window.
func TestSlowReceiver(t *testing.T) {
	const window, size = 10_000, 100
	sent, release := make(chan int64), make(chan struct{})
	address := listen(t, func(p *peer) {
		p.greet()
		id := p.open()
		p.begin(id)
		one := strings.Repeat("x", size-own.Prefix)
		n := p.windows[id] / size
		for range n {
			p.say(id, one)
		}
		p.windows[id] -= n * size
		sent <- n * size
		for p.updates == 0 && p.next() { // once something was taken
		}
		p.say(id, one)
		p.end(id)
		for p.next() {
		}
	})
	c := dials(t, Config{Window: window, Address: address})
	var taken atomic.Int64
	over := make(chan error, 1)
	_, err := c.Open("/slow", func(_ time.Time, m []byte) error {
		<-release
		taken.Add(int64(len(m)) + own.Prefix)
		return nil
	}, func(err error) { over <- err })
	if err != nil {
		t.Fatal(err)
	}
	if n := <-sent; n != window {
		t.Errorf("the server could send %d bytes, want %d", n, window)
	}
	c.link.Mu.Lock()
	if n := len(c.link.Out.Pending); n > 0 {
		t.Errorf("%d bytes are to be sent before anything was taken", n)
	}
	c.link.Mu.Unlock()
	close(release)
	if err := <-over; !errors.Is(err, io.EOF) || taken.Load() != window+size {
		t.Errorf("%d bytes were taken, want %d; %v", taken.Load(), window+size, err)
	}
}

// A connection that pauses reads nothing meanwhile, and delays no other.
func TestPause(t *testing.T) {
	answered := make(chan struct{})
	address := listen(t, func(p *peer) {
		p.greet()
		id := p.open()
		p.begin(id)
		p.say(id, "hello")
		if p.paths[id] == "/paused" {
			<-answered // so that this comes with another read
			p.say(id, "again")
		}
		for p.next() {
		}
	})
	release := make(chan struct{})
	var said atomic.Bool
	paused := dials(t, Config{Address: address, Pause: func() <-chan struct{} {
		if said.Load() {
			return release
		}
		return nil
	}})
	heard := make(chan string, 2)
	_, err := paused.Open("/paused", func(_ time.Time, m []byte) error {
		said.Store(true)
		heard <- string(m)
		return nil
	}, func(error) {})
	if err != nil {
		t.Fatal(err)
	}
	if text := <-heard; text != "hello" {
		t.Errorf("heard %q", text)
	}
	close(answered)
	_, other := opens(t, dials(t, Config{Address: address}), "/quick")
	other.hears(t, "hello")
	if len(heard) > 0 {
		t.Errorf("heard %q in a pause", <-heard)
	}
	close(release)
	if text := <-heard; text != "again" {
		t.Errorf("heard %q after the pause", text)
	}
}

// Goroutines that open streams and send on one connection at a time, as far as the server windows
// and limits allow, disturb neither each other's frames nor their order.
func TestSendersTogether(t *testing.T) {
	const senders, streams, messages = 20, 10, 150
	size := func(m int) int { return m * m % 5000 }
	for name, server := range map[string]echoes{
		"usual":         {window: own.FirstWindow, most: streams},
		"small windows": {window: 100, most: streams},
		"few streams":   {window: 30_000, most: 3},
	} {
		t.Run(name, func(t *testing.T) {
			// The window is renewed within the answers on a stream, but is larger than all answers
			// together.
			c := dials(t, Config{Window: 500_000, Address: listen(t, func(p *peer) { server.serve(p) })})
			var opening, group sync.WaitGroup
			var all [streams]*Stream
			var heard [streams]*listener
			for i := range streams {
				opening.Go(func() { all[i], heard[i] = opens(t, c, "/s/"+strconv.Itoa(i)) })
			}
			opening.Wait()
			for n := range senders {
				group.Go(func() {
					for m := n; m < messages; m += senders {
						for i, s := range all {
							if err := s.Send(fmt.Appendf(nil, "%d %d %s", i, m, strings.Repeat("x", size(m)))); err != nil {
								t.Errorf("send: %v", err)
							}
						}
					}
				})
			}
			for i, l := range heard {
				group.Go(func() {
					last := map[int]int{}
					for range messages {
						var stream, m int
						var rest string
						select {
						case text := <-l.messages:
							_, err := fmt.Sscanf(text, "%d %d %s", &stream, &m, &rest)
							if err != nil && size(m) > 0 || stream != i || len(rest) != size(m) {
								t.Errorf("stream %d hears %.40q of %d bytes", i, text, len(text))
								return
							}
						case err := <-l.over:
							t.Errorf("stream %d ended: %v", i, err)
							return
						case <-time.After(within):
							t.Errorf("stream %d lacks messages", i)
							return
						}
						if before, ok := last[m%senders]; ok && m != before+senders || !ok && m >= senders {
							t.Errorf("stream %d: message %d of sender %d follows %d", i, m, m%senders, before)
						}
						last[m%senders] = m
					}
					all[i].Close() // makes room for others
				})
			}
			group.Wait()
		})
	}
}

// echoes returns messages as they come, and checks windows and the stream limit.
type echoes struct {
	window int64 // of a new stream, in bytes
	most   int   // streams at a time
}

func (e echoes) serve(p *peer) {
	p.greet(http2.Setting{ID: http2.SettingInitialWindowSize, Val: uint32(e.window)}, http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: uint32(e.most)})
	// Before the settings have arrived nothing is limited: no goroutine opens a stream by then.
	windows, connection := map[uint32]int64{}, int64(own.FirstWindow)
	for {
		f, ok := p.read()
		if !ok {
			return
		}
		for _, id := range p.opened {
			windows[id] = e.window
			p.begin(id)
		}
		p.opened = nil
		for id := range p.resets {
			delete(windows, id)
		}
		if len(windows) > e.most {
			p.t.Errorf("%d streams are open, %d may be", len(windows), e.most)
		}
		data, ok := f.(*http2.DataFrame)
		if !ok {
			continue
		}
		id, n := data.StreamID, int64(len(data.Data()))
		windows[id] -= n
		if connection -= n; windows[id] < 0 || connection < 0 {
			p.t.Errorf("the client exceeds windows: %d and %d bytes are left", windows[id], connection)
		}
		if windows[id] <= e.window/2 {
			_ = p.WriteWindowUpdate(id, uint32(e.window-windows[id]))
			windows[id] = e.window
		}
		if connection < own.FirstWindow/2 {
			_ = p.WriteWindowUpdate(0, uint32(own.FirstWindow-connection))
			connection = own.FirstWindow
		}
		for b := p.said[id]; len(b) >= own.Prefix; b = p.said[id] {
			size := own.Prefix + int(b[3])<<8 + int(b[4])
			if len(b) < size {
				break
			}
			_ = p.WriteData(id, false, b[:size])
			p.said[id] = b[size:]
			p.windows[id] -= int64(size)
			if size%3 == 0 { // which the client acknowledges between other frames
				_ = p.WritePing(false, [8]byte{1})
			}
		}
	}
}

// A server that does not read delays no caller, and memory has a bound.
func TestServerDoesNotRead(t *testing.T) {
	done := make(chan struct{})
	c := dials(t, Config{Address: listen(t, func(p *peer) {
		p.greet()
		p.open()
		<-done
	})})
	t.Cleanup(func() { close(done) })
	s, l := opens(t, c, "/s/m")
	message, sent := make([]byte, 1<<20), 0
	var err error
	for err == nil && sent < 1000 {
		if err = s.Send(message); err == nil {
			sent++
		}
	}
	if status.Code(err) != codes.ResourceExhausted || sent < 15 || sent > 17 {
		t.Errorf("after %d MiB: %v, want that no more than 16 MiB wait", sent, err)
	}
	s.Close()
	if err := s.Send(nil); status.Code(err) != codes.Canceled {
		t.Errorf("Send after Close: %v", err)
	}
	c.link.Mu.Lock()
	open, waiting := c.streams.Count()
	c.link.Mu.Unlock()
	if open+waiting > 0 || len(l.over) > 0 {
		t.Errorf("%d streams are open and %d wait after Close, the end was reported %d times", open, waiting, len(l.over))
	}
}

// An idle stream is pinged, but not more often than an etcd member allows, and not without a
// stream; a server that does not answer ends the connection.
func TestIdle(t *testing.T) {
	for name, answers := range map[string]bool{"alive": true, "dead": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, server := net.Pipe()
				var pings []time.Duration
				start := time.Now()
				var group sync.WaitGroup
				group.Go(func() {
					p := newPeer(t, server)
					_, _ = io.ReadFull(server, make([]byte, len(http2.ClientPreface)))
					for range 2 { // a pipe holds nothing, and the client reads once it has written all
						p.next()
					}
					_ = p.WriteSettings()
					for {
						f, err := p.ReadFrame()
						if err != nil {
							return
						}
						if f, ok := f.(*http2.PingFrame); ok {
							if pings = append(pings, time.Since(start)); answers {
								_ = p.WritePing(true, f.Data)
							}
						}
					}
				})
				c, err := serve(t.Context(), client, Config{Address: "a:1"}, own.UsualTiming())
				if err != nil {
					t.Fatal(err)
				}
				const alone = 10 * time.Minute
				time.Sleep(alone)
				synctest.Wait()
				if len(pings) > 0 {
					t.Errorf("pings without a stream: %v", pings)
				}
				_, l := opens(t, c, "/s/m")
				time.Sleep(alone)
				synctest.Wait()
				if answers {
					if len(pings) < 30 || len(l.over) > 0 {
						t.Errorf("%d pings in %v, the stream ended %d times", len(pings), alone, len(l.over))
					}
					for i := 1; i < len(pings); i++ {
						if pings[i]-pings[i-1] < 5*time.Second {
							t.Errorf("pings at %v and %v", pings[i-1], pings[i])
						}
					}
				} else if err := l.end(t); status.Code(err) != codes.Unavailable || len(pings) != 1 || pings[0] > alone+20*time.Second {
					t.Errorf("a dead server: %v, pings %v", err, pings)
				}
				c.Close()
				server.Close()
				group.Wait()
			})
		})
	}
}

// The end is not reported for a stream the user closed, and is for a lost connection.
func TestClose(t *testing.T) {
	ended := make(chan struct{})
	c := dials(t, Config{Address: listen(t, func(p *peer) {
		p.greet()
		for range 4 {
			p.begin(p.open())
		}
		p.say(1, "one", "two")
		p.say(5, "one", "two")
		for _, id := range []uint32{1, 3, 5} {
			if code := p.reset(id); code != http2.ErrCodeCancel {
				t.Errorf("stream %d was reset with %v, want %v", id, code, http2.ErrCodeCancel)
			}
		}
		close(ended)
		for p.next() {
		}
		if len(p.resets) != 3 {
			t.Errorf("streams were reset with %v, want 3 of them", p.resets)
		}
	})})
	first := newListener()
	var s atomic.Pointer[Stream]
	opened, err := c.Open("/s/m", func(at time.Time, m []byte) error {
		s.Load().Close() // from its own function
		return first.receive(at, m)
	}, first.ended)
	if err != nil {
		t.Fatal(err)
	}
	s.Store(opened)
	second, heard := opens(t, c, "/s/m")
	second.Close()
	second.Close()
	third := newListener()
	if _, err := c.Open("/s/m", func(at time.Time, m []byte) error { return errMine }, third.ended); err != nil {
		t.Fatal(err)
	}
	_, fourth := opens(t, c, "/s/m")
	first.hears(t, "one")
	if err := third.end(t); !errors.Is(err, errMine) {
		t.Errorf("the stream ended with %v, want the error of receive", err)
	}
	<-ended
	c.Close()
	if err := fourth.end(t); status.Code(err) != codes.Canceled {
		t.Errorf("a stream of a closed connection ended with %v", err)
	}
	if len(first.messages)+len(first.over)+len(heard.over)+len(third.over)+len(fourth.over) > 0 {
		t.Error("something was reported after the end")
	}
	if _, err := c.Open("/s/m", heard.receive, heard.ended); status.Code(err) != codes.Canceled {
		t.Errorf("open a stream on a closed connection: %v", err)
	}
	c.Close()
}

// A failed dial has a reason, and a window must be valid.
func TestDialFails(t *testing.T) {
	leavesNothing(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	if _, err := Dial(t.Context(), Config{Address: l.Addr().String()}); status.Code(err) != codes.Unavailable {
		t.Errorf("dial nobody: %v", err)
	}
	address := listen(t, func(p *peer) {
		_, _ = p.net.Read(make([]byte, 1000))
		_, _ = p.net.Write([]byte("HTTP/1.0 400 Bad Request\r\n\r\n"))
	})
	if _, err := dial(t.Context(), Config{Address: address}, quick()); status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), "HTTP/1") {
		t.Errorf("dial another protocol: %v", err)
	}
	if _, err := dial(t.Context(), Config{Address: address, Window: -1}, quick()); err == nil || !strings.Contains(err.Error(), "got -1") {
		t.Errorf("a window of -1: %v", err)
	}
}

// reads returns a function that makes a connection read frames for stream 1, without a network.
func reads(t testing.TB, receive func(time.Time, []byte) error) func(frames []byte) {
	nc := &canned{
		settings: slices.Clone(emptySettings), opened: make(chan struct{}), closed: make(chan struct{}), waits: make(chan struct{}),
		cut: func(left int) int { return left },
	}
	waits := nc.waits
	c := nc.serve(t, Config{Window: own.MaxWindow})
	t.Cleanup(func() { close(nc.opened) }) // before the connection is closed
	if _, err := c.Open("/s/m", receive, func(error) {}); err != nil {
		t.Fatal(err)
	}
	<-waits // so that no other goroutine reads
	in := (*incoming)(c)
	read := func(b []byte) {
		for len(b) > 0 {
			n := copy(in.Room(), b)
			if b = b[n:]; in.Received(n) != nil {
				t.Fatal("the connection does not accept what is read")
			}
		}
	}
	read(frames(nil)) // the headers
	return read
}

// Arriving messages cost no memory.
func TestNoAllocations(t *testing.T) {
	var heard int
	read := reads(t, func(time.Time, []byte) error { heard++; return nil })
	said := encode("one", strings.Repeat("x", 100), "")
	b := frames(said, 6)[len(frames(nil))-own.HeadSize:] // without the headers
	read(b)
	if n := testing.AllocsPerRun(1000, func() { read(b) }); n > 0 || heard != 3*1002 {
		t.Errorf("%v allocations for each read, %d messages, want %d", n, heard, 3*1002)
	}
}

// BenchmarkReceive measures the cost of a 100-byte message in its own frame, as etcd sends events,
// with as many as fit in a read, without the network.
func BenchmarkReceive(b *testing.B) {
	var heard int
	read := reads(b, func(time.Time, []byte) error { heard++; return nil })
	said := encode(strings.Repeat("x", 100))
	one := append(own.AppendHead(nil, len(said), own.FrameData, 0, 1), said...)
	const most = 500
	many := slices.Repeat(one, most)
	b.ReportAllocs()
	for n := b.N; n > 0; n -= most {
		read(many[:len(one)*min(n, most)])
	}
	if heard != b.N {
		b.Errorf("%d messages, want %d", heard, b.N)
	}
}
