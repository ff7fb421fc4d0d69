package generator

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"

	pb "github.com/coreos/dbtester/dbtesterpb"
)

// TestPanic: a driver that panics ends the part with an error that names the place, and the agent
// survives.
func TestPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		c := serve(t, allowed(s))
		panics := func(what string) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.panics = what
		}
		mustPrepare(t, c, prepare(t, "run1", mixed(), 0, 1))
		panics("put")
		preload, err := c.Preload(t.Context(), &pb.PreloadRequest{RunId: "run1", Clients: 4, Connections: 4, PerRequest: 7, Members: members})
		if err == nil {
			_, err = preload.Recv()
		}
		wantCode(t, err, codes.Unavailable, "the database's client panicked in ", "(*store).note", "no such row")

		panics("")
		mustConnect(t, c, "run1", long())
		panics("put")
		stream, err := c.Run(t.Context(), &pb.RunRequest{RunId: "run1", StartUnixNs: time.Now().Add(time.Second).UnixNano()})
		if err != nil {
			t.Fatalf("run: %v", err)
		}
		end, _, err := rest(stream)
		if text := end.Error; err != nil || !strings.Contains(text, "panicked in ") || !strings.Contains(text, "(*store).note, line ") || end.Totals.Unknown < 1 {
			t.Errorf("the step ended with %v, error %v; want an error that names the function, and the request counted as unknown", end, err)
		}

		panics("dial")
		r, err := c.Connect(t.Context(), &pb.ConnectRequest{RunId: "run1", Step: long(), Members: members})
		if err != nil || !strings.Contains(r.GetRefused().GetText(), "no such host") {
			t.Errorf("a driver that panics as it opens connections: %v, error %v; want a refusal with what it said", r, err)
		}
		panics("")
		mustConnect(t, c, "run1", long())
		if n := s.connections(); n != 5 {
			t.Errorf("%d connections are open, want the 5 of the last step", n)
		}
	})
}
