package streams

import (
	"errors"
	"io"
	"math"
	"net"
	"os"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// patience is a limit that only means a hang.
const patience = 2 * time.Minute

// moment is connections by id: segments sent and received, and the round trip in ms.
type moment map[string][3]float64

func (m moment) connections() (list []connection) {
	for id, of := range m {
		list = append(list, connection{id, uint32(of[0]), uint32(of[1]), time.Duration(of[2] * 1e6)})
	}
	return list
}

// The round trip is to the last among the nearest members that are a majority, for segments on
// connections on which nothing was received.
func TestTrips(t *testing.T) {
	for name, c := range map[string]struct {
		members   int
		now, then moment
		n, mean   float64 // mean in ms
	}{
		"one of two is enough": {3, moment{"a": {0, 1, 1}, "b": {0, 1, 1}}, moment{"a": {90, 1, 2}, "b": {100, 1, 9}}, 190, 2},
		"the second of four":   {5, moment{"a": {0, 0, 1}, "b": {0, 0, 1}, "c": {0, 0, 1}, "d": {0, 0, 1}}, moment{"a": {10, 0, 1}, "b": {10, 0, 2}, "c": {10, 0, 3}, "d": {10, 0, 4}}, 40, 2},
		"two of three":         {4, moment{"a": {0, 0, 1}, "b": {0, 0, 1}, "c": {0, 0, 1}}, moment{"a": {10, 0, 1}, "b": {10, 0, 2}, "c": {10, 0, 3}}, 30, 2},
		"the other of two":     {2, moment{"a": {5, 0, 1}}, moment{"a": {7, 0, 3}}, 2, 3},
		"few on a near one":    {3, moment{"a": {0, 0, 1}, "b": {0, 0, 1}, "c": {0, 0, 1}}, moment{"a": {10, 0, .1}, "b": {100, 0, 5}, "c": {100, 0, 6}}, 210, 5},
		"both sides send":      {3, moment{"a": {0, 0, 1}, "b": {0, 0, 1}}, moment{"a": {50, 50, 40}, "b": {10, 0, 3}}, 10, 3},
		"new and closed":       {3, moment{"a": {0, 0, 1}}, moment{"b": {70, 0, 1}}, 0, 0},
		"nothing sent":         {3, moment{"a": {9, 0, 1}}, moment{"a": {9, 0, 1}}, 0, 0},
		"around 2^32":          {3, moment{"a": {math.MaxUint32 - 1, 0, 1}}, moment{"a": {3, 0, 2}}, 5, 2},
	} {
		t.Run(name, func(t *testing.T) {
			trips, err := New("127.0.0.1:2380", c.members)
			if err != nil {
				t.Fatal(err)
			}
			trips.add(c.now.connections())
			trips.add(c.then.connections())
			n, seconds := trips.Counted()
			if n != c.n || math.Abs(seconds-c.n*c.mean/1e3) > 1e-12 {
				t.Errorf("got %g segments in %g s, want %g of %g ms", n, seconds, c.n, c.mean)
			}
			// Both are counters.
			trips.add(c.then.connections())
			if again, sum := trips.Counted(); again != n || sum != seconds {
				t.Errorf("without a segment there are %g more and %g s", again-n, sum-seconds)
			}
		})
	}
}

func TestNewRefuses(t *testing.T) {
	for _, listen := range []string{"", "127.0.0.1", "127.0.0.1:x", "127.0.0.1:0", "127.0.0.1:65536"} {
		if _, err := New(listen, 3); err == nil {
			t.Errorf("%q is no address of streams", listen)
		}
	}
	if _, err := New("127.0.0.1:2380", 1); err == nil {
		t.Error("a member alone has no streams to others")
	}
	if _, err := New("db-1.example:2380", 3); err != nil {
		t.Errorf("a name is a host: %v", err)
	}
}

// A connection counts if it leads to the port at the given address and only one side sends on it.
func TestKernel(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux knows connections")
	}
	for _, host := range []string{"127.0.0.1", "::1"} {
		t.Run(host, func(t *testing.T) {
			l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
			if errors.Is(err, unix.EADDRNOTAVAIL) || errors.Is(err, unix.EAFNOSUPPORT) {
				t.Skipf("no loopback address of this family: %v", err)
			}
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			stream, talk := connected(t, l), connected(t, l)
			here, err := New(l.Addr().String(), 2)
			if err != nil {
				t.Fatal(err)
			}
			if _, _, err := here.Count(); errors.Is(err, unix.EPROTONOSUPPORT) || errors.Is(err, unix.ENOENT) || errors.Is(err, os.ErrPermission) {
				t.Skipf("this kernel does not tell: %v", err)
			} else if err != nil {
				t.Fatal(err)
			}
			elsewhere, err := New(net.JoinHostPort("127.0.0.77", port(l)), 2)
			if err != nil {
				t.Fatal(err)
			}
			for range 20 {
				stream.send(t, false)
				talk.send(t, true)
			}
			n, seconds, err := here.Count()
			// Segments may be joined before they are sent.
			if err != nil || n < 1 || n > 20 || seconds <= 0 {
				t.Errorf("got %g segments in %g s, %v, want up to 20", n, seconds, err)
			}
			if list, err := connections(here.listen); err != nil || len(list) != 2 {
				t.Errorf("got %d connections, %v, want 2", len(list), err)
			}
			if list, err := connections(elsewhere.listen); err != nil || len(list) != 0 {
				t.Errorf("got %d connections to another address, %v, want none", len(list), err)
			}
		})
	}
}

func port(l net.Listener) string {
	_, p, _ := net.SplitHostPort(l.Addr().String())
	return p
}

// pair has both ends of a connection: the one that listened, and the one that opened it.
type pair struct{ here, there net.Conn }

func connected(t *testing.T, l net.Listener) pair {
	t.Helper()
	there, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { there.Close() })
	here, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { here.Close() })
	for _, c := range []net.Conn{here, there} {
		if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
			t.Fatal(err)
		}
	}
	return pair{here, there}
}

// send sends a byte from the end that listened, and one back if the other answers.
func (p pair) send(t *testing.T, answered bool) {
	t.Helper()
	ends := []net.Conn{p.here, p.there}
	for i := range map[bool]int{false: 1, true: 2}[answered] {
		if _, err := ends[i].Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(ends[1-i], make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
	}
}
