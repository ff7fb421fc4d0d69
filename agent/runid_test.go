package agent_test

import (
	"strings"
	"testing"

	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/prototext"

	pb "github.com/coreos/dbtester/dbtesterpb"
)

// Whoever knows the run id may stop the session and fetch its logs. No answer to another caller
// contains it, and the run name in answers opens nothing.
func TestRunIDIsKept(t *testing.T) {
	h := serve(t, nil)
	const run = "0123456789abcdef0123456789abcdef"
	if _, err := h.Open(t.Context(), &pb.OpenRequest{RunId: run, Owner: "ann"}); err != nil {
		t.Fatalf("open the session: %v", err)
	}
	h.start(request(t, run, ""))
	got := h.status()
	_, refused := h.Open(t.Context(), &pb.OpenRequest{RunId: "late"})
	for what, text := range map[string]string{
		"Status":         prototext.Format(got),
		"a refused Open": refused.Error() + prototext.Format(status.Convert(refused).Proto()),
	} {
		if strings.Contains(text, run[:8]) {
			t.Errorf("%s gives the run id away: %s", what, text)
		}
		if !strings.Contains(text, pb.RunHash(run)) {
			t.Errorf("%s does not name the run %s: %s", what, pb.RunHash(run), text)
		}
	}
	for _, path := range tree(t, h.dir) {
		if strings.Contains(path, run[:8]) {
			t.Errorf("path %q gives the run id away to all who see the member's command line", path)
		}
	}
	for _, id := range []string{pb.RunHash(run), run[:8], strings.ToUpper(run)} {
		if _, err := h.Stop(t.Context(), &pb.StopRequest{RunId: id}); err == nil {
			t.Errorf("Stop with %q is carried out, want it refused", id)
		}
	}
	if _, err := h.Stop(t.Context(), &pb.StopRequest{RunId: run}); err != nil {
		t.Errorf("Stop with the full run id: %v", err)
	}
}
