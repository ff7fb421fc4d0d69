package agent_test

import (
	"bytes"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/coreos/dbtester/pkg/results"
)

// TestSamplePeriod has an agent that samples at the requested period.
func TestSamplePeriod(t *testing.T) {
	h := serve(t, nil)
	h.open("run1")
	req := request(t, "run1", "")
	req.SamplePeriodNs = int64(time.Millisecond)
	_, err := h.Start(t.Context(), req)
	wantCode(t, err, codes.InvalidArgument, "must be from 100ms to 1s")
	req.SamplePeriodNs = int64(100 * time.Millisecond)
	h.start(req)
	for deadline := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		data := h.collect("run1", results.FileServer)
		seconds := map[string]int{}
		for _, line := range bytes.Split(bytes.TrimSpace(data), []byte("\n"))[1:] {
			if fields := bytes.SplitN(line, []byte(","), 3); len(fields) == 3 {
				seconds[string(fields[1])]++
			}
		}
		for _, rows := range seconds {
			if rows >= 4 { // once a second gives three at most: the first, the tick and the last
				return
			}
		}
		if time.Now().After(deadline) {
			t.Fatalf("want some second with four samples, got %v", seconds)
		}
	}
}
