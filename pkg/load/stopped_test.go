package load

import (
	"context"
	"encoding/json"
	"errors"
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

const (
	// stoppedEnv makes this test binary run a load and print its stops.
	stoppedEnv = "DBTESTER_TEST_STOPPED_LOAD"
	// childReady is printed by the child when it may be stopped.
	childReady = "begins\n"
)

// announced answers as prompt does, and prints a line with its second answer, when the step is
// under way.
type announced struct {
	prompt
	answers atomic.Int64
}

func (a *announced) Put(ctx context.Context, key, value []byte) error {
	if a.answers.Add(1) == 2 {
		os.Stdout.WriteString(childReady)
	}
	return a.prompt.Put(ctx, key, value)
}

// TestStoppedChild is TestStoppedProcess's child: its load ends with its input.
func TestStoppedChild(t *testing.T) {
	if os.Getenv(stoppedEnv) == "" {
		t.Skip("it is the child process of another test")
	}
	ended := errors.New("the input has ended")
	ctx, end := context.WithCancelCause(t.Context())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		end(ended)
	}()
	spec := writes()
	rec := NewRecorder(discard{}, spec.Operations(), nil)
	step := workload.Step{Clients: 1, Duration: time.Hour}
	if _, err := NewEngine(spec, rec).Step(ctx, Step{Step: step}, []database.Client{&announced{}}); !errors.Is(err, ended) {
		t.Fatalf("run the step: %v", err)
	}
	if err := json.NewEncoder(os.Stdout).Encode(rec.Stops()); err != nil {
		t.Fatalf("encode as JSON: %v", err)
	}
	os.Exit(0) // without test framework output
}

// TestStoppedProcess: the record shows that a process was stopped.
func TestStoppedProcess(t *testing.T) {
	cmd := exec.Command(os.Args[0], "-test.run=^TestStoppedChild$")
	cmd.Env = append(os.Environ(), stoppedEnv+"=1")
	input, err := cmd.StdinPipe()
	if err != nil {
		t.Fatalf("open the command's input: %v", err)
	}
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
	stopped := stop(t, cmd.Process.Pid, 200*time.Millisecond)
	input.Close()
	var got results.Stops
	if err := json.NewDecoder(pipe).Decode(&got); err != nil {
		t.Fatalf("read the child's records: %v\n%s", err, stderr.String())
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("child: %v\n%s", err, stderr.String())
	}
	// The watchdog was due within its period after the stop began.
	if least := stopped - stops.Every; got.Longest.Length < least {
		t.Errorf("want a longest stop of at least %v, for which the process was stopped, got %+v", least, got)
	}
}

// stop stops a child for a time or longer, and returns the least time it was stopped.
func stop(t *testing.T, pid int, length time.Duration) time.Duration {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatalf("stop the process: %v", err)
	}
	var status syscall.WaitStatus
	for !status.Stopped() {
		if _, err := syscall.Wait4(pid, &status, syscall.WUNTRACED, nil); err != nil && !errors.Is(err, syscall.EINTR) {
			t.Fatalf("wait until the process is stopped: %v", err)
		}
		if status.Exited() || status.Signaled() {
			t.Fatal("the process ended before it was stopped")
		}
	}
	from := time.Now()
	time.Sleep(length)
	stopped := time.Since(from)
	if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
		t.Fatalf("continue the process: %v", err)
	}
	return stopped
}
