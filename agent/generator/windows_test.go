package generator

import (
	"testing"
	"testing/synctest"
	"time"

	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/workload"
)

// TestWindows: steps that keep their connections use the same ones, a step that is stopped by
// itself is followed by another, and one that forgets has its own lateness.
func TestWindows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		c := serve(t, allowed(s))
		mustPrepare(t, c, prepare(t, "run1", writes(), 0, 1))
		// A stop without a running step does not stop the next step.
		if _, err := c.StopLoad(t.Context(), &pb.StopLoadRequest{RunId: "run1", Step: true}); err != nil {
			t.Fatalf("stop no step: %v", err)
		}
		const window, rate = 10 * time.Second, 100
		previous := int64(0)
		for i := range 3 {
			last := i == 2
			step := message(load.Step{Index: i, Step: workload.Step{Clients: 4, Connections: 2, Rate: rate, Duration: window}})
			if resp, err := c.Connect(t.Context(), &pb.ConnectRequest{RunId: "run1", Step: step, Members: members, Keep: !last}); err != nil || resp.GetConnections() != 2 {
				t.Fatalf("window %d: connected %v, error %v; want 2 connections", i+1, resp, err)
			}
			stream, err := c.Run(t.Context(), &pb.RunRequest{
				RunId: "run1", Step: int32(i), StartUnixNs: time.Now().Add(time.Second).UnixNano(), PreviousRequests: previous, Forget: last,
			})
			if err != nil {
				t.Fatalf("window %d: %v", i+1, err)
			}
			if i == 0 {
				defer time.AfterFunc(4*time.Second, func() {
					if _, err := c.StopLoad(t.Context(), &pb.StopLoadRequest{RunId: "run1", Step: true}); err != nil {
						t.Errorf("stop the first window: %v", err)
					}
				}).Stop()
			}
			end, _, err := rest(stream)
			if err != nil || end.Error != "" {
				t.Fatalf("window %d ended with %v, error %v", i+1, end, err)
			}
			if took := end.Result.End.Sub(end.Result.Start); end.Stopped != (i == 0) || (took < window) != (i == 0) {
				t.Errorf("window %d: stopped %v after %v; want only the first stopped, before its end", i+1, end.Stopped, took)
			}
			sent := end.Totals.Sent
			if n := end.Lateness.N; last && n != rate*int64(window/time.Second) || !last && n != sent {
				t.Errorf("window %d: the lateness is of %d requests, %d were sent in all; want that of all windows, and of the last one alone", i+1, n, sent)
			}
			previous = end.Result.Requests
		}
		opened := 0
		for _, n := range s.byMember {
			opened += n
		}
		if opened != 2 || s.connections() != 0 {
			t.Errorf("%d connections were opened and %d are open, want the 2 of all windows, closed after the last", opened, s.connections())
		}
	})
}
