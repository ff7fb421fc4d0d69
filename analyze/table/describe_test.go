package table

import (
	"testing"

	"github.com/coreos/dbtester/pkg/results"
)

func TestCPUsText(t *testing.T) {
	for want, h := range map[string]results.Host{
		"1 CPU":          {CPUs: 1},
		"4 CPUs":         {CPUs: 4, OnlineCPUs: 4, CPUQuota: 8},
		"4 of 8 CPUs":    {CPUs: 4, OnlineCPUs: 8},
		"1.5 of 64 CPUs": {CPUs: 64, OnlineCPUs: 64, CPUQuota: 1.5},
		"0.5 of 2 CPUs":  {CPUs: 2, CPUQuota: .5},
		"0.25 of 1 CPU":  {CPUs: 1, OnlineCPUs: 1, CPUQuota: .25},
		"16 of 32 CPUs":  {CPUs: 16, OnlineCPUs: 32, CPUQuota: 20},
		"2 of 128 CPUs":  {CPUs: 128, OnlineCPUs: 128, CPUQuota: 2},
	} {
		if got := cpusText(h); got != want {
			t.Errorf("%+v: %q, want %q", h, got, want)
		}
	}
}
