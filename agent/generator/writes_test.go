package generator

import (
	"fmt"
	"io"
	"testing"
	"testing/synctest"
	"time"

	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/load/loadwire"
	"github.com/coreos/dbtester/pkg/workload"
)

// TestWrites: a generator sends each write in its part once, by control's clock, and a moment that
// all before it were sent before. Without a request for them it sends none.
func TestWrites(t *testing.T) {
	for _, asked := range []bool{true, false} {
		t.Run(fmt.Sprint(asked), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const ahead = time.Hour
				s := newStore()
				s.takes = 3 * time.Millisecond
				c := serve(t, allowed(s))
				req := prepare(t, "run1", mixed(), 1, 2)
				req.Writes = asked
				mustPrepare(t, c, req)
				preload(t, c, 1)
				s.requests()
				step := load.Step{Step: workload.Step{Clients: 8, Connections: 4, Requests: 900}}
				mustConnect(t, c, "run1", message(step))
				start := time.Now().Add(-ahead + 2*time.Second)
				stream, err := c.Run(t.Context(), &pb.RunRequest{RunId: "run1", StartUnixNs: start.UnixNano(), OffsetNs: int64(ahead)})
				if err != nil {
					t.Fatal(err)
				}
				var list []load.Ended
				before := int64(0)
				for {
					m, err := stream.Recv()
					if err == io.EOF {
						break
					}
					if err != nil {
						t.Fatal(err)
					}
					if m.GetWrites() == nil {
						continue
					}
					first := len(list)
					if list, err = loadwire.WritesOf(list, m.GetWrites(), len(mixed().Operations())); err != nil {
						t.Fatal(err)
					}
					for _, e := range list[first:] {
						if e.Sent < before {
							t.Errorf("request %d was sent at %d, before %d, up to which all had come", e.Number, e.Sent, before)
						}
					}
					before = max(before, m.GetWrites().GetBeforeUnixNs())
				}
				writes := 0
				for what, n := range s.requests() {
					if what[:3] == "put" {
						writes += n
					}
				}
				if !asked {
					writes = 0
				}
				if len(list) != writes || asked && writes < 100 {
					t.Fatalf("%d writes came, want %d", len(list), writes)
				}
				seen := map[int64]bool{}
				for _, e := range list {
					if e.Number%2 != 1 || seen[e.Number] || e.Outcome != workload.OK || e.Op == 0 || e.Sent < start.UnixNano() || e.End-e.Sent < int64(s.takes) || e.End > start.Add(time.Minute).UnixNano() {
						t.Fatalf("a write is %+v, want the odd ones of the operations after the first, each once, after %v", e, start)
					}
					seen[e.Number] = true
				}
			})
		})
	}
}
