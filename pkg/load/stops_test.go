package load

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/load/stops"
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

// stalled answers as prompt does, but first it lets all of its clients wait: it prints
// a line, and half a second after the process was stopped it answers.
type stalled struct {
	null
	clients int64
	waiting atomic.Int64
	rec     *Recorder
	over    chan struct{}
}

func (s *stalled) Put(context.Context, []byte, []byte) error {
	select {
	case <-s.over:
	default:
		if s.waiting.Add(1) == s.clients {
			os.Stdout.WriteString(childReady)
			go s.answer()
		}
		<-s.over
	}
	time.Sleep(3 * time.Millisecond)
	return nil
}

func (s *stalled) answer() {
	for s.rec.Stops().Longest.Length < stopFor/2 {
		time.Sleep(10 * time.Millisecond)
	}
	time.Sleep(500 * time.Millisecond)
	close(s.over)
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

const (
	// childReady is what the child prints when it may be stopped.
	childReady = "begins\n"
	// stopFor is for how long it is stopped at least.
	stopFor = 1500 * time.Millisecond
	// stoppedRate is the rate of the loads with one, in requests per second.
	stoppedRate = 400
)

// TestStoppedChild is the child of runStopped.
func TestStoppedChild(t *testing.T) {
	kind, rated := os.Getenv(stoppedEnv), false
	if kind == "" {
		t.Skip("it is the child process of other tests")
	}
	step := workload.Step{Clients: 4, Duration: 4 * time.Second}
	if rated = strings.Contains(kind, "rate"); rated {
		step = workload.Step{Clients: 8, Rate: stoppedRate, Duration: 4 * time.Second}
	}
	spec := Spec{Load: workload.Load{Content: workload.Content{Operation: workload.OpWrite}, Sizing: workload.Sizing{KeySize: 16}, Limits: workload.Limits{Timeout: 5 * time.Minute, Drain: 5 * time.Minute}}}
	sink := &gapSink{}
	rec := NewRecorder(sink, spec.Operations(), nil)
	var client database.Client = prompt{}
	if strings.HasPrefix(kind, "stalled") {
		client = &stalled{clients: int64(step.Clients), rec: rec, over: make(chan struct{})}
	} else {
		time.AfterFunc(500*time.Millisecond, func() { os.Stdout.WriteString(childReady) })
	}
	res, err := NewEngine(spec, rec).Step(t.Context(), Step{Step: step}, []database.Client{client})
	if err != nil {
		t.Fatalf("run the step: %v", err)
	}
	out := stoppedLoad{Totals: rec.Totals(), Lateness: rec.Lateness(), Stops: rec.Stops(), Result: res, GapNS: sink.ns}
	if err := json.NewEncoder(os.Stdout).Encode(out); err != nil {
		t.Fatalf("encode as JSON: %v", err)
	}
	os.Exit(0) // without the words of the test framework
}

// runStopped runs a load of 4 s in a process of its own that is stopped for stopFor or
// longer, and for as long on a busy machine as that takes.
func runStopped(t *testing.T, kind string) (out stoppedLoad) {
	t.Helper()
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
	if _, err := io.ReadFull(pipe, make([]byte, len(childReady))); err != nil {
		t.Fatalf("wait for the child to begin: %v", err)
	}
	if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatalf("signal the process: %v", err)
	}
	time.Sleep(stopFor)
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
	// The watchdog was due within its period after the stop began.
	if least := stopFor - 2*stops.Every; out.Stops.Longest.Length < least {
		t.Fatalf("want a longest stop of at least %v, for which the process was stopped, got %+v", least, out.Stops)
	}
	if out.GapNS != out.Stops.TotalNS {
		t.Errorf("want gaps of the seconds of %v, as in the totals, got %v", time.Duration(out.Stops.TotalNS), time.Duration(out.GapNS))
	}
	return out
}

// onceOfThree runs a stopped load until a check accepts it, at most three times: on a
// busy machine other processes delay one as well.
func onceOfThree(t *testing.T, kind string, check func(stoppedLoad) error) {
	t.Helper()
	if testing.Short() {
		t.Skip("takes 4 s")
	}
	var errs []error
	for range 3 {
		err := check(runStopped(t, kind))
		if err == nil {
			return
		}
		errs = append(errs, err)
	}
	t.Errorf("no run of three was as it must be:\n%v", errors.Join(errs...))
}

