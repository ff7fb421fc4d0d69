package generator

import (
	"io"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"

	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/load/judging"
	"github.com/coreos/dbtester/pkg/load/loadwire"
	"github.com/coreos/dbtester/pkg/load/merge"
	"github.com/coreos/dbtester/pkg/workload"
)

// inTurn is a load whose parts have their own keys.
func inTurn() workload.Load {
	l := mixed()
	l.Mix = []workload.Share{{Operation: workload.OpRead, Weight: 50}, {Operation: workload.OpUpdate, Weight: 50}}
	l.KeyLaw = workload.KeysSequential
	return l
}

// judged is prepare with a verdict.
func judged(t *testing.T, l workload.Load, part, parts int) *pb.PrepareRequest {
	t.Helper()
	req := prepare(t, "run1", l, part, parts)
	req.Judging = &pb.Judging{}
	return req
}

// judge returns the report by the generator.
func judge(t *testing.T, c pb.GeneratorClient) (judging.Report, error) {
	t.Helper()
	stream, err := c.Judge(t.Context(), &pb.JudgeRequest{RunId: "run1", Read: string(workload.ReadLinearizable), Connections: 2, Members: members, WithinNs: int64(time.Minute)})
	if err != nil {
		return judging.Report{}, err
	}
	var r loadwire.Report
	for {
		m, err := stream.Recv()
		if err != nil {
			return r.Report, err
		}
		if last, err := r.Take(m); err != nil || last {
			if _, end := stream.Recv(); err == nil && end != io.EOF {
				t.Errorf("after its report, a generator sends %v", end)
			}
			return r.Report, err
		}
	}
}

// TestJudge: two generators judge the answers to their parts, each its own keys, and read back
// their writes. One counts a key that a store lost. They judge once.
func TestJudge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		s.takes = 3 * time.Millisecond
		clients := []pb.GeneratorClient{serve(t, allowed(s)), serve(t, allowed(s))}
		merger := merge.New(&counts{}, merge.Options{Operations: inTurn().Operations(), Generators: []string{"one", "two"}})
		for g, c := range clients {
			mustPrepare(t, c, judged(t, inTurn(), g, 2))
			preload(t, c, 1)
		}
		step := load.Step{Step: workload.Step{Clients: 8, Connections: 4, Requests: 900}}
		run(t, clients, merger, step, &pb.RunRequest{RunId: "run1", StartUnixNs: time.Now().Add(2 * time.Second).UnixNano()})
		s.mu.Lock()
		delete(s.m, "00000003")
		s.mu.Unlock()
		var parts []judging.Report
		for g, c := range clients {
			r, err := judge(t, c)
			if err != nil {
				t.Fatalf("generator %d: %v", g, err)
			}
			if r.Counts.Operations != 450 || r.Counts.Judged != 450 || r.Counts.Violations.All() > 0 || len(r.Seconds) == 0 || r.Held == nil || r.Held.Keys == 0 || r.Held.Read != r.Held.Keys {
				t.Errorf("generator %d: %+v, keys %+v", g, r.Counts, r.Held)
			}
			parts = append(parts, r)
			_, err = judge(t, c)
			wantCode(t, err, codes.FailedPrecondition, "or were")
		}
		all, sum := judging.Merge(parts), int64(0)
		for _, second := range all.Seconds {
			sum += second.Counts.Judged
		}
		if all.Counts.Judged != 900 || sum != 900 || all.Counts.Keys != 100 || all.Held.Gone != 1 || all.Held.Lost() != 1 || all.NotRead != "" {
			t.Errorf("together: %+v, %d by second, keys %+v", all.Counts, sum, all.Held)
		}
		if n := s.connections(); n != 0 {
			t.Errorf("%d connections are open afterwards, want none", n)
		}
	})
}

// TestJudgeRefused: keys that parts share are not judged, nor are answers without a request to
// judge them.
func TestJudgeRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := serve(t, allowed(newStore()))
		_, err := c.Prepare(t.Context(), judged(t, mixed(), 0, 2))
		wantCode(t, err, codes.InvalidArgument, "keys of its own")
		negative := judged(t, inTurn(), 0, 2)
		negative.Judging.MostKeys = -1
		_, err = c.Prepare(t.Context(), negative)
		wantCode(t, err, codes.InvalidArgument, "judge 0 to 2147483647 keys, got -1")
		mustPrepare(t, c, prepare(t, "run1", inTurn(), 0, 2))
		_, err = judge(t, c)
		wantCode(t, err, codes.FailedPrecondition, "not judged")
		for want, req := range map[string]*pb.JudgeRequest{
			"within":          {WithinNs: -1},
			"in a second":     {Rate: -1},
			"not be negative": {LongestNs: -1},
			"and 0s":          {Rate: math.NaN()},
		} {
			req.RunId, req.Connections, req.Members = "run1", 1, members
			stream, err := c.Judge(t.Context(), req)
			if err == nil {
				_, err = stream.Recv()
			}
			wantCode(t, err, codes.InvalidArgument, want)
		}
	})
}
