package sysmetrics

import (
	"net"
	"strings"
	"testing"

	"github.com/coreos/dbtester/pkg/metric"
)

// Round trips are counted for members with streams to others, and unknown otherwise.
func TestStreams(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for name, c := range map[string]struct {
		streams string
		members int
		known   bool
	}{
		"of three members": {l.Addr().String(), 3, true},
		"alone":            {l.Addr().String(), 1, false},
		"none":             {"", 3, false},
	} {
		s, err := NewSampler(Options{Interface: "lo", Streams: c.streams, Members: c.members})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if c.known && s.streams == nil {
			t.Skip("this kernel does not tell of connections")
		}
		for range 2 {
			sample, _ := s.Sample()
			if n, seconds := sample.Get(metric.StreamTrips), sample.Get(metric.StreamTripSeconds); n >= 0 != c.known || seconds >= 0 != c.known {
				t.Errorf("%s: got %g segments in %g s, want them known: %t", name, n, seconds, c.known)
			}
		}
	}
	if _, err := NewSampler(Options{Interface: "lo", Streams: "here", Members: 3}); err == nil || !strings.Contains(err.Error(), "address of streams") {
		t.Errorf("a wrong address: %v", err)
	}
}
