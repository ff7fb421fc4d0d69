package generator

import (
	"errors"

	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/load/loadwire"
	"github.com/coreos/dbtester/pkg/workload"
)

// watch returns the watch on requests of this part for control, or nil.
func (s *session) watch(req *pb.PrepareRequest) (load.Watch, error) {
	judge, err := s.answers(req)
	if err != nil || !req.GetWrites() {
		return judge, err
	}
	send := s.sendWrites()
	if judge == nil {
		return send, nil
	}
	return func(ended []load.Ended, before int64) error {
		return errors.Join(judge(ended, before), send(ended, before))
	}, nil
}

// sendWrites returns a watch that sends control the writes that may have been applied.
func (s *session) sendWrites() load.Watch {
	var sends []bool // by operation
	for _, op := range s.part.spec.Operations() {
		sends = append(sends, op.SendsValue())
	}
	var writes loadwire.Writes
	put := func(before int64) error {
		out := s.out.Load()
		if out == nil {
			return nil // no step has begun
		}
		return out.put(&pb.RunResponse{Record: &pb.RunResponse_Writes{Writes: writes.Take(before)}})
	}
	return func(ended []load.Ended, before int64) error {
		var errs []error
		for i := range ended {
			if e := &ended[i]; sends[e.Op] && e.Outcome != workload.Failed && writes.Add(e) {
				errs = append(errs, put(0))
			}
		}
		if len(ended) == 0 {
			errs = append(errs, put(before))
		}
		return errors.Join(errs...)
	}
}
