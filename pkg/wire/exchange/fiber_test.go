package exchange

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/wire/fiber/fibertest"
)

// patience is the time that anything may take on a busy machine: only a hang takes longer.
const patience = 2 * time.Minute

// listen serves connections with a function until the test ends, and returns the address.
func listen(t *testing.T, serve func(number int, conn *net.TCPConn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.108.1.2:0")
	if err != nil {
		t.Fatalf("listen on loopback: %v", err)
	}
	var running sync.WaitGroup
	var mu sync.Mutex
	var open []net.Conn
	running.Go(func() {
		for number := 0; ; number++ {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			open = append(open, conn)
			mu.Unlock()
			running.Go(func() {
				defer conn.Close()
				serve(number, conn.(*net.TCPConn))
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		mu.Lock()
		for _, conn := range open {
			_ = conn.Close()
		}
		mu.Unlock()
		running.Wait()
	})
	return l.Addr().String()
}

// soon fails the test if a group has not ended in time.
func soon(t *testing.T, group *sync.WaitGroup) {
	t.Helper()
	done := make(chan struct{})
	go func() { group.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(patience):
		t.Fatalf("fibers have not ended within %v", patience)
	}
}

// exchanged sends a request and reads an n-byte answer.
func exchanged(ctx context.Context, c *Conn, addr string, request []byte, n int) (answer []byte, err error) {
	connected, err := c.Begin(ctx)
	if err != nil {
		return nil, err
	}
	if !connected {
		if err := c.Connect(ctx, addr, nil); err != nil {
			c.End(false)
			return nil, err
		}
	}
	if err = c.Send(request); err == nil {
		if answer, err = c.In.Append(nil, int64(n)); err != nil {
			if _, again := c.In.Next(1); again == nil {
				err = errors.New("a read after the connection has failed succeeds")
			}
		}
	}
	c.End(err == nil)
	return answer, err
}

// Many fibers on their own connections get their answers, however these are cut.
func TestManyFibers(t *testing.T) {
	const fibers, rounds, size = 60, 40, 64
	addr := listen(t, func(_ int, conn *net.TCPConn) {
		for b := make([]byte, size); ; {
			if _, err := io.ReadFull(conn, b); err != nil {
				return
			}
			cut := 1 + int(b[0])%size
			_, _ = conn.Write(b[:cut])
			if b[1]%4 == 0 {
				time.Sleep(time.Duration(b[2]) * time.Microsecond) // so that the rest comes alone
			}
			_, _ = conn.Write(b[cut:])
		}
	})
	var group sync.WaitGroup
	for n := range fibers {
		fibertest.Go(t.Context(), &group, func(ctx context.Context) {
			var c Conn
			defer c.Close()
			for i := range rounds {
				request := bytes.Repeat([]byte{byte(n), byte(i), byte(n * i)}, size)[:size]
				answer, err := exchanged(ctx, &c, addr, request, size)
				if err != nil || !bytes.Equal(answer, request) {
					t.Errorf("fiber %d, round %d: got %v, %v; want %v", n, i, answer, err, request)
					return
				}
			}
		})
	}
	soon(t, &group)
}

// An answer arrives byte by byte: each may be the only one that has come.
func TestFiberReadsBytes(t *testing.T) {
	answer := []byte("0123456789")
	turn := make(chan struct{})
	addr := listen(t, func(_ int, conn *net.TCPConn) {
		b := make([]byte, 1)
		for {
			if _, err := io.ReadFull(conn, b); err != nil {
				return
			}
			for i := range answer {
				_, _ = conn.Write(answer[i : i+1])
				<-turn
			}
		}
	})
	var group sync.WaitGroup
	group.Go(func() {
		fibertest.Do(t.Context(), func(ctx context.Context) {
			var c Conn
			defer c.Close()
			for range 5 {
				connected, err := c.Begin(ctx)
				if err != nil {
					t.Errorf("begin: %v", err)
					return
				}
				if !connected {
					err = c.Connect(ctx, addr, nil)
				}
				if err == nil {
					err = c.Send([]byte("?"))
				}
				for i := 0; err == nil && i < len(answer); i++ {
					var b []byte
					if b, err = c.In.Next(1); err == nil && b[0] != answer[i] {
						t.Errorf("byte %d is %q, want %q", i, b, answer[i])
					}
					go func() { turn <- struct{}{} }()
				}
				if err != nil {
					t.Errorf("exchange: %v", err)
				}
				c.End(err == nil)
			}
		})
	})
	soon(t, &group)
}

// Large requests and answers, which the network takes and brings in parts.
func TestLargeExchanges(t *testing.T) {
	const size = 8 << 20
	addr := listen(t, func(_ int, conn *net.TCPConn) {
		for b := make([]byte, size); ; {
			if _, err := io.ReadFull(conn, b[:1]); err != nil {
				return
			}
			time.Sleep(5 * time.Millisecond) // until the network takes no more
			if _, err := io.ReadFull(conn, b[1:]); err != nil {
				return
			}
			if _, err := conn.Write(b); err != nil {
				return
			}
		}
	})
	var group sync.WaitGroup
	for n := range 4 {
		fibertest.Go(t.Context(), &group, func(ctx context.Context) {
			var c Conn
			defer c.Close()
			request := bytes.Repeat([]byte{1, 2, 3, byte(n), 5, 6, 7}, size/7+1)[:size]
			for range 3 {
				if answer, err := exchanged(ctx, &c, addr, request, size); err != nil || !bytes.Equal(answer, request) {
					t.Errorf("fiber %d: %d bytes, %v; want the request", n, len(answer), err)
					return
				}
			}
		})
	}
	soon(t, &group)
}

// Whatever ends a connection, and whenever, the exchange fails and the next one has another
// connection.
func TestConnectionsEnd(t *testing.T) {
	for name, end := range map[string]func(conn *net.TCPConn){
		"closed":      func(conn *net.TCPConn) { _ = conn.Close() },
		"half closed": func(conn *net.TCPConn) { _ = conn.CloseWrite(); _, _ = io.Copy(io.Discard, conn) },
		"reset":       func(conn *net.TCPConn) { _ = errors.Join(conn.SetLinger(0), conn.Close()) },
	} {
		for sent := range 4 { // bytes out of 4
			t.Run(fmt.Sprintf("%s after %d bytes", name, sent), func(t *testing.T) {
				addr := listen(t, func(number int, conn *net.TCPConn) {
					b := make([]byte, 4)
					for i := 0; ; i++ {
						if _, err := io.ReadFull(conn, b); err != nil {
							return
						}
						if number%2 == 0 && i == 2 { // the fiber has then waited in package poller
							_, _ = conn.Write(b[:sent])
							end(conn)
							return
						}
						_, _ = conn.Write(b)
					}
				})
				fibertest.Do(t.Context(), func(ctx context.Context) {
					var c Conn
					defer c.Close()
					for i := range 5 {
						_, err := exchanged(ctx, &c, addr, []byte("ping"), 4)
						if failed := err != nil; failed != (i == 2) {
							t.Errorf("exchange %d: %v; only the third one fails", i, err)
						}
					}
				})
			})
		}
	}
}

// An exchange ends with its context, whatever else happens at that moment, and the next one of the
// fiber is not disturbed.
func TestInterruptedFibers(t *testing.T) {
	addr := listen(t, func(_ int, conn *net.TCPConn) {
		for b := make([]byte, 2); ; {
			if _, err := io.ReadFull(conn, b); err != nil {
				return
			}
			if b[0] != 'h' {
				_, _ = conn.Write(b)
			}
		}
	})
	var group sync.WaitGroup
	var interrupted atomic.Int64
	for range 40 {
		group.Go(func() {
			var c Conn
			defer c.Close()
			for n := range 30 {
				request := []byte{byte('a' + n%4), byte(n)}
				if n%5 == 0 {
					request[0] = 'h'
				}
				ctx, cancel := context.WithCancel(context.Background())
				timer := time.AfterFunc(time.Duration(rand.Int64N(int64(300*time.Microsecond))), cancel)
				fibertest.Do(ctx, func(ctx context.Context) {
					answer, err := exchanged(ctx, &c, addr, request, 2)
					switch {
					case err != nil && ctx.Err() != nil:
						interrupted.Add(1)
					case err != nil || !bytes.Equal(answer, request) || request[0] == 'h':
						t.Errorf("got %q, %v; want %q", answer, err, request)
					}
				})
				timer.Stop()
				cancel()
			}
			fibertest.Do(t.Context(), func(ctx context.Context) {
				if _, err := exchanged(ctx, &c, addr, []byte("ok"), 2); err != nil {
					t.Errorf("the last exchange: %v", err)
				}
			})
		})
	}
	soon(t, &group)
	if n := interrupted.Load(); n < 40*6 {
		t.Errorf("%d exchanges were interrupted, want at least those that hang, 240", n)
	}
}

// When a context ends, and after Close, a write that waits for the network ends.
func TestServerDoesNotRead(t *testing.T) {
	for _, closes := range []bool{false, true} {
		began := make(chan struct{})
		addr := listen(t, func(_ int, conn *net.TCPConn) {
			b := make([]byte, 2)
			for range 2 {
				if _, err := io.ReadFull(conn, b); err == nil {
					_, _ = conn.Write(b)
				}
			}
			_, _ = io.ReadFull(conn, b)
			close(began)
			<-t.Context().Done()
		})
		ctx, cancel := context.WithCancel(t.Context())
		fibertest.Do(ctx, func(ctx context.Context) {
			var c Conn
			defer c.Close()
			for range 2 {
				if _, err := exchanged(ctx, &c, addr, []byte("ok"), 2); err != nil {
					t.Errorf("exchange: %v", err)
				}
			}
			end := cancel
			if closes {
				end = c.Close
			}
			go func() { <-began; end() }()
			want := map[bool]error{false: os.ErrDeadlineExceeded, true: net.ErrClosed}[closes]
			if _, err := exchanged(ctx, &c, addr, make([]byte, 64<<20), 2); !errors.Is(err, want) {
				t.Errorf("a request that the server does not read: %v, want %v", err, want)
			}
		})
		cancel()
	}
}

// A read deadline ends the read of a fiber, or passes after the answer.
func TestFiberReadDeadline(t *testing.T) {
	answers := make(chan struct{})
	addr := listen(t, func(_ int, conn *net.TCPConn) {
		for b := make([]byte, 2); ; {
			if _, err := io.ReadFull(conn, b); err != nil {
				return
			}
			if b[0] == 'w' {
				<-answers
			}
			_, _ = conn.Write(b)
		}
	})
	fibertest.Do(t.Context(), func(ctx context.Context) {
		var c Conn
		defer c.Close()
		for _, text := range []string{"ok", "wa", "ok", "ok"} {
			connected, err := c.Begin(ctx)
			if err == nil && !connected {
				err = c.Connect(ctx, addr, nil)
			}
			if err != nil {
				t.Errorf("begin: %v", err)
				return
			}
			within := patience
			if text == "wa" {
				within = 10 * time.Millisecond
			}
			err = c.Send([]byte(text))
			if text == "wa" && c.polled == nil { // and Send would wait for the first bytes
				t.Error("the second exchange of a fiber is not polled")
				return
			}
			if err == nil {
				err = c.SetReadDeadline(time.Now().Add(within))
			}
			var got []byte
			if err == nil {
				got, err = c.In.Next(2)
			}
			if text == "wa" {
				if !errors.Is(err, os.ErrDeadlineExceeded) {
					t.Errorf("a read after its deadline: %q, %v", got, err)
				}
				close(answers)
				if err = c.SetReadDeadline(time.Time{}); err == nil {
					got, err = c.In.Next(2)
				}
			}
			if err != nil || string(got) != text {
				t.Errorf("got %q, %v; want %q", got, err, text)
			}
			c.End(err == nil)
		}
	})
}

// BenchmarkExchange measures a 1 KiB exchange with 100 connections to a server in this process: the
// time for both sides.
func BenchmarkExchange(b *testing.B) {
	const conns, size = 100, 1024
	l, err := net.Listen("tcp", "127.108.1.2:0")
	if err != nil {
		b.Fatalf("listen on loopback: %v", err)
	}
	defer l.Close()
	go func() {
		for conn, err := l.Accept(); err == nil; conn, err = l.Accept() {
			go func() {
				defer conn.Close()
				for buf := make([]byte, size); ; {
					if _, err := io.ReadFull(conn, buf); err != nil {
						return
					}
					if _, err := conn.Write(buf[:100]); err != nil {
						return
					}
				}
			}()
		}
	}()
	for _, fibers := range []bool{false, true} {
		b.Run(map[bool]string{false: "goroutines", true: "fibers"}[fibers], func(b *testing.B) {
			var left atomic.Int64
			left.Store(int64(b.N))
			addr := l.Addr().String()
			run := func(ctx context.Context) {
				var c Conn
				defer c.Close()
				request := make([]byte, size)
				for left.Add(-1) >= 0 {
					if _, err := exchanged(ctx, &c, addr, request, 100); err != nil {
						b.Errorf("exchange: %v", err)
						return
					}
				}
			}
			var group sync.WaitGroup
			b.ReportAllocs()
			for range conns {
				if fibers {
					fibertest.Go(b.Context(), &group, run)
				} else {
					group.Go(func() { run(b.Context()) })
				}
			}
			group.Wait()
		})
	}
}
