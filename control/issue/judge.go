package issue

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/coreos/dbtester/control/fleet/remote"
	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/load/judging"
	"github.com/coreos/dbtester/pkg/load/loadwire"
)

// judgeMargin is the further time that reports may take to stream after the keys are read.
const judgeMargin = time.Minute

// Judge has all generators finish judging the answers to their parts, and read back their keys over
// connections to some members. It returns the reports from generators that succeeded, and the
// others' errors. The load is over.
func (s *Set) Judge(ctx context.Context, back judging.Back, members []int) ([]judging.Report, error) {
	reports := make([]*judging.Report, len(s.gens))
	back.Connections = max(back.Connections/max(len(s.gens), 1), 1)
	back.Rate /= float64(max(len(s.gens), 1))
	err := each(s.gens, func(g *generator) (err error) {
		if reports[g.index], err = g.judge(ctx, back, members); err != nil {
			return fmt.Errorf("generator %s: %w", g.Addr, err)
		}
		return nil
	})
	var list []judging.Report
	for _, r := range reports {
		if r != nil {
			list = append(list, *r)
		}
	}
	return list, err
}

// judge returns the report from g.
func (g *generator) judge(ctx context.Context, back judging.Back, members []int) (*judging.Report, error) {
	if lost := g.lostBy(); lost != nil {
		return nil, fmt.Errorf("it was lost: %w", lost)
	}
	ctx, cancel := remote.Within(ctx, back.Within+judgeMargin)
	defer cancel()
	stream, err := g.Client.Judge(ctx, &pb.JudgeRequest{
		RunId: g.RunID, Read: string(back.Mode), Connections: int32(back.Connections), Members: indexes(members), WithinNs: int64(back.Within),
		Rate: back.Rate, LongestNs: int64(back.Longest),
	})
	if err != nil {
		return nil, broken(ctx, err)
	}
	var r loadwire.Report
	for {
		m, err := stream.Recv()
		if err != nil {
			return nil, broken(ctx, err)
		}
		last, err := r.Take(m)
		if err != nil {
			return nil, err
		}
		if last {
			if _, err := stream.Recv(); err == nil {
				return nil, errors.New("it sent more than a report")
			}
			return &r.Report, nil
		}
	}
}
