package sysmetrics

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

var unexported = cmp.AllowUnexported(stat{}, status{}, deviceNumber{})

// check compares a parser's results for good input, and fails if it accepts bad input.
func check[T any](t *testing.T, parse func([]byte) (T, error), good map[string]T, bad ...string) {
	t.Helper()
	for text, want := range good {
		got, err := parse([]byte(text))
		if err != nil {
			t.Errorf("%.60q: %v", text, err)
		}
		if diff := cmp.Diff(want, got, unexported); diff != "" {
			t.Errorf("%.60q (-want +got):\n%s", text, diff)
		}
	}
	for _, text := range bad {
		if got, err := parse([]byte(text)); err == nil {
			t.Errorf("%.60q: no error, got %+v", text, got)
		}
	}
}

func TestParseStat(t *testing.T) {
	const rest = " S 1 10 10 0 -1 4194560 1 2 3 4 100 23 1000 200 20 0 8 0 4242 1 2"
	check(t, parseStat, map[string]stat{
		"10 (etcd)" + rest: {name: "etcd", ppid: 1, start: 4242},
	}, "", "10 (etcd) S 1 2 3", "10 (etcd) S x 10 10 0 -1 4194560 1 2 3 4 100 23 1000 200 20 0 8 0 4242 1 2")
}

func TestParseStatus(t *testing.T) {
	check(t, parseStatus, map[string]status{
		"Name:\tetcd\nState:\tS (sleeping)\nVmSize:\t  2048 kB\n": {state: "S (sleeping)", memory: true},
		"State:\tZ (zombie)\nThreads:\t1\n":                       {state: "Z (zombie)"},
	}, "", "Name:\tetcd\n")
}

func TestParseDevices(t *testing.T) {
	check(t, parseDevices, map[string]map[deviceNumber]string{
		"": {},
		"   8       0 sda 1 2 3 4 5 6 7 8 9 10 11\n 259       1 nvme0n1p1 10 20\n\n": {{8, 0}: "sda", {259, 1}: "nvme0n1p1"},
	}, "8 sda 0 1\n")
}

func TestParseDefaultRoute(t *testing.T) {
	const header = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"
	for text, want := range map[string]string{
		header: "lo",
		header + "eth1\t000200C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n":                                                             "lo",
		header + "eth1\t000200C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\neth0\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n": "eth0",
	} {
		if got := parseDefaultRoute([]byte(text)); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

func TestParseOSRelease(t *testing.T) {
	for text, want := range map[string]string{
		"ID=debian\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n": "Debian GNU/Linux 12 (bookworm)",
		"PRETTY_NAME=Plain": "Plain",
		"ID=x\n":            "linux",
	} {
		if got := parseOSRelease([]byte(text), "linux"); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
