package message

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestNormal(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                          "",
		"context deadline exceeded": "context deadline exceeded",
		"dial tcp 127.0.0.1:2379: connect: connection refused":                     "dial tcp ADDR: connect: connection refused",
		"read tcp 10.0.0.7:43210->10.0.0.1:2379: read: connection reset by peer":   "read tcp ADDR->ADDR: read: connection reset by peer",
		"dial tcp [::1]:2181: i/o timeout":                                         "dial tcp ADDR: i/o timeout",
		"no answer within 1.998s (12 of 30 tries)":                                 "no answer within Ns (N of N tries)",
		"Unexpected response code: 500 (rpc error making call: No cluster leader)": "Unexpected response code: 500 (rpc error making call: No cluster leader)",
		"zk: unknown error: -112":                                                  "zk: unknown error: -112",
		"zk: error 1234567 of session 0x1000a1b2c3d0001":                           "zk: error N of session ID",
		"lock of 2f1f0b0e-62a5-4f3e-9d2a-0c9f8f6f2a11 is gone":                     "lock of ID is gone",
		"GET http://127.0.0.1:8500/v1/kv/foo000123: EOF":                           "GET http://ADDR/v1/kv/fooN: EOF",
		"rpc error: code = Unavailable desc = etcdserver: leader changed":          "rpc error: code = Unavailable desc = etcdserver: leader changed",
		"read 17 bytes, want 64":                                                   "read N bytes, want N",
		"key \x00\xff\n1":                                                          "key ?? N",
	} {
		if got := Normal(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}

// Whatever the text, the counted message is short, printable, valid, and already normal.
func FuzzNormal(f *testing.F) {
	f.Add("dial tcp [fe80::1%eth0]:2379: connect: connection refused")
	f.Add(strings.Repeat("é", 400))
	f.Add("-1-2.3.4:5[6]7")
	f.Fuzz(func(t *testing.T, text string) {
		got := Normal(text)
		if len(got) > maxText || !utf8.ValidString(got) || strings.ContainsAny(got, "\n\r\x00") {
			t.Errorf("%q became %q", text, got)
		}
	})
}

// A set has a bound, but each class has a message.
func TestSet(t *testing.T) {
	t.Parallel()
	s := NewSet()
	seen := map[string]int{}
	for i := range 3 * Limit {
		seen[s.Of("refused", fmt.Sprintf("text %s", strings.Repeat("x", i+1)))]++
	}
	if len(seen) != Limit+1 || seen[Others] != 2*Limit {
		t.Errorf("%d messages with %d others, want %d and %d", len(seen), seen[Others], Limit+1, 2*Limit)
	}
	for _, c := range []struct{ class, text, want string }{
		{"lost", "connection reset", "connection reset"}, // the first in its class
		{"lost", "broken pipe", Others},
		{"lost", "text xx", "text xx"}, // known
		{"lost", "connection reset", "connection reset"},
		{"other", "", "other"},
	} {
		if got := s.Of(c.class, c.text); got != c.want {
			t.Errorf("%s: %q is counted as %q, want %q", c.class, c.text, got, c.want)
		}
	}
}

func BenchmarkNormal(b *testing.B) {
	const text = "rpc error: code = Unavailable desc = connection error: desc = \"transport: Error while dialing: dial tcp 10.0.0.1:2379: connect: connection refused\""
	b.ReportAllocs()
	for b.Loop() {
		Normal(text)
	}
}

func BenchmarkSet(b *testing.B) {
	s := NewSet()
	b.ReportAllocs()
	for b.Loop() {
		s.Of("unreachable", "dial tcp 10.0.0.1:2379: connect: connection refused")
	}
}
