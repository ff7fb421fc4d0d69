package main

import (
	"math"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coreos/dbtester/tools/audit/standin"
	"github.com/coreos/dbtester/tools/experiment"
)

// attempts limits the runs per case. A machine that pauses for a moment breaks the premise of a
// case (a server that answers within 2 ms), but no report: a wrong report is wrong each time.
const attempts = 6

// TestAudit runs every case at small scale: about two minutes. Cases that compare times
// have the machine to themselves.
func TestAudit(t *testing.T) {
	if testing.Short() {
		t.Skip("runs dbtester for two minutes")
	}
	program, err := experiment.Build(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases() {
		if c.Full {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			if c.Together {
				t.Parallel()
			}
			passes(t, program, func(a *auditor) Verdict { return a.judge(t.Context(), c) })
		})
	}
	for _, c := range realCases() {
		if c.Small {
			t.Run(c.Name(), func(t *testing.T) {
				passes(t, program, func(a *auditor) Verdict { return a.real(t.Context(), c) })
			})
		}
	}
}

// passes runs a case until it passes once, at most so many times.
func passes(t *testing.T, program string, judge func(*auditor) Verdict) {
	t.Helper()
	var err error
	for range attempts {
		v := judge(&auditor{program: program, dir: t.TempDir()})
		for _, line := range v.describe() {
			t.Log(line)
		}
		if err = surprises([]Verdict{v}); err == nil {
			return
		}
	}
	t.Errorf("look for surprises, %d times: %v", attempts, err)
}

// TestIndependent checks that no code of dbtester judges itself.
func TestIndependent(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatalf("run the command: %v", err)
	}
	const module = "github.com/coreos/dbtester/"
	for _, dependency := range strings.Fields(string(out)) {
		if ours, ok := strings.CutPrefix(dependency, module); ok && !strings.HasPrefix(ours, "tools/audit") {
			t.Errorf("audit depends on %s, want no package of dbtester", dependency)
		}
	}
}

func TestQuantile(t *testing.T) {
	values := []float64{5, 1, 4, 2, 3, 6, 7, 8, 9, 10}
	for q, want := range map[float64]float64{0.1: 1, 0.11: 2, 0.5: 5, 0.9: 9, 0.91: 10, 1: 10} {
		if got := quantile(q, slices.Clone(values)); got != want {
			t.Errorf("quantile %g of 1..10: want the value of rank ceil(q*10), %g, got %g", q, want, got)
		}
	}
}

// TestStalled freezes a server for one second out of ten: the last tenth of the response times is
// spread evenly over the freeze.
func TestStalled(t *testing.T) {
	times := stalled(100, 10*time.Second, 0, standin.Stretch{From: 2 * time.Second, To: 3 * time.Second})
	for q, want := range map[float64]float64{0.9: 0, 0.95: 500, 1: 1000} {
		if got := quantile(q, times); math.Abs(got-want) > 1e-6 {
			t.Errorf("quantile %g: want %g ms, got %g ms", q, want, got)
		}
	}
}

// TestOrigin finds the schedule's start though the first request arrived late.
func TestOrigin(t *testing.T) {
	start := time.Unix(1000, 0)
	var l Log
	for i, late := range []time.Duration{20, 12, 3, 1, 1} {
		at := start.Add(dueAt(i, 100) + late*time.Millisecond)
		l = append(l, standin.Entry{Arrived: at, Ended: at.Add(time.Millisecond)})
	}
	if got := l.Origin(100).Sub(start); got != time.Millisecond {
		t.Errorf("origin: want 1ms after the start, the least lateness of all, got %v", got)
	}
}

// TestKnownNames keeps the lists to case names.
func TestKnownNames(t *testing.T) {
	var names []string
	for _, c := range cases() {
		names = append(names, c.Name)
	}
	for _, list := range []map[string]bool{knownFailing, unsteady} {
		for name := range list {
			if !slices.Contains(names, name) {
				t.Errorf("%q is in a list of failing cases and is no case", name)
			}
		}
	}
}
