package results

import (
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/coreos/dbtester/pkg/workload"
)

var update = flag.Bool("update", false, "write the golden files anew")

// helperEnv makes this test binary a helper process: "KIND PATH".
const helperEnv = "RESULTS_TEST_HELPER"

func TestMain(m *testing.M) {
	if kind, path, ok := strings.Cut(os.Getenv(helperEnv), " "); ok {
		if err := runHelper(kind, path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func runHelper(kind, path string) error {
	switch kind {
	case "write-forever":
		return writeForever(path)
	case "small-disk":
		return fillDisk(path)
	}
	return fmt.Errorf("unknown helper %q", kind)
}

// writeForever appends intervals until it is killed.
func writeForever(path string) error {
	w, err := NewIntervalWriter(path)
	if err != nil {
		return err
	}
	for second := int64(0); ; second++ {
		rows := []Interval{testInterval(second, 0), testInterval(second, 1)}
		if err := w.Write(rows); err != nil {
			return err
		}
	}
}

// fillDisk writes samples to a file that may not grow over 20,000 bytes, and checks what a full
// disk does.
func fillDisk(path string) error {
	signal.Ignore(syscall.SIGXFSZ)
	limit := syscall.Rlimit{Cur: 20_000, Max: 20_000}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	w, err := NewIntervalWriter(path)
	if err != nil {
		return err
	}
	for second := int64(0); second < 1000; second++ {
		if err = w.Write([]Interval{testInterval(second, 0)}); err != nil {
			break
		}
	}
	if err == nil {
		return fmt.Errorf("the disk never filled")
	}
	if again := w.Write([]Interval{testInterval(0, 0)}); again != err {
		return fmt.Errorf("second error is %v, not %v", again, err)
	}
	fmt.Println(err)
	return w.Close()
}

// testInterval returns an interval with every field set, different for every
// second and step.
func testInterval(second int64, step int) Interval {
	i := Interval{
		Second: second, Step: step, Phase: PhaseMeasure, Operation: "write", Clients: 10 * (step + 1),
		Due: 100 + second, Sent: 99, OK: 90, Failed: 5, Unknown: 4, Shed: 3, Unsent: 2, Queued: 8, Late: 7,
		Backlog: 6, InFlight: 10, KeysCumulative: 90 * (second + 1),
	}
	for _, t := range Timings {
		for n, o := range workload.Outcomes {
			*i.Latency(t, o) = Latency{
				Count: int64(n) + 1, SumNS: 1e9 + second, SumSqMS2: 1e6/3 + float64(second), MinNS: 1, MaxNS: 1 << 40,
				P50: 50, P90: 90, P99: 99, P999: 999,
			}
		}
	}
	return i
}

// classicFile returns a file from the recorded run of the classic tool. Without it the test is
// skipped, except in CI.
func classicFile(t *testing.T, name string) string {
	t.Helper()
	dir := os.Getenv("DBTESTER_CLASSIC_DIR")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared", "classic")
	}
	path := filepath.Join(dir, "results-write-60k", name)
	if _, err := os.Stat(path); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("the classic files must be there in CI: %v", err)
		}
		t.Skipf("no classic files: %v", err)
	}
	return path
}

func mustWrite(t *testing.T, path, content string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatalf("write a file for the test: %v", err)
	}
	return path
}

func mustRead(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("read the file: %v", err)
	}
	return string(data)
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("read the file: %v", err)
	}
}

func diff(t *testing.T, what string, want, got any, opts ...cmp.Option) {
	t.Helper()
	if d := cmp.Diff(want, got, opts...); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

var epoch = time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
