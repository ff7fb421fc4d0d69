package loadwire

import (
	"errors"
	"fmt"
	"slices"

	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/files/plaintext"
	"github.com/coreos/dbtester/pkg/load/judging"
	"github.com/coreos/dbtester/pkg/results/histogram"
)

// secondsAtOnce is the number of seconds in one message: some 200 KB. mostSeconds is a month.
const (
	secondsAtOnce = 1000
	mostSeconds   = 31 * 24 * 3600
)

// ReportMessages encodes a part's judgement.
func ReportMessages(r judging.Report) (list []*pb.JudgeResponse, err error) {
	for some := range slices.Chunk(r.Seconds, secondsAtOnce) {
		data, err := encode(&some)
		if err != nil {
			return nil, err
		}
		list = append(list, &pb.JudgeResponse{Record: &pb.JudgeResponse_Seconds{Seconds: data}})
	}
	if r.Stale != nil {
		var v2 histogram.V2
		data, err := v2.Append(nil, r.Stale)
		if err != nil {
			return nil, fmt.Errorf("encode the staleness of reads: %w", err)
		}
		list = append(list, &pb.JudgeResponse{Record: &pb.JudgeResponse_Stale{Stale: data}})
	}
	data, err := encode(&r)
	return append(list, &pb.JudgeResponse{Record: &pb.JudgeResponse_Report{Report: data}}), err
}

// Report is a part's judgement, assembled from messages.
type Report struct{ judging.Report }

// Take takes a message, and reports whether it was the last.
func (r *Report) Take(m *pb.JudgeResponse) (last bool, err error) {
	switch record := m.GetRecord().(type) {
	case *pb.JudgeResponse_Seconds:
		var some []judging.Second
		if err := decode(record.Seconds, &some); err != nil {
			return false, err
		}
		if r.Seconds = append(r.Seconds, some...); len(r.Seconds) > mostSeconds {
			return false, fmt.Errorf("a load must have at most %d seconds, got more", mostSeconds)
		}
		return false, nil
	case *pb.JudgeResponse_Stale:
		r.Stale = histogram.New()
		return false, histogram.DecodeV2(record.Stale, r.Stale)
	case *pb.JudgeResponse_Report:
		seconds, stale := r.Seconds, r.Stale
		if err := decode(record.Report, &r.Report); err != nil {
			return false, err
		}
		r.Seconds, r.Stale, r.NotRead = seconds, stale, plaintext.Joined(r.NotRead)
		r.Witnesses = r.Witnesses[:min(len(r.Witnesses), judging.MostWitnesses)]
		return true, nil
	}
	return false, errors.New("a message of what was judged must have a record, got none")
}
