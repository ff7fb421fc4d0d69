package loadwire

import (
	"slices"
	"testing"

	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/workload"
)

// Writes are the same on the other side, in messages of bounded size.
func TestWrites(t *testing.T) {
	var want, got []load.Ended
	var w Writes
	var messages []*pb.LoadWrites
	for n := range int64(2*writesAtOnce + 5) {
		e := load.Ended{
			Number: 7*n - 100, Key: n % 13, Change: n*n - 1, Sent: 1e18 + 1e6*(n%17), Op: uint8(n % 3), Outcome: []workload.Outcome{workload.OK, workload.Unknown}[n%2],
			Expected: -1, Version: -1,
		}
		e.Due, e.End = e.Sent-n%5, e.Sent+1000*n
		if want = append(want, e); w.Add(&e) {
			messages = append(messages, w.Take(0))
		}
	}
	messages = append(messages, w.Take(5))
	for _, m := range messages {
		var err error
		if got, err = WritesOf(got, m, 3); err != nil {
			t.Fatal(err)
		}
	}
	if len(messages) != 3 || !slices.Equal(got, want) {
		t.Errorf("%d messages have %d writes, want 3 with the same %d", len(messages), len(got), len(want))
	}
	if m := w.Take(9); len(m.GetWrites()) != 0 || m.GetBeforeUnixNs() != 9 {
		t.Errorf("the last message is %v, want no writes before 9", m)
	}
}

// A message that is no write is refused, whatever its length, and nothing else happens.
func TestWritesRefused(t *testing.T) {
	var w Writes
	w.Add(&load.Ended{Number: 1, Key: 2, Change: 3, Sent: 1e18, End: 2e18, Op: 1})
	good := w.Take(0).GetWrites()
	if _, err := WritesOf(nil, &pb.LoadWrites{Writes: good}, 2); err != nil {
		t.Fatal(err)
	}
	bad := map[string][]byte{
		"an unknown operation": append([]byte{2}, good[1:]...),
		"an outcome":           append([]byte{1, byte(workload.Failed)}, good[2:]...),
		"too many":             slices.Repeat(good, writesAtOnce+1),
		"no key":               {1, 0, 0, 1, 0, 0, 0, 0},
	}
	for n := 1; n < len(good); n++ {
		bad[string(rune('a'+n))] = good[:n]
	}
	for name, data := range bad {
		if _, err := WritesOf(nil, &pb.LoadWrites{Writes: data}, 2); err == nil {
			t.Errorf("%s: %x is taken", name, data)
		}
	}
}
