package results

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// selfCheck returns a check with every field set.
func selfCheck() *SelfCheck {
	return &SelfCheck{
		Date: epoch, Tool: Tool{Version: "v1", Commit: "abc", Go: "go1.26"},
		Host:       Host{Name: "client", CPUModel: "fast", CPUs: 4, BootID: "boot-1", NetNS: "net:[1]", MemoryBytes: 1 << 30, OS: "linux", Kernel: "6.1"},
		Duration:   10 * time.Second,
		ServiceP99: Compared{N: 4000, Measured: 20_200_000, True: 20_100_000}, ResponseP99: Compared{N: 10_000, Measured: 900_300_000, True: 900_100_000},
		HighestRate: 100_000, MissedRates: []float64{200_000, 500_000},
		TimerLateness:  Spread{N: 1000, P50: 60_000, P99: 105_000, P999: 900_000, Max: 1_200_000},
		ClientLateness: Spread{N: 1000, P50: 30_000, P99: 80_000, P999: 700_000, Max: 1_100_000},
	}
}

func TestSelfCheckJSON(t *testing.T) {
	text, err := json.Marshal(selfCheck())
	check(t, err)
	var again SelfCheck
	check(t, json.Unmarshal(text, &again))
	diff(t, "self-check", selfCheck(), &again)
	for _, want := range []string{
		`"date":"`, `"duration_ns":10000000000`, `"highest_rate_per_second":100000`, `"missed_rates_per_second":[200000,500000]`,
		`"response_p99":{"n":10000,"measured_ns":900300000,"true_ns":900100000}`, `"timer_lateness":{"n":1000,"p50_ns":60000,"p99_ns":105000`,
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%s is not in %s", want, text)
		}
	}
}

func TestSelfCheckElsewhere(t *testing.T) {
	here := selfCheck().Host
	for name, c := range map[string]struct {
		change func(*Host)
		want   string
	}{
		"here":             {func(*Host) {}, ""},
		"another kernel":   {func(h *Host) { h.Kernel = "7.0" }, ""}, // no boot has two kernels
		"another name":     {func(h *Host) { h.Name = "other" }, "of another machine (client, CPUs 4, fast)"},
		"other processors": {func(h *Host) { h.CPUModel = "slow" }, "of another machine (client, CPUs 4, fast)"},
		"fewer processors": {func(h *Host) { h.CPUs = 2 }, "of another machine (client, CPUs 4, fast)"},
		"less of them":     {func(h *Host) { h.CPUQuota = 1.5 }, "of this machine with another share of its processors (CPUs 4, not 1.5)"},
		"no less":          {func(h *Host) { h.CPUQuota = 4.5 }, ""},
		"started again":    {func(h *Host) { h.BootID = "boot-2" }, "of another machine of this name, or from before this one was started again"},
	} {
		h := here
		c.change(&h)
		if got := selfCheck().Elsewhere(h); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
