package metric

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// check parses good texts, each of which must give the readings next to it, and bad ones,
// each of which must give an error.
func check(t *testing.T, s Source, of string, good map[string][]Reading, bad ...string) {
	t.Helper()
	parse := func(text string) ([]Reading, error) {
		into := make([]Reading, len(s.Metrics))
		for i := range into {
			into[i].Value = Unknown
		}
		return into, s.Parse([]byte(text), of, into)
	}
	for text, want := range good {
		got, err := parse(text)
		if err != nil {
			t.Errorf("%.60q must parse, got %v", text, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%.60q gives wrong readings (-want +got):\n%s", text, diff)
		}
	}
	for _, text := range bad {
		if got, err := parse(text); err == nil {
			t.Errorf("%.60q must be an error, got %+v", text, got)
		}
	}
}

// values are readings without waited counts.
func values(v ...float64) (r []Reading) {
	for _, x := range v {
		r = append(r, Reading{Value: x})
	}
	return r
}

func TestCPUTime(t *testing.T) {
	const rest = " S 1 10 10 0 -1 4194560 1 2 3 4 100 23 1000 200 20 0 8 0 4242 1 2"
	want := []Reading{{Value: 123, Waited: 1200}}
	check(t, cpuTime(), "", map[string][]Reading{
		"10 (etcd)" + rest:         want,
		"10 (tmux: a) b)" + rest:   want,
		"10 (" + "\n" + ")" + rest: want,
	}, "", "10 etcd S 1", "10 (etcd) S 1 2 3", strings.Replace("10 (etcd)"+rest, " 100 ", " soon ", 1))
}

func TestRunDelay(t *testing.T) {
	check(t, runDelay(), "", map[string][]Reading{
		"2500000000 1500000000 12\n": values(1.5e9, 2.5e9, 1.5e9),
		"0 0 0\n":                    values(0, 0, 0),
	}, "", "1 2", "1 x 3", "x 1 3")
}

func TestHostCPU(t *testing.T) {
	check(t, hostCPU(), "", map[string][]Reading{
		"cpu  100 10 200 9999 9999 30 40 50 7 8\ncpu0 1 1 1 1 1 1 1 1 1 1\n": values(360),
		"cpu  1 1 1 9 9 1 1 1\nintr 5\n":                                     values(4),
	}, "", "intr 5\n", "cpu 1 2 3\n", "cpu  1 1 x 9 9 1 1 1\n")
}

func TestStatus(t *testing.T) {
	const text = "Name:\tetcd\nState:\tS (sleeping)\nPPid:\t1\nVmSize:\t  2048 kB\nVmHWM:\t 512 kB\nVmRSS:\t     29820 kB\nRssAnon:\t      16 kB\nThreads:\t8\n" +
		"voluntary_ctxt_switches:\t150\nnonvoluntary_ctxt_switches:\t7\n"
	const zombie = "State:\tZ (zombie)\nThreads:\t1\nvoluntary_ctxt_switches:\t1\nnonvoluntary_ctxt_switches:\t2\n"
	check(t, memory(), "", map[string][]Reading{
		text:   values(29820*1024, 16<<10, 512<<10, 2<<20, 8),
		zombie: values(Unknown, Unknown, Unknown, Unknown, 1),
		"":     values(Unknown, Unknown, Unknown, Unknown, Unknown),
	}, strings.Replace(text, "29820 kB", "29820 MB", 1), strings.Replace(text, "8\n", "many\n", 1))
	check(t, contextSwitches(), "", map[string][]Reading{text: values(150, 7), zombie: values(1, 2)},
		"", "State:\tS (sleeping)\n", strings.Replace(text, "150", "many", 1))
}

func TestDiskBytes(t *testing.T) {
	check(t, diskBytes(), "", map[string][]Reading{
		"rchar: 1\nwchar: 2\nsyscr: 3\nsyscw: 4\nread_bytes: 4096\nwrite_bytes: 8192\ncancelled_write_bytes: 5\n": values(4096, 8192),
	}, "", "read_bytes: 1\n", "read_bytes: x\nwrite_bytes: 1\n")
}

func TestDiskstats(t *testing.T) {
	const text = "   8       0 sda 1 2 3 4 5 6 7 8 9 10 11\n 259       1 nvme0n1p1 10 20 30 40 50 60 70 80 90 100 110 1 2 3 4 5 6\n"
	check(t, deviceCounters(), "sda", map[string][]Reading{text: values(1, 3, 4, 5, 7, 8, 10)}, "", "8 0 sda 1 2 3\n", "8 0 sda 1 2 x 4 5 6 7 8 9 10 11\n")
	check(t, deviceCounters(), "nvme0n1p1", map[string][]Reading{text: values(10, 30, 40, 50, 70, 80, 100)})
	check(t, deviceCounters(), "nvme0n1", nil, text)
	check(t, deviceCounters(), "vda", map[string][]Reading{"254 0 vda 1 2 3 4 5 6 7 8\n": values(1, 3, 4, 5, 7, 8, Unknown)})
}

func TestNetdev(t *testing.T) {
	const text = "Inter-|   Receive                                                |  Transmit\n" +
		" face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed\n" +
		"    lo:     100       1    0    0    0     0          0         0      200       2    0    0    0     0       0          0\n" +
		"eth0:1:300 3 0 0 0 0 0 0 400 4 0 0 0 0 0 0\n" +
		"  eth0:500 5 0 0 0 0 0 0 600 6 0 0 0 0 0 0\n"
	for name, want := range map[string][]Reading{"lo": values(100, 1, 200, 2), "eth0:1": values(300, 3, 400, 4), "eth0": values(500, 5, 600, 6)} {
		check(t, interfaceCounters(), name, map[string][]Reading{text: want})
	}
	for _, name := range []string{"eth", "eth1", ""} {
		check(t, interfaceCounters(), name, nil, text)
	}
	check(t, interfaceCounters(), "eth0", nil, "eth0: 1 2 3\n", "eth0: x 2 0 0 0 0 0 0 3 4\n")
}

func TestLoadAverage(t *testing.T) {
	check(t, loadAverage(), "", map[string][]Reading{"0.52 1.58 12.59 3/441 4242\n": values(0.52, 1.58, 12.59)}, "", "1 2", "a b c")
}

func TestHostWait(t *testing.T) {
	check(t, hostWait(), "", map[string][]Reading{
		"cpu  100 10 200 9999 777 30 40 50 7 8\ncpu0 1 1 1 1 1 1 1 1 1 1\n": values(50, 777),
	}, "", "intr 5\n", "cpu 1 2 3\n", "cpu  1 1 1 9 9 1 1 x\n")
}

func TestPressure(t *testing.T) {
	check(t, ioPressure(), "", map[string][]Reading{
		"some avg10=0.81 avg60=3.06 avg300=4.58 total=50783697\nfull avg10=0.13 avg60=1.56 avg300=2.36 total=30510047\n": values(50783697, 30510047),
		"some avg10=0.00 avg60=0.00 avg300=0.00 total=5\n":                                                               values(5, Unknown), // cpu before 5.13
	}, "", "some avg10=0.00\n", "some avg10=0.00 total=x\n", "full avg10=0.00 avg60=0.00 avg300=0.00 total=5\n")
}

func TestTCPCounters(t *testing.T) {
	const snmp = "Ip: Forwarding DefaultTTL\nIp: 1 64\nTcp: RtoMin OutSegs RetransSegs\nTcp: 200 1000 7\nUdp: NoPorts\nUdp: 1\n"
	check(t, tcpSegments(), "", map[string][]Reading{
		snmp:                                  values(1000, 7),
		"Tcp: RtoMin OutSegs\nTcp: 200 1000":  values(1000, Unknown),
		"Tcp: MaxConn OutSegs\nTcp: -1 1000 ": values(1000, Unknown),
	}, "", "Tcp: OutSegs RetransSegs\n", "Tcp: OutSegs RetransSegs\nTcp: 1\n", "Tcp: OutSegs\nTcp: 1 2\n", "Tcp: OutSegs\nTcp: x\n")
	check(t, tcpEvents(), "", map[string][]Reading{
		"TcpExt: ListenOverflows ListenDrops TCPTimeouts\nTcpExt: 1 2 3\nIpExt: A\nIpExt: 1\n": values(3, 2),
	}, snmp)
}

func TestTCPQueues(t *testing.T) {
	for line, want := range map[string][]Reading{
		"  sl  local_address rem_address   st tx_queue rx_queue tr": values(0, 0),
		"": values(0, 0),
		"   1: 0100007F:094B 0100007F:AD18 01 00000400:00000020 01:00000014": values(1024, 32),
		"   0: 0100007F:094B 00000000:0000 0A 00000000:00000003 00:00000000": values(0, 0),
	} {
		into := make([]Reading, 2)
		if err := addQueues([]byte(line), into); err != nil || !cmp.Equal(into, want) {
			t.Errorf("%q must give %v, got %v and %v", line, want, into, err)
		}
	}
	for _, line := range []string{"1:", "1: a b 01 12", "1: a b 01 x:1", "1: a b 01 1:fffffffff"} {
		if err := addQueues([]byte(line), make([]Reading, 2)); err == nil {
			t.Errorf("%q must be an error", line)
		}
	}
}

func TestControlGroup(t *testing.T) {
	check(t, groupCPU(), "", map[string][]Reading{
		"usage_usec 1\nnr_periods 9\nnr_throttled 7\nthrottled_usec 250000\n": values(.25, 7),
		"nr_periods 9\nnr_throttled 7\nthrottled_time 250000000\n":            values(.25, 7),
		"usage_usec 1\nuser_usec 1\n":                                         values(Unknown, Unknown),
	}, "nr_throttled x\n", "throttled_usec\nthrottled_time x\n")
	check(t, groupMemory(), "", map[string][]Reading{"4096\n": values(4096)}, "", "max\n")
	check(t, groupMemoryLimit(), "", map[string][]Reading{
		"low 0\nhigh 2\nmax 31\noom 0\n": values(31),
		"12\n":                           values(12),
	}, "", "x\n", "low 0\n", "max x\n")
}
