package resources_test

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/process/resources"
)

func TestLimits(t *testing.T) {
	l := resources.Limits{CPUs: 0.25, Period: 100 * time.Millisecond, MemoryBytes: 2e9}
	if err := l.Check(); err != nil || !l.Any() {
		t.Errorf("limits in their bounds: %v", err)
	}
	if got := l.String(); got != "0.25 processors, 2.0 GB of memory" {
		t.Errorf("text %q", got)
	}
	if got := l.Env(); !slices.Equal(got, []string{"GOMAXPROCS=1", "GOMEMLIMIT=1800000000"}) {
		t.Errorf("environment %q", got)
	}
	if l.Quota() != 25*time.Millisecond {
		t.Errorf("quota %v, want 25ms", l.Quota())
	}
	l = resources.Limits{CPUs: 1.5, Period: 10 * time.Millisecond}
	if got := l.String(); got != "1.5 processors in periods of 10ms" {
		t.Errorf("text %q", got)
	}
	if got := l.Env(); !slices.Equal(got, []string{"GOMAXPROCS=2"}) {
		t.Errorf("environment %q", got)
	}
	if none := (resources.Limits{}); none.Any() || none.Check() != nil || len(none.Env()) > 0 || none.String() != "" {
		t.Errorf("no limits: %v, %q", none.Check(), none.Env())
	}
}

func TestCheck(t *testing.T) {
	for want, l := range map[string]resources.Limits{
		"cpus must be over 0":            {CPUs: math.NaN()},
		"cpus must be over 0 and":        {CPUs: -1},
		"cpus must be over 0 and at":     {CPUs: math.Inf(1), Period: time.Second},
		"cpus must give at least 1ms":    {CPUs: 0.01, Period: 10 * time.Millisecond},
		"period must be from 1ms to 1s":  {CPUs: 1, Period: 2 * time.Second},
		"memory must be at least 16 MiB": {MemoryBytes: -5},
	} {
		if err := l.Check(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%+v: want %q, got %v", l, want, err)
		}
	}
}
