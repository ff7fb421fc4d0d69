package generator

import (
	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/load/exposition"
	"github.com/coreos/dbtester/pkg/results"
)

// States are the values of [Seen.State], by session state. A free generator has no session.
var States = []string{
	pb.LoadState_LOAD_STATE_UNSPECIFIED: "free",
	pb.LoadState_LOAD_STATE_PREPARED:    "prepared",
	pb.LoadState_LOAD_STATE_PRELOADING:  "preloading",
	pb.LoadState_LOAD_STATE_CONNECTED:   "connected",
	pb.LoadState_LOAD_STATE_RUNNING:     "running",
	pb.LoadState_LOAD_STATE_STOPPED:     "stopped",
}

// Seen returns the state of the generator and of its last load.
func (s *Server) Seen() Seen {
	s.mu.Lock()
	defer s.mu.Unlock()
	var state pb.LoadState
	if s.session != nil {
		state = s.session.now.state
	}
	seen := Seen{State: States[state]}
	if l := s.shown; l != nil {
		seen.Run, seen.Tag, seen.Part, seen.Load, seen.Sample = l.run, l.tag, l.part, l.load, l.sample.Load()
	}
	return seen
}

// show has the server show this load in place of the one before.
func (s *session) show(tag string) {
	if !s.server.opts.Shown {
		return
	}
	if tag == "" {
		tag = s.part.database
	}
	s.shown = &shown{run: pb.RunHash(s.Run), tag: tag, part: s.part.spec.Part.Index, load: exposition.NewPart(s.part.spec)}
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	s.server.shown = s.shown
}

// second counts the records of a second.
func (s *shown) second(second load.Second) {
	if s != nil {
		s.load.Second(second)
	}
}

// progress returns the function that takes the progress after each second; nil for nil.
func (s *shown) progress() func(load.Progress) {
	if s == nil {
		return nil
	}
	return s.load.Progress
}

// Write writes a sample.
func (w samples) Write(s results.Sample) error {
	if w.shown != nil {
		w.shown.sample.Store(&s)
	}
	return w.SampleLines.Write(s)
}
