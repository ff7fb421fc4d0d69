package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// burnEnv makes the test binary compute, with a child that does so too, if it is "parent".
const burnEnv = "TESTRUN_BURN"

// TestBurn computes until it used half a second of CPU time, writes a line, and lives until its
// input ends.
func TestBurn(t *testing.T) {
	role := os.Getenv(burnEnv)
	if role == "" {
		return // TestCPUTime starts it
	}
	if role == "parent" {
		burning(t, "child")
	}
	var used syscall.Rusage
	for used.Utime.Nano()+used.Stime.Nano() < 5e8 {
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
			t.Fatal(err)
		}
	}
	fmt.Println("burnt")
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// burning starts the test binary, which has computed when burning returns, and lives until the test
// ends.
func burning(t *testing.T, role string) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestBurn$")
	cmd.Env = append(os.Environ(), burnEnv+"="+role)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatalf("wait until it has computed: %v", err)
	}
}

// The CPU time of a test process includes that of the processes below it, while they live and
// afterwards.
func TestCPUTime(t *testing.T) {
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("needs /proc")
	}
	s := newSampler("/proc", os.Getpid())
	const self = "github.com/coreos/dbtester/tools/testrun"
	t.Run("lives", func(t *testing.T) {
		burning(t, "parent")
		s.sample()
		if got := s.cpu(self); got < 0.9 {
			t.Errorf("a test with 0.5 s and a child with 0.5 s: got %v s", got)
		}
	})
	before := s.all()
	s.sample()
	if got := s.cpu(self); got != before || got == 0 {
		t.Errorf("after the end: got %v s, want %v s as before", got, before)
	}
}

// The go command has a separate line.
func TestTimesOfGo(t *testing.T) {
	dir := testModule(t)
	t.Chdir(dir)
	times := filepath.Join(dir, "times")
	if code, err := run("go", "", times, []string{"-vet=off", "./good"}); code != 0 || err != nil {
		t.Fatalf("run go test: code %d, %v", code, err)
	}
	took, err := readTimes(times)
	if err != nil {
		t.Fatal(err)
	}
	if cpu := took[goPackage].cpu; len(took) != 2 || cpu <= 0 {
		t.Errorf("times of %v, %v s of the go command; want those of a package and of the go command", took, cpu)
	}
}

func TestReadProc(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "7", "stat")
	if err := os.Mkdir(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]proc{
		"7 (a ) b) S 3 7 7 0 -1 4194560 1 2 3 4 100 50 25 25 20 0 1 0 987 1 1": {pid: 7, parent: 3, started: 987, seconds: 2},
		"7 (cut) S 3 7": {},
		"":              {},
	} {
		if err := os.WriteFile(name, []byte(line), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, ok := readProc(name); got != want || ok != (want.pid > 0) {
			t.Errorf("%q: got %+v, want %+v", line, got, want)
		}
	}
}
