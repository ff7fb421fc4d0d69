package load

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/workload"
)

// stoppedEnv makes this test binary run a load and print what it recorded.
const stoppedEnv = "DBTESTER_TEST_STOPPED_LOAD"

// stoppedLoad is what the child records.
type stoppedLoad struct {
	Totals   results.Totals
	Lateness results.Spread
	Stops    results.Stops
	Result   StepResult
	GapNS    int64
}

// prompt answers after 3 ms, as long as the process runs.
type prompt struct{ null }

func (prompt) Put(context.Context, []byte, []byte) error {
	time.Sleep(3 * time.Millisecond)
	return nil
}

// gapSink adds up the seconds' gaps.
type gapSink struct {
	discard
	ns int64
}

func (g *gapSink) Second(s Second) error {
	for _, row := range s.Intervals {
		g.ns += row.GapNS
	}
	return nil
}

// TestStoppedChild is the child of runStopped.
func TestStoppedChild(t *testing.T) {
	var step workload.Step
	switch os.Getenv(stoppedEnv) {
	case "rate":
		step = workload.Step{Clients: 8, Rate: 400, Duration: 3 * time.Second}
	case "closed":
		step = workload.Step{Clients: 4, Duration: 3 * time.Second}
	default:
		t.Skip("it is the child process of other tests")
	}
	spec := Spec{Load: workload.Load{Operation: workload.OpWrite, KeySize: 16, Timeout: 10 * time.Second, Drain: 5 * time.Second}}
	sink := &gapSink{}
	rec := NewRecorder(sink, spec.Operations(), nil)
	os.Stdout.WriteString("begins\n")
	res, err := NewEngine(spec, rec).Step(t.Context(), Step{Step: step}, []database.Client{prompt{}})
	if err != nil {
		t.Fatalf("run the step: %v", err)
	}
	out := stoppedLoad{Totals: rec.Totals(), Lateness: rec.Lateness(), Stops: rec.Stops(), Result: res, GapNS: sink.ns}
	if err := json.NewEncoder(os.Stdout).Encode(out); err != nil {
		t.Fatalf("encode as JSON: %v", err)
	}
	os.Exit(0) // without the words of the test framework
}

// runStopped runs a load in a process of its own that is stopped for 1.5 of 3 s.
func runStopped(t *testing.T, kind string) (out stoppedLoad) {
	t.Helper()
	if testing.Short() {
		t.Skip("takes 3 s")
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestStoppedChild$")
	cmd.Env = append(os.Environ(), stoppedEnv+"="+kind)
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatalf("open the command's output: %v", err)
	}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatalf("start the command: %v", err)
	}
	defer cmd.Process.Kill()
	if _, err := pipe.Read(make([]byte, len("begins\n"))); err != nil {
		t.Fatalf("wait for the child to begin: %v", err)
	}
	time.Sleep(500 * time.Millisecond)
	if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatalf("signal the process: %v", err)
	}
	time.Sleep(1500 * time.Millisecond)
	if err := cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatalf("signal the process: %v", err)
	}
	decoder := json.NewDecoder(pipe)
	if err := decoder.Decode(&out); err != nil {
		t.Fatalf("read the child's records: %v\n%s", err, stderr.String())
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("child: %v\n%s", err, stderr.String())
	}
	if out.Stops.Longest.Length < 1450*time.Millisecond || out.Stops.Longest.Length > 1700*time.Millisecond {
		t.Fatalf("want a longest stop of about 1.5s, for which the process was stopped, got %+v", out.Stops)
	}
	if out.GapNS != out.Stops.TotalNS {
		t.Errorf("want gaps of the seconds of %v, as in the totals, got %v", time.Duration(out.Stops.TotalNS), time.Duration(out.GapNS))
	}
	return out
}

// TestStoppedRate: what fell due while the process was stopped is late by the
// client's fault, and the database was always fast enough.
func TestStoppedRate(t *testing.T) {
	out := runStopped(t, "rate")
	if out.Lateness.N != out.Totals.Sent || out.Totals.Sent < 1190 {
		t.Errorf("lateness: want it of all %d requests that were sent, at least 1190, got n %d", out.Totals.Sent, out.Lateness.N)
	}
	if p99 := time.Duration(out.Lateness.P99); p99 < 1400*time.Millisecond {
		t.Errorf("lateness p99: want at least 1.4s, because half of the requests fell due in a stop of 1.5s, got %v", p99)
	}
	if out.Totals.Late < 550 || out.Totals.Queued > out.Totals.Late/10 {
		t.Errorf("want about 600 late requests and few queued ones, because only the client was slow, got %d late and %d queued", out.Totals.Late, out.Totals.Queued)
	}
	// 600 requests waited 0.75 s on average for the end of the stop, and then for one
	// another.
	if d := out.Result.ClientDelay; d < 400*time.Second || d > 800*time.Second {
		t.Errorf("client delay: want 450s and more, got %v", d)
	}
}

// TestStoppedLoop: time in which the process was stopped is not inside calls.
func TestStoppedLoop(t *testing.T) {
	out := runStopped(t, "closed")
	window := out.Result.IssueEnd.Sub(out.Result.Start)
	share := float64(out.Result.Inside) / float64(4*window)
	if share < 0.35 || share > 0.52 {
		t.Errorf("want the clients inside calls for less than half of 3s, of which the process was stopped for 1.5s, got %.1f %%", 100*share)
	}
	all := 4 * time.Duration(out.Stops.TotalNS)
	if d := out.Result.ClientDelay; d < all*9/10 || d > all {
		t.Errorf("client delay: want nearly %v, of 4 clients for %v of stops, got %v", all, all/4, d)
	}
}
