package poller

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"
)

// attached is a socket with the channel that notifies its user; it holds one notification at most.
type attached struct {
	Socket
	told chan struct{}
}

// eachAttached runs a test with a connection in each way to wait for connections.
func eachAttached(t *testing.T, test func(t *testing.T, c *attached, server *net.TCPConn)) {
	for name, s := range sets(t) {
		t.Run(name, func(t *testing.T) {
			client, server := pair(t)
			c := &attached{told: make(chan struct{}, 1)}
			var err error
			c.Socket, err = s.attach(client.(*net.TCPConn), func() {
				select {
				case c.told <- struct{}{}:
				default:
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			test(t, c, server.(*net.TCPConn))
		})
	}
}

// wait waits for a notification.
func (c *attached) wait(t *testing.T) {
	t.Helper()
	select {
	case <-c.told:
	case <-time.After(patience):
		t.Fatal("the user is not told")
	}
}

// read reads n bytes, and waits only when there is no more.
func (c *attached) read(t *testing.T, n, room int) []byte {
	t.Helper()
	all, b := make([]byte, 0, n), make([]byte, room)
	for more := true; len(all) < n; {
		if !more {
			c.wait(t)
		}
		got, still, err := c.TryRead(b[:min(room, n-len(all))])
		if err != nil {
			t.Fatalf("TryRead after %d of %d bytes: %v", len(all), n, err)
		}
		all, more = append(all, b[:got]...), still
	}
	return all
}

// All bytes arrive, however they are cut and whatever room they get.
func TestAttach(t *testing.T) {
	for _, room := range []int{1, 7, 4096} {
		eachAttached(t, func(t *testing.T, c *attached, server *net.TCPConn) {
			sent := make([]byte, 20_000)
			_, _ = rand.Read(sent)
			var writing sync.WaitGroup
			writing.Go(func() {
				for i, left := 0, sent; len(left) > 0; i++ {
					n := min(len(left), 1+i%97*13)
					if _, err := server.Write(left[:n]); err != nil {
						t.Errorf("the server's write: %v", err)
						return
					}
					left = left[n:]
				}
			})
			got := c.read(t, len(sent), room)
			writing.Wait()
			if !bytes.Equal(got, sent) {
				t.Error("other bytes arrived than were sent")
			}
			if waiting, err := c.Peek(); waiting || err != nil {
				t.Errorf("Peek after all bytes = %v, %v, want false", waiting, err)
			}
			if n, more, err := c.TryRead(make([]byte, 1)); n != 0 || more || err != nil {
				t.Errorf("TryRead after all bytes = %d, %v, %v, want none", n, more, err)
			}
		})
	}
}

// The end of the other side is notified, also with the last bytes and after a reset.
func TestAttachedEnds(t *testing.T) {
	for name, end := range map[string]func(server *net.TCPConn) error{
		"half":  (*net.TCPConn).CloseWrite,
		"whole": (*net.TCPConn).Close,
		"reset": func(server *net.TCPConn) error { return errors.Join(server.SetLinger(0), server.Close()) },
	} {
		t.Run(name, func(t *testing.T) {
			eachAttached(t, func(t *testing.T, c *attached, server *net.TCPConn) {
				if _, err := server.Write([]byte("last")); err != nil {
					t.Fatal(err)
				}
				if name != "reset" { // which may discard it
					c.read(t, 4, 16)
				}
				if err := end(server); err != nil {
					t.Fatal(err)
				}
				for {
					n, more, err := c.TryRead(make([]byte, 16))
					if err != nil {
						if reset := !errors.Is(err, io.EOF); reset != (name == "reset") {
							t.Errorf("TryRead at the end: %v", err)
						}
						return
					}
					if n == 0 && !more {
						c.wait(t)
					}
				}
			})
		})
	}
}

// A write that waits for the network ends when the socket is shut down or closed, and the user is notified
// of the former.
func TestAttachedWriteEnds(t *testing.T) {
	for name, end := range map[string]func(c *attached) error{
		"shut down": func(c *attached) error { return c.Shutdown() },
		"closed":    func(c *attached) error { return c.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			eachAttached(t, func(t *testing.T, c *attached, _ *net.TCPConn) {
				failed := make(chan error, 1)
				go func() {
					_, err := c.Write(make([]byte, 64<<20))
					failed <- err
				}()
				time.Sleep(time.Millisecond)
				if err := end(c); err != nil {
					t.Errorf("the end: %v", err)
				}
				select {
				case err := <-failed:
					if err == nil {
						t.Error("64 MiB were written to a server that does not read")
					}
				case <-time.After(patience):
					t.Fatal("the write still waits")
				}
				if name == "closed" {
					if _, _, err := c.TryRead(make([]byte, 1)); !errors.Is(err, net.ErrClosed) {
						t.Errorf("TryRead of a closed socket: %v, want %v", err, net.ErrClosed)
					}
					if _, err := c.Peek(); !errors.Is(err, net.ErrClosed) {
						t.Errorf("Peek at a closed socket: %v, want %v", err, net.ErrClosed)
					}
					if err := c.Shutdown(); !errors.Is(err, net.ErrClosed) {
						t.Errorf("Shutdown of a closed socket: %v, want %v", err, net.ErrClosed)
					}
					return
				}
				c.wait(t)
				if n, _, err := c.TryRead(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) {
					t.Errorf("TryRead of a socket that was shut down = %d, %v, want the end", n, err)
				}
			})
		})
	}
}

// A socket that was shut down after a reset also notifies its user.
func TestShutdownAfterReset(t *testing.T) {
	eachAttached(t, func(t *testing.T, c *attached, server *net.TCPConn) {
		if err := errors.Join(server.SetLinger(0), server.Close()); err != nil {
			t.Fatal(err)
		}
		c.wait(t)
		for len(c.told) > 0 {
			<-c.told
		}
		_ = c.Shutdown() // the connection has ended
		c.wait(t)
	})
}