// dueInStop is how many requests fell due in the longest stop of a load with a rate.
func (l *stoppedLoad) dueInStop() int64 {
	from, to := l.Stops.Longest.From, l.Stops.Longest.From.Add(l.Stops.Longest.Length)
	if to.After(l.Result.IssueEnd) {
		to = l.Result.IssueEnd
	}
	return int64(stoppedRate * to.Sub(from).Seconds())
}

// others is the length of all stops but the longest.
func (l *stoppedLoad) others() time.Duration {
	return time.Duration(l.Stops.TotalNS) - l.Stops.Longest.Length
}

// TestStoppedRate: what fell due while the process was stopped is late by the
// client's fault, and the database was always fast enough.
func TestStoppedRate(t *testing.T) {
	onceOfThree(t, "rate", func(out stoppedLoad) error {
		if out.Lateness.N != out.Totals.Sent || out.Totals.Sent != 4*stoppedRate {
			return fmt.Errorf("lateness: want it of all %d requests, got n %d of %d", 4*stoppedRate, out.Lateness.N, out.Totals.Sent)
		}
		due := out.dueInStop()
		if p99 := time.Duration(out.Lateness.P99); p99 < stopFor*9/10 {
			return fmt.Errorf("lateness p99: want at least %v, because %d requests fell due in a stop of %v, got %v", stopFor*9/10, due, stopFor, p99)
		}
		if out.Totals.Late < due*9/10 {
			return fmt.Errorf("want at least nine tenths of %d requests late, because only the client was slow, got %d late and %d queued", due, out.Totals.Late, out.Totals.Queued)
		}
		// They waited for half of the stop on average, and then for one another.
		if least := time.Duration(due) * stopFor * 9 / 20; out.Result.ClientDelay < least {
			return fmt.Errorf("client delay: want at least %v, got %v", least, out.Result.ClientDelay)
		}
		return nil
	})
}

// TestStoppedLoop: time by which a stop delayed answers is not inside calls.
func TestStoppedLoop(t *testing.T) {
	onceOfThree(t, "closed", func(out stoppedLoad) error {
		window := out.Result.IssueEnd.Sub(out.Result.Start)
		all := 4 * time.Duration(out.Stops.TotalNS)
		if most := 4*window - all*9/10; out.Result.Inside > most {
			return fmt.Errorf("want the clients inside calls for at most %v of 4 times %v, of which the process was stopped for %v, got %v", most, window, all/4, out.Result.Inside)
		}
		if d := out.Result.ClientDelay; d < all*9/10 || d > all {
			return fmt.Errorf("client delay: want nearly %v, of 4 clients for %v of stops, got %v", all, all/4, d)
		}
		return nil
	})
}

// TestStoppedInAStall: the process is stopped while every client waits for a database
// that stands still for longer. That delays nothing.
func TestStoppedInAStall(t *testing.T) {
	t.Run("rate", func(t *testing.T) {
		onceOfThree(t, "stalled rate", func(out stoppedLoad) error {
			due := out.dueInStop()
			if most := time.Duration(due) * (stopFor/10 + out.others()); out.Result.ClientDelay > most || due < stoppedRate/2 {
				return fmt.Errorf("client delay: want at most %v, because %d requests queued for the database in a stop of %v, got %v", most, due, stopFor, out.Result.ClientDelay)
			}
			if out.Totals.Queued < due*9/10 {
				return fmt.Errorf("want %d requests queued, got %d queued and %d late", due, out.Totals.Queued, out.Totals.Late)
			}
			return nil
		})
	})
	t.Run("closed", func(t *testing.T) {
		onceOfThree(t, "stalled loop", func(out stoppedLoad) error {
			if most := 4 * (stopFor/10 + out.others()); out.Result.ClientDelay > most {
				return fmt.Errorf("client delay: want at most %v of 4 clients, because the database stood still, got %v", most, out.Result.ClientDelay)
			}
			if least := 4 * stopFor; out.Result.Inside < least {
				return fmt.Errorf("want at least %v inside calls, because the clients waited for the database, got %v", least, out.Result.Inside)
			}
			return nil
		})
	})
}
