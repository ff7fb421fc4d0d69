//go:build linux

package fault

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/fault/nft"
	"github.com/coreos/dbtester/pkg/fault/queue"
	"github.com/coreos/dbtester/pkg/process/namespacetest"
	"github.com/coreos/dbtester/pkg/sleep/slowtest"
)

const (
	// delayedEnv is set in the process that [TestDelayOfKilled] kills.
	delayedEnv = "FAULT_TEST_DELAYED"
	// enough suffices for packets on a busy machine, and silent for packets that never come.
	enough = 2 * time.Minute
	silent = 300 * time.Millisecond
)

// listen starts an echo server.
func listen(t *testing.T, addr string) netip.AddrPort {
	t.Helper()
	l, err := net.Listen("tcp", net.JoinHostPort(addr, "0"))
	if err != nil {
		t.Fatalf("listen: %v", err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				_, _ = io.Copy(c, c)
			}()
		}
	}()
	return netip.MustParseAddrPort(l.Addr().String())
}

func dial(t *testing.T, to netip.AddrPort) net.Conn {
	t.Helper()
	c, err := net.DialTimeout("tcp", to.String(), enough)
	if err != nil {
		t.Fatalf("dial: %v", err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// echo returns the time that bytes took there and back.
func echo(c net.Conn, bytes int, within time.Duration) (time.Duration, error) {
	began := time.Now()
	if err := c.SetDeadline(began.Add(enough)); err != nil {
		return 0, err
	}
	var write sync.WaitGroup
	write.Go(func() {
		_, _ = c.Write(make([]byte, bytes))
		_ = c.SetReadDeadline(time.Now().Add(within)) // not before: what was not sent cannot arrive
	})
	_, err := io.ReadFull(c, make([]byte, bytes))
	took := time.Since(began)
	write.Wait()
	return took, err
}

// both match the packets a server receives and sends.
func both(to netip.AddrPort) []nft.Rule {
	end := nft.End{Addr: to.Addr(), Port: to.Port()}
	return []nft.Rule{{In: true, To: end}, {From: end}}
}

// inOwn reports whether this process is in a separate network namespace that can delay packets.
func inOwn(t *testing.T) bool {
	t.Helper()
	if !namespacetest.Again(t, syscall.CLONE_NEWNET, 0) {
		return false
	}
	if err := delayPossible(); err != nil {
		t.Skipf("this machine cannot delay packets: %v", err)
	}
	return true
}

// slowly delays the packets of a server.
func slowly(t *testing.T, to netip.AddrPort, l queue.Line, share int) slowed {
	t.Helper()
	s, err := slow("slow", both(to), l, share)
	if err != nil {
		t.Fatalf("slow: %v", err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// Packets are delayed, there and back, and nothing else is affected. Held packets pass at once
// when the fault is over, and no table and no queue remains.
func TestDelay(t *testing.T) {
	slowtest.Skip(t)
	if !inOwn(t) {
		return
	}
	for _, addr := range []string{"127.0.0.2", "::1"} {
		victim, other := listen(t, addr), listen(t, addr)
		before, beside := dial(t, victim), dial(t, other)
		const by = 20 * time.Millisecond
		s := slowly(t, victim, queue.Line{Delay: by}, 0)
		for range 5 {
			if took, err := echo(before, 1, enough); err != nil || took < 2*by {
				t.Errorf("there and back in %v, %v, want %v more", took, err, 2*by)
			}
		}
		dial(t, victim)
		if _, err := echo(beside, 1, enough); err != nil {
			t.Errorf("another port got %v", err)
		}
		c, err := s.queue.Counted() // before the table: a packet may still come
		if err != nil {
			t.Fatal(err)
		}
		n, err := s.table.Counted()
		if err != nil || c.Packets < 10 || c.Packets > n.Queued || c.Bytes < 10*40 || c.Mean < by || c.Lost > 0 || c.Dropped > 0 {
			t.Errorf("counted %+v and %+v, %v", n, c, err)
		}
		if err := errors.Join(s.Close(), s.Close()); err != nil {
			t.Errorf("close: %v", err)
		}
		s = slowly(t, victim, queue.Line{Delay: longestBy}, 0)
		if _, err := echo(before, 1, silent); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("a packet that is held arrived: %v", err)
		}
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		if err := before.SetDeadline(time.Now().Add(enough)); err != nil {
			t.Fatal(err)
		}
		if _, err := before.Read(make([]byte, 1)); err != nil {
			t.Errorf("what was held did not go on: %v", err)
		}
		mustBeGone(t)
	}
}

// mustBeGone fails the test if a table or a queue remains here.
func mustBeGone(t *testing.T) {
	t.Helper()
	names, err := nft.Names()
	queues, unread := os.ReadFile("/proc/self/net/netfilter/nfnetlink_queue")
	if errors.Is(unread, os.ErrPermission) { // which the rights in this namespace do not allow
		unread = nil
	}
	if err := errors.Join(err, unread); err != nil || len(names) > 0 || len(queues) > 0 {
		t.Errorf("left: tables %q, queues %q, %v", names, queues, err)
	}
}

// Two delays on one server add up, end in any order, and have their own queues.
func TestDelaysOfOne(t *testing.T) {
	if !inOwn(t) {
		return
	}
	victim := listen(t, "127.0.0.2")
	c := dial(t, victim)
	const by = 20 * time.Millisecond
	first := slowly(t, victim, queue.Line{Delay: by}, 0)
	second, err := slow("second", both(victim), queue.Line{Delay: 2 * by}, 0)
	if err != nil {
		t.Fatalf("slow: %v", err)
	}
	for _, tc := range []struct {
		least time.Duration
		end   slowed
	}{{6 * by, first}, {4 * by, second}} {
		if took, err := echo(c, 1, enough); err != nil || took < tc.least {
			t.Errorf("there and back in %v, %v, want at least %v", took, err, tc.least)
		}
		if err := tc.end.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}
	mustBeGone(t)
}

// A bandwidth holds back packets above it, a share is dropped, and connections survive.
func TestRate(t *testing.T) {
	slowtest.Skip(t)
	if !inOwn(t) {
		return
	}
	victim := listen(t, "127.0.0.2")
	c := dial(t, victim)
	const rate, bytes = 8_000_000, 200_000
	s := slowly(t, victim, queue.Line{Rate: rate}, 0)
	// There and back, so that twice the bytes pass: at least 0.4 s.
	if took, err := echo(c, bytes, enough); err != nil || took < 2*bytes*8*time.Second/rate {
		t.Errorf("there and back in %v, %v", took, err)
	}
	n, err := s.queue.Counted()
	if err != nil || n.Bytes < 2*bytes || n.Busiest == 0 || n.Busiest > rate+8*(64<<10) {
		t.Errorf("counted %+v, %v", n, err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	s = slowly(t, victim, queue.Line{Delay: time.Millisecond}, nft.Whole/10)
	for range 50 {
		if _, err := echo(c, 1, enough); err != nil {
			t.Fatalf("echo: %v", err)
		}
	}
	if n, err := s.table.Counted(); err != nil || n.Dropped == 0 || n.Queued < 100 || n.Matched < n.Queued+n.Dropped {
		t.Errorf("counted %+v, %v", n, err)
	}
}

// If a process is killed while it holds packets, later packets are not held.
func TestDelayOfKilled(t *testing.T) {
	if os.Getenv(delayedEnv) != "" {
		if _, err := slow("killed", both(netip.MustParseAddrPort(os.Getenv(delayedEnv))), queue.Line{Delay: longestBy}, 0); err != nil {
			t.Fatalf("slow: %v", err)
		}
		fmt.Println("made")
		select {}
	}
	if !inOwn(t) {
		return
	}
	victim := listen(t, "127.0.0.2")
	c := dial(t, victim)
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), delayedEnv+"="+victim.String())
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatalf("make a pipe: %v", err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatalf("start: %v", err)
	}
	if _, err := out.Read(make([]byte, 5)); err != nil {
		t.Fatalf("read: %v", err)
	}
	if _, err := echo(c, 1, silent); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a packet that is held arrived: %v", err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatalf("kill: %v", err)
	}
	_ = cmd.Wait()
	if _, err := echo(dial(t, victim), 1, enough); err != nil {
		t.Errorf("afterwards: %v", err)
	}
	mustBeGone(t)
}

func TestDelayParameters(t *testing.T) {
	for _, p := range []Parameters{{By: "50ms"}, {Rate: "10Mbit"}, {Loss: "5%"}, {By: "10s", Rate: "8kbit", Loss: "0.01%", From: "clients", Direction: "in"}} {
		if _, err := Check(Record{Kind: "delay", Parameters: p.Encoded()}); err != nil {
			t.Errorf("%+v: %v", p, err)
		}
	}
	for key, p := range map[string]Parameters{
		"by needs": {}, "by must": {By: "11s"}, "by must be": {By: "soon"}, "rate must": {Rate: "10"}, "rate must be": {Rate: "1kbit"}, "rate must be from": {Rate: "-1Mbit"},
		"loss must": {Loss: "5"}, "from must": {By: "1ms", From: "servers"}, "fsync": {By: "1ms", Fsync: "stall"},
	} {
		_, err := Check(Record{Kind: "delay", Parameters: p.Encoded()})
		var wrong *ParameterError
		if name, _, _ := strings.Cut(key, " "); !errors.As(err, &wrong) || wrong.Key != name {
			t.Errorf("%+v: %v, want a refusal of %s", p, err, name)
		}
	}
}

// The outcome of packets is reported beside the request.
func TestPassed(t *testing.T) {
	got := passed(Parameters{By: "50ms", Rate: "10Mbit", Loss: "5%"}, nft.Counted{Matched: 100, Dropped: 6, Queued: 94},
		queue.Counted{Packets: 90, Mean: 51234567, Longest: time.Second, Busiest: 9_870_000, Dropped: 4, Lost: 1})
	want := "90 packets were held for 51.23ms on average, at most 1s (asked: by 50ms); their busiest second had 9.87 Mbit (asked: rate 10Mbit); " +
		"4 were dropped because others of over 100ms waited; 6 of 100 were dropped (asked: loss 5%); 1 were lost because the kernel could hold no more"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
