package cgroup

import (
	"strings"
	"testing"

	"github.com/coreos/dbtester/pkg/process/resources"
)

// TestTry: a trial finds the place or the reason, and leaves no group behind.
func TestTry(t *testing.T) {
	cpu, memory := resources.Limits{CPUs: 0.1, Period: resources.DefaultPeriod}, resources.Limits{MemoryBytes: 64 << 20}
	unified := newFake(t, "0::/\n", mountUnified)
	unified.group("unified", 1)
	first := newFake(t, "4:cpu:/a\n5:memory:/b\n", mountCPU, mountMemory)
	first.group("cpu/a")
	first.group("memory/b")
	sealed := newFake(t, "4:cpu:/a\n", mountCPU)
	sealed.group("cpu/a")
	sealed.sealed = []string{"cpu/a"}
	for _, c := range []struct {
		name      string
		f         *fake
		limits    resources.Limits
		want, err string
	}{
		{"version 2", unified, both, "control groups of version 2 below " + unified.path("unified"), ""},
		{"version 1", first, both, "control groups of version 1 below " + first.path("cpu/a") + " and control groups of version 1 below " + first.path("memory/b"), ""},
		{"processors alone", first, cpu, "control groups of version 1 below " + first.path("cpu/a"), ""},
		{"no rights", sealed, cpu, "", "run the agent as root"},
		{"no controller", sealed, memory, "", `no control groups with the controller "memory"`},
	} {
		got, err := try(c.f, c.f.proc(), c.limits)
		if got != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %q and the error %v, want %q and %q", c.name, got, err, c.want, c.err)
		}
		if left := c.f.below(); len(left) > 0 {
			t.Errorf("%s: %v is left", c.name, left)
		}
	}
}
