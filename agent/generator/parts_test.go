package generator

import (
	"io"
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/load/issuer"
	"github.com/coreos/dbtester/pkg/load/loadwire"
	"github.com/coreos/dbtester/pkg/load/merge"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/workload"
)

// mixed is a load that reads, updates and writes new keys, with keys before it.
func mixed() workload.Load {
	l := writes()
	l.Operation, l.Mix = "", []workload.Share{
		{Operation: workload.OpRead, Weight: 40}, {Operation: workload.OpUpdate, Weight: 30}, {Operation: workload.OpWrite, Weight: 30},
	}
	l.Keys, l.KeyLaw, l.WarmUp = 50, workload.KeysUniform, 500*time.Millisecond
	return l
}

// steps returns a step with a rate and one without.
func steps() []load.Step {
	return []load.Step{
		{Index: 0, Step: workload.Step{Clients: 40, Connections: 9, Rate: 213, Requests: 533}},
		{Index: 1, Step: workload.Step{Clients: 7, Connections: 7, Requests: 333}},
	}
}

// counts is a sink that keeps the merged rows and counts the histograms.
type counts struct {
	rows       []results.Interval
	values     int64 // in all histograms for ok requests
	members    int64 // in the member histograms
	totals     int64
	firstStart time.Time
}

func (c *counts) Second(s load.Second) error {
	if c.firstStart.IsZero() {
		c.firstStart = s.Start
	}
	c.rows = append(c.rows, s.Intervals...)
	for _, l := range s.Latencies {
		c.values += l.Histogram.TotalCount()
	}
	return nil
}

func (c *counts) Total(t load.Total) error {
	c.totals += t.Histogram.TotalCount()
	return nil
}

func (c *counts) Member(t load.MemberTotal) error {
	c.members += t.Histogram.TotalCount()
	return nil
}

// TestTwoGeneratorsAreOne: two generators send the same requests as one engine, and their merged
// records count them all. Their clock is an hour ahead of control's.
func TestTwoGeneratorsAreOne(t *testing.T) {
	want := issued(t)
	synctest.Test(t, func(t *testing.T) {
		const ahead = time.Hour
		s := newStore()
		s.takes = 3 * time.Millisecond
		clients := []pb.GeneratorClient{serve(t, allowed(s)), serve(t, allowed(s))}
		out := &counts{}
		merger := merge.New(out, merge.Options{Operations: mixed().Operations(), Generators: []string{"one", "two"}})
		for g, c := range clients {
			resp := mustPrepare(t, c, prepare(t, "run1", mixed(), g, 2))
			if resp.GetVersion() != "v1" || resp.GetLeaseNs() != int64(DefaultLease) {
				t.Errorf("generator %d answers %v", g, resp)
			}
			preload(t, c, 1)
		}
		if got := s.requests(); !maps.Equal(got, want[0]) {
			t.Errorf("%d keys are written before the load, want the %d of one engine", len(got), len(want[0]))
		}
		previous := int64(0)
		for n, step := range steps() {
			start := time.Now().Add(-ahead + 2*time.Second + 300*time.Millisecond) // in control's clock
			ends := run(t, clients, merger, step, &pb.RunRequest{
				RunId: "run1", Step: int32(n), StartUnixNs: start.UnixNano(), OffsetNs: int64(ahead), PreviousRequests: previous,
			})
			for g, e := range ends {
				checkEnd(t, g, e, start)
			}
			if got := out.firstStart; n == 0 && !got.Equal(start.Truncate(time.Second)) {
				t.Errorf("the first second is %v, want that of %v, which is in control's clock", got, start)
			}
			previous = max(ends[0].Result.Requests, ends[1].Result.Requests)
		}
		if got := s.requests(); !maps.Equal(got, want[1]) {
			t.Errorf("%d different requests were sent, want the %d of one engine", len(got), len(want[1]))
		}
		checkMerged(t, out, merger)
		if n := s.connections(); n != 0 {
			t.Errorf("%d connections are open after the steps, want none", n)
		}
	})
}

// checkMerged compares the merged rows with the requests of both steps.
func checkMerged(t *testing.T, out *counts, merger *merge.Merger) {
	t.Helper()
	if merger.Err() != nil || len(merger.Losses()) > 0 {
		t.Errorf("merge: error %v, losses %v", merger.Err(), merger.Losses())
	}
	var ok, measured int64
	for _, r := range out.rows {
		ok += r.OK
		if r.Phase == results.PhaseMeasure {
			measured += r.OK
		}
	}
	const rated = 533
	if ok != rated+333 || out.totals == 0 || out.values == 0 || out.members == 0 || out.members < measured {
		t.Errorf("merged: %d requests ok, %d measured, histograms of %d, %d in totals, %d by member; want %d", ok, measured, out.values, out.totals, out.members, rated+333)
	}
}

