//go:build linux

package main

import (
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestProxy: data from a client arrives complete and not before the delay.
func TestProxy(t *testing.T) {
	t.Parallel()
	const delay = 5 * time.Millisecond
	listen := func() net.Listener {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatalf("listen: %v", err)
		}
		t.Cleanup(func() { l.Close() })
		return l
	}
	echo, front := listen(), listen()
	go func() {
		for {
			c, err := echo.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				_, _ = io.Copy(c, c)
			}()
		}
	}()
	go proxy(front, echo.Addr().String(), delay)
	c, err := net.Dial("tcp", front.Addr().String())
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	defer c.Close()
	begun := time.Now()
	for _, text := range []string{"first", "second", strings.Repeat("third", 10_000)} {
		if _, err := c.Write([]byte(text)); err != nil {
			t.Fatalf("write: %v", err)
		}
		got := make([]byte, len(text))
		if _, err := io.ReadFull(c, got); err != nil || string(got) != text {
			t.Errorf("%d bytes came back (%v), want the %d that were sent", len(got), err, len(text))
		}
	}
	if took := time.Since(begun); took < 3*delay {
		t.Errorf("three requests took %v, want at least %v", took, 3*delay)
	}
}

// TestMoved: etcd listens elsewhere and advertises the proxy.
func TestMoved(t *testing.T) {
	t.Parallel()
	args, front, back, err := moved([]string{"--name=a", "--listen-client-urls=http://127.0.0.1:2379", "--advertise-client-urls=http://127.0.0.1:2379"})
	want := []string{"--name=a", "--listen-client-urls=http://" + back, "--advertise-client-urls=http://127.0.0.1:2379"}
	if err != nil || front != "127.0.0.1:2379" || back == front || !slices.Equal(args, want) {
		t.Errorf("%q, %s before %s (%v); want %q", args, front, back, err, want)
	}
	if _, _, _, err := moved([]string{"--name=a"}); err == nil {
		t.Error("arguments without the flag are accepted")
	}
}
