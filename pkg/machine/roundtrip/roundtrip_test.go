package roundtrip

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// fakeConn counts calls to Close.
type fakeConn struct {
	net.Conn
	closed *int
}

func (c fakeConn) RemoteAddr() net.Addr {
	return net.TCPAddrFromAddrPort(netip.MustParseAddrPort("10.0.0.9:3500"))
}

func (c fakeConn) Close() error {
	*c.closed++
	return nil
}

// The first connection takes a second, the nth after it n ms.
func TestMeasure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var to []string
		closed := 0
		dial := func(ctx context.Context, network, address string) (net.Conn, error) {
			switch address {
			case "refused:1":
				return nil, &net.OpError{Op: "dial", Net: network, Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
			case "silent:1":
				<-ctx.Done()
				return nil, ctx.Err()
			}
			if took := time.Duration(len(to)) * time.Millisecond; len(to) > 0 {
				time.Sleep(took)
			} else {
				time.Sleep(time.Second)
			}
			to = append(to, address)
			return fakeConn{closed: &closed}, nil
		}
		all, err := Measure(t.Context(), dial, []string{"refused:1", "peer:3500", "silent:1"})
		if err != nil {
			t.Fatalf("measure: %v", err)
		}
		want := []Times{
			{Address: "refused:1", Error: "connect: connection refused"},
			{Address: "peer:3500", N: 20, Min: time.Millisecond, Median: 10 * time.Millisecond, Max: 20 * time.Millisecond},
			{Address: "silent:1", Error: "no answer within 3s"},
		}
		if !slices.Equal(all, want) {
			t.Errorf("%+v, want %+v", all, want)
		}
		if len(to) != 21 || closed != 21 || to[0] != "peer:3500" || to[1] != "10.0.0.9:3500" || to[20] != to[1] {
			t.Errorf("%d connections to %v, %d closed; want 21, all but the first to the address that it found", len(to), to, closed)
		}
		text := func(d time.Duration) string { return d.String() }
		if got, want := all[1].Describe(text), "min 1ms, median 10ms, max 20ms of 20 TCP connects"; got != want {
			t.Errorf("%s, want %s", got, want)
		}
		failed := Unreachable(all)
		if failed == nil || failed.Error() != "refused:1 is unreachable: connect: connection refused\nsilent:1 is unreachable: no answer within 3s" {
			t.Errorf("error %v, want both", failed)
		}
		if err := Unreachable(all[1:2]); err != nil {
			t.Errorf("error %v of a peer that answers", err)
		}
	})
}

func TestMeasureInterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("the cause")
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		cancel(cause)
		return nil, ctx.Err()
	}
	if all, err := Measure(ctx, dial, []string{"a:1", "b:1"}); !errors.Is(err, cause) || len(all) > 0 {
		t.Errorf("%+v and error %v, want %v", all, err, cause)
	}
}

// A listener that accepts nothing still answers, and a closed port refuses.
func TestMeasureReal(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("listen: %v", err)
	}
	defer listener.Close()
	all, err := Measure(t.Context(), (&net.Dialer{}).DialContext, []string{listener.Addr().String(), "127.0.0.1:1"})
	if err != nil || len(all) != 2 {
		t.Fatalf("%+v (%v), want two", all, err)
	}
	if a := all[0]; a.N != Count || a.Min <= 0 || a.Median < a.Min || a.Max < a.Median || a.Error != "" {
		t.Errorf("%+v, want 20 times in order", a)
	}
	if all[1].Error != "connect: connection refused" {
		t.Errorf("%+v, want a refusal", all[1])
	}
}

func TestAddresses(t *testing.T) {
	t.Parallel()
	got, err := Addresses([]string{"10.0.0.3", "10.0.0.4:4000", "::1", "[::1]", "[::1]:4000", "db-1.example.com", "db-1:22"}, "3500")
	want := []string{"10.0.0.3:3500", "10.0.0.4:4000", "[::1]:3500", "[::1]:3500", "[::1]:4000", "db-1.example.com:3500", "db-1:22"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%q (%v), want %q", got, err, want)
	}
	for _, wrong := range []string{"", ":3500", "a b", "host:", "host:0", "host:70000", "host:http", "1.2.3", "http://host:80"} {
		if _, err := Addresses([]string{"10.0.0.3", wrong}, "3500"); err == nil || !strings.Contains(err.Error(), "got \""+wrong+"\"") {
			t.Errorf("%q: error %v, want one that names it", wrong, err)
		}
	}
}
