package loadwire

import (
	"time"

	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/load/issuer"
)

// StepMessage encodes a step of the whole load, without its functions and its start. It fails if
// the step has a number that JSON cannot express.
func StepMessage(s load.Step) (*pb.LoadStep, error) {
	step, err := encode(&s.Step)
	return &pb.LoadStep{Index: int32(s.Index), Step: step}, err
}

// StepOf decodes a step.
func StepOf(m *pb.LoadStep) (load.Step, error) {
	s := load.Step{Index: int(m.GetIndex())}
	err := decode(m.GetStep(), &s.Step)
	return s, err
}

// EndMessage encodes the end of a step.
func EndMessage(e issuer.End) ([]byte, error) { return encode(&e) }

// EndOf decodes the end of a step. Its times are in UTC.
func EndOf(data []byte) (e issuer.End, err error) {
	if err := decode(data, &e); err != nil {
		return issuer.End{}, err
	}
	r := &e.Result
	times := []*time.Time{&r.Start, &r.End, &r.IssueEnd, &r.FirstSent, &e.Stops.Longest.From}
	for i := range e.Stops.Stretches {
		times = append(times, &e.Stops.Stretches[i].From)
	}
	for _, t := range times {
		*t = t.UTC()
	}
	return e, nil
}

// unixNano returns 0 for the zero time.
func unixNano(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

// unixTime inverts unixNano, in UTC.
func unixTime(ns int64) time.Time {
	if ns == 0 {
		return time.Time{}
	}
	return time.Unix(0, ns).UTC()
}
