package sysmetrics

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var unexported = cmp.AllowUnexported(stat{}, status{}, diskBytes{}, deviceCounters{}, interfaceCounters{}, mount{}, deviceNumber{})

// check compares what a parser made of good input and that it refuses bad input.
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
	want := stat{ppid: 1, start: 4242, own: 123, waited: 1200}
	named := func(name string) stat { s := want; s.name = name; return s }
	check(t, parseStat, map[string]stat{
		"10 (etcd)" + rest:         named("etcd"),
		"10 (tmux: a) b)" + rest:   named("tmux: a) b"),
		"10 (" + "\n" + ")" + rest: named("\n"),
	}, "", "10 etcd S 1", "10 (etcd) S 1 2 3", strings.Replace("10 (etcd)"+rest, "4242", "soon", 1))
}

func TestParseStatus(t *testing.T) {
	const text = "Name:\tetcd\nState:\tS (sleeping)\nPPid:\t1\nVmSize:\t  2048 kB\nVmHWM:\t 512 kB\nVmRSS:\t     29820 kB\nRssAnon:\t      16 kB\nThreads:\t8\n" +
		"voluntary_ctxt_switches:\t150\nnonvoluntary_ctxt_switches:\t7\n"
	check(t, parseStatus, map[string]status{
		text: {
			state: "S (sleeping)", virtual: 2 << 20, peak: 512 << 10, rss: 29820 * 1024, anon: 16 << 10, threads: 8,
			voluntary: 150, nonvoluntary: 7,
		},
		"State:\tZ (zombie)\nThreads:\t1\nvoluntary_ctxt_switches:\t1\nnonvoluntary_ctxt_switches:\t2\n": {
			state: "Z (zombie)", threads: 1, voluntary: 1, nonvoluntary: 2,
		},
	},
		"", "State:\tS (sleeping)\n",
		strings.Replace(text, "29820 kB", "29820 MB", 1),
		strings.Replace(text, "150", "many", 1),
	)
}

func TestParseDiskBytes(t *testing.T) {
	check(t, parseDiskBytes, map[string]diskBytes{
		"rchar: 1\nwchar: 2\nsyscr: 3\nsyscw: 4\nread_bytes: 4096\nwrite_bytes: 8192\ncancelled_write_bytes: 5\n": {read: 4096, write: 8192},
	}, "", "read_bytes: 1\n", "read_bytes: x\nwrite_bytes: 1\n")
}

func TestParseDiskstats(t *testing.T) {
	check(t, parseDiskstats, map[string][]deviceCounters{
		"": nil,
		"   8       0 sda 1 2 3 4 5 6 7 8 9 10 11\n 259       1 nvme0n1p1 10 20 30 40 50 60 70 80 90 100 110 1 2 3 4 5 6\n": {
			{name: "sda", major: 8, reads: 1, sectorsRead: 3, millisRead: 4, writes: 5, sectorsWritten: 7, millisWrite: 8},
			{name: "nvme0n1p1", major: 259, minor: 1, reads: 10, sectorsRead: 30, millisRead: 40, writes: 50, sectorsWritten: 70, millisWrite: 80},
		},
	}, "8 0 sda 1 2 3\n", "8 0 sda 1 2 x 4 5 6 7 8 9 10 11\n")
}

func TestParseNetdev(t *testing.T) {
	const text = "Inter-|   Receive                                                |  Transmit\n" +
		" face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed\n" +
		"    lo:     100       1    0    0    0     0          0         0      200       2    0    0    0     0       0          0\n" +
		"eth0:1:300 3 0 0 0 0 0 0 400 4 0 0 0 0 0 0\n" +
		"  eth0:500 5 0 0 0 0 0 0 600 6 0 0 0 0 0 0\n"
	for name, want := range map[string]interfaceCounters{
		"lo": {100, 1, 200, 2}, "eth0:1": {300, 3, 400, 4}, "eth0": {500, 5, 600, 6},
	} {
		if got, err := parseNetdev([]byte(text), name); err != nil || got != want {
			t.Errorf("%s: %+v, %v; want %+v", name, got, err, want)
		}
	}
	for _, name := range []string{"eth", "eth1", ""} {
		if got, err := parseNetdev([]byte(text), name); err == nil {
			t.Errorf("%q: no error, got %+v", name, got)
		}
	}
}

func TestParseLoadavg(t *testing.T) {
	check(t, parseLoadavg, map[string][3]float64{"0.52 1.58 12.59 3/441 4242\n": {0.52, 1.58, 12.59}}, "", "1 2", "a b c")
}

func TestParseMountinfo(t *testing.T) {
	check(t, parseMountinfo, map[string][]mount{
		"36 35 98:0 /mnt1 /mnt/a\\040b rw,noatime master:1 shared:2 - ext3 /dev/root rw\n40 35 0:45 / /x rw - tmpfs none rw\n": {
			{number: deviceNumber{98, 0}, root: "/mnt1", point: "/mnt/a b", fstype: "ext3", source: "/dev/root", options: "rw"},
			{number: deviceNumber{0, 45}, root: "/", point: "/x", fstype: "tmpfs", source: "none", options: "rw"},
		},
	}, "36 35 98:0 / /mnt rw\n", "36 35 98 / /mnt rw - ext3 /dev/root rw\n")
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
