package issue

import (
	"errors"
	"slices"
	"testing"
	"time"

	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/load/loadwire"
	"github.com/coreos/dbtester/pkg/results"
)

// Writes from two generators are passed on as they come. All have come before the moment that the
// slower generator has reached, unless it is lost.
func TestWrites(t *testing.T) {
	s := &Set{spec: load.Spec{Load: writes()}}
	for i := range 2 {
		g := newGenerator(i, "", "")
		g.set = s
		s.gens, s.parts = append(s.gens, g), append(s.parts, g.part)
	}
	var numbers, moments []int64
	s.relay = newRelay(s, func(ended []load.Ended, before int64) error {
		for _, e := range ended {
			numbers = append(numbers, e.Number)
		}
		if len(ended) == 0 {
			moments = append(moments, before)
		}
		return nil
	})
	send := func(part int, before int64, all ...int64) {
		t.Helper()
		var w loadwire.Writes
		for _, n := range all {
			w.Add(&load.Ended{Number: n})
		}
		reader := partReader{gen: s.gens[part]}
		if err := reader.take(&pb.RunResponse{Record: &pb.RunResponse_Writes{Writes: w.Take(before)}}); err != nil {
			t.Fatal(err)
		}
	}
	send(0, 10, 2, 4)
	send(1, 0, 1, 3)
	send(1, 5, 5)
	send(0, 20)
	send(1, 15)
	send(1, 12) // moments never fall
	s.parts[1].lose(errors.New("it is lost"))
	send(0, 30, 6)
	if want := []int64{2, 4, 1, 3, 5, 6}; !slices.Equal(numbers, want) {
		t.Errorf("writes %v were passed on, want %v", numbers, want)
	}
	if want := []int64{5, 15, 30}; !slices.Equal(moments, want) {
		t.Errorf("moments %v were passed on, want %v", moments, want)
	}
	if err := s.relay.take(0, &pb.LoadWrites{Writes: []byte{9, 0, 0}}); err == nil {
		t.Error("a write of no operation must be an error")
	}
	s.relay = nil // no watch
	send(0, 40, 8)
	s.gens[0].record.Steps = []results.GeneratorStep{{ClockOffsetNS: 5e6, ClockErrorNS: 1e6}, {ClockOffsetNS: 2e6, ClockErrorNS: 1e6, ClockMovedNS: -5e5}}
	if got, want := s.ClockError(), 4500*time.Microsecond; got != want {
		t.Errorf("the times are known to within %v, want %v", got, want)
	}
}