// checkEnd checks how a step of one part ended.
func checkEnd(t *testing.T, part int, e issuer.End, start time.Time) {
	t.Helper()
	r := e.Result
	if e.Error != "" || e.Stopped || e.MembersGone || !r.Start.Equal(start) || !r.End.After(r.Start) || r.Requests == 0 {
		t.Errorf("part %d: step ended with %+v, want one from %v", part, e, start)
	}
	if e.FirstSent < 0 || e.FirstSent > time.Second || !r.FirstSent.Equal(start.Add(e.FirstSent)) {
		t.Errorf("part %d: first sent %v after the start, at %v", part, e.FirstSent, r.FirstSent)
	}
	if !e.Totals.Reconcile() || e.Totals.OK == 0 || e.CPU < 0 || e.CreatedSurely == 0 {
		t.Errorf("part %d: totals %+v, processor time %v, %d keys", part, e.Totals, e.CPU, e.CreatedSurely)
	}
}

// preload writes the keys of the part.
func preload(t *testing.T, c pb.GeneratorClient, perRequest int32) (last int64) {
	t.Helper()
	stream, err := c.Preload(t.Context(), &pb.PreloadRequest{RunId: "run1", Clients: 4, Connections: 4, PerRequest: perRequest, Members: members})
	if err != nil {
		t.Fatalf("preload: %v", err)
	}
	for {
		p, err := stream.Recv()
		if err == io.EOF {
			return last
		}
		if err != nil {
			t.Fatalf("preload: %v", err)
		}
		last = p.GetKeys()
	}
}

// run runs a step on all generators and merges their records.
func run(t *testing.T, clients []pb.GeneratorClient, merger *merge.Merger, step load.Step, req *pb.RunRequest) []issuer.End {
	t.Helper()
	ends := make([]issuer.End, len(clients))
	done := make(chan struct{})
	for g, c := range clients {
		mustConnect(t, c, "run1", message(step))
		stream, err := c.Run(t.Context(), req)
		if err != nil {
			t.Fatalf("run: %v", err)
		}
		go func() {
			defer func() { done <- struct{}{} }()
			ends[g] = take(t, stream, merger.Part(g), step.Index == 0)
		}()
	}
	for range clients {
		<-done
	}
	return ends
}

// take passes the generator records on until its step ends. Samples begin with the header only in
// the first step.
func take(t *testing.T, stream interface {
	Recv() (*pb.RunResponse, error)
}, part *merge.Part, first bool) (end issuer.End) {
	var d loadwire.Decoder
	var samples strings.Builder
	for {
		m, err := stream.Recv()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Errorf("run: %v", err)
			return end
		}
		switch r := m.GetRecord().(type) {
		case *pb.RunResponse_Second:
			s, err := d.Second(r.Second)
			if err == nil {
				err = part.Second(s)
			}
			if err != nil {
				t.Errorf("take a second: %v", err)
			}
		case *pb.RunResponse_Member:
			s, err := d.Member(r.Member)
			if err == nil {
				err = part.Member(s)
			}
			if err != nil {
				t.Errorf("take a member: %v", err)
			}
		case *pb.RunResponse_Samples:
			samples.Write(r.Samples)
		case *pb.RunResponse_End:
			if end, err = loadwire.EndOf(r.End); err != nil {
				t.Errorf("decode the end of a step: %v", err)
			}
			if err := part.End(end.Result.Start, end.Result.End); err != nil {
				t.Errorf("end a step: %v", err)
			}
		}
	}
	if text := samples.String(); strings.HasPrefix(text, "UNIX") != first || strings.Count(text, "\n") < 3 || !strings.HasSuffix(text, "\n") {
		t.Errorf("samples are %q", text)
	}
	return end
}

// issued returns the requests that one engine sends before the load and in its steps.
func issued(t *testing.T) (sent [2]map[string]int) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		s.takes = 3 * time.Millisecond
		dial := func() []database.Client { return []database.Client{&storeClient{s, 0}} }
		spec := load.Spec{Load: mixed(), Seed: 5}
		if err := load.Preload(t.Context(), spec, 4, dial(), nil); err != nil {
			t.Fatalf("preload: %v", err)
		}
		sent[0] = s.requests()
		e := load.NewEngine(spec, load.NewRecorder(&counts{}, spec.Operations(), nil))
		for _, step := range steps() {
			if _, err := e.Step(t.Context(), step, dial()); err != nil {
				t.Fatalf("step %d: %v", step.Index, err)
			}
		}
		sent[1] = s.requests()
	})
	return sent
}

// TestPreloadOfManyKeys: parts write the keys for the whole, many in a request.
func TestPreloadOfManyKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		l := mixed()
		l.Keys = 1000
		written := int64(0)
		for g := range 3 {
			c := serve(t, allowed(s))
			mustPrepare(t, c, prepare(t, "run1", l, g, 3))
			written += preload(t, c, 7)
		}
		if n := len(s.requests()); n != 1000 || written != 1000 {
			t.Errorf("%d keys are written and %d counted, want 1000", n, written)
		}
	})
}
