package tenant

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/coreos/dbtester/dbtesterpb"
)

// A lease that is renewed lasts longer, and the wait ends when the session does.
func TestAwait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const lease = 15 * time.Second
		began := time.Now()
		one := Tenant{Alive: began}
		asked := 0
		ended := Await(t.Context(), lease, func() time.Duration {
			if asked++; asked == 1 {
				one.Alive = began.Add(10 * time.Second)
			}
			return one.Left(lease)
		})
		if took := time.Since(began); !ended || took != 25*time.Second || asked != 2 {
			t.Errorf("the lease ended (%v) after %v and %d questions, want 25 s and 2", ended, took, asked)
		}
		ctx, end := context.WithTimeout(t.Context(), time.Second)
		defer end()
		if Await(ctx, lease, func() time.Duration { return 0 }) {
			t.Error("a lease has ended after the session, want no end")
		}
	})
}

// A refusal names the owner and the hash of its run, never the id, which would open the session.
func TestRefusal(t *testing.T) {
	t.Parallel()
	one := Tenant{Run: "0123456789abcdef", Owner: "ann", Since: time.Unix(0, 0), Alive: time.Now()}
	err := one.Refusal(codes.PermissionDenied, "agent", "; it is busy", one.Message())
	answer := status.Convert(err)
	want := "the agent belongs to ann (run " + pb.RunHash(one.Run) + ") since 1970-01-01T00:00:00Z, last heard from "
	if text := answer.Message(); answer.Code() != codes.PermissionDenied || !strings.HasPrefix(text, want) || !strings.HasSuffix(text, " ago; it is busy") || strings.Contains(text, one.Run) {
		t.Errorf("%v: %s, want %s... ago; it is busy", answer.Code(), text, want)
	}
	if details := answer.Details(); len(details) != 1 || details[0].(*pb.Owner).GetName() != "ann" {
		t.Errorf("details %v, want the owner", details)
	}
}

func TestChecks(t *testing.T) {
	t.Parallel()
	for id, ok := range map[string]bool{"a": true, "0-_Z": true, strings.Repeat("a", 64): true, "": false, "-a": false, "a/b": false, strings.Repeat("a", 65): false} {
		if err := CheckRun(id); (err == nil) != ok {
			t.Errorf("run id %q: %v", id, err)
		}
	}
	for name, ok := range map[string]bool{"": true, "ann at home": true, strings.Repeat("é", 128): true, strings.Repeat("é", 129): false, "a\nb": false, "\xff": false} {
		if err := CheckName("owner", name); (err == nil) != ok || err != nil && !strings.HasPrefix(err.Error(), "owner is not printable") {
			t.Errorf("name %q: %v", name, err)
		}
	}
}
