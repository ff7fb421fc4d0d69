package judge

import (
	"net"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/coreos/dbtester/pkg/mark"
	"github.com/coreos/dbtester/pkg/metric"
	"github.com/coreos/dbtester/pkg/results"
)

func TestJudge(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		change func(*Evidence)
		// cpu are the client samples, one per second from the start of the load, in percent of one
		// processor.
		cpu  []float64
		want []results.Mark
	}{
		{name: "nothing to say"},
		{
			name:   "counts",
			change: func(e *Evidence) { e.Run.Totals.OK-- },
			want: []results.Mark{{Code: mark.Counts, Invalid: true,
				Text: "offered 1,000 does not equal ok 999 + failed 0 + unknown 0 + shed 0 + unsent 0"}},
		},
		{
			name:   "lost members",
			change: func(e *Evidence) { e.Lost[2] = "z"; e.Lost[0] = "a" },
			want: []results.Mark{
				{Code: mark.Lost, Invalid: true, Text: "member 1: a"}, {Code: mark.Lost, Invalid: true, Text: "member 3: z"},
			},
		},
		{
			name: "a member lost, as the load expects",
			change: func(e *Evidence) {
				e.Lost[1], e.Run.Load.Expect.LostServers = "killed", 1
				e.Steps = []Step{{Clients: 2, OK: 1000, Waiting: &Part{30 * time.Second, 100 * time.Second}}}
			},
			want: []results.Mark{
				{Code: mark.Expected, Text: "member 2 was lost: killed; the experiment expects to lose 1"},
				{Code: mark.Waiting, Text: "step 1, 2 clients: clients had no server for 30 % of their time: 30 s of 1.7 min (mark above 0.1 %)"},
			},
		},
		{
			name: "clients wait though no member is lost",
			change: func(e *Evidence) {
				e.Run.Load.Expect.LostServers = 1
				e.Steps = []Step{{Clients: 2, OK: 1000, Waiting: &Part{30 * time.Second, 100 * time.Second}}}
			},
			want: []results.Mark{
				{Code: mark.Waiting, Invalid: true, Text: "step 1, 2 clients: clients had no server for 30 % of their time: 30 s of 1.7 min (invalid above 5 %)"},
			},
		},
		{
			name: "more members lost than the load expects",
			change: func(e *Evidence) {
				e.Lost[2], e.Lost[0], e.Run.Load.Expect.LostServers = "z", "a", 1
			},
			want: []results.Mark{
				{Code: mark.Lost, Invalid: true, Text: "member 1: a"}, {Code: mark.Lost, Invalid: true, Text: "member 3: z"},
			},
		},
		{
			name:   "one wrong value",
			change: func(e *Evidence) { e.Wrong = 1 },
			want: []results.Mark{{Code: mark.WrongValue, Invalid: true,
				Text: "1 of 1,001 answers had a value that this load never wrote to the key"}},
		},
		{
			name:   "a library without a self-check",
			change: func(e *Evidence) { e.Library = "standard" },
			want: []results.Mark{{Code: mark.Library,
				Text: "requests may wait in queues of the client's library (standard), which no timer covers: for how long is not known; control --selfcheck auto measures it"}},
		},
		{
			name: "a library that adds a fifth",
			change: func(e *Evidence) {
				e.Library, e.Clients[0].SelfCheck = "standard", &results.LoadCheck{P50: results.Compared{N: 9, Measured: 2_400_000, True: 2_000_000}, P99: results.Compared{N: 9, Measured: 4_000_000, True: 3_000_000}}
				e.Steps = []Step{{OK: 1000, ClientDelay: &Part{0, 2 * time.Second}}}
			},
			want: []results.Mark{{Code: mark.Library,
				Text: "requests may wait in queues of the client's library (standard), which no timer covers: in the self-check this client added 400 µs at p50 and 1 ms at p99, while the mean response time in this load is 2 ms"}},
		},
		{
			name: "a library that adds a fortieth",
			change: func(e *Evidence) {
				e.Library, e.Clients[0].SelfCheck = "standard", &results.LoadCheck{P50: results.Compared{N: 9, Measured: 2_050_000, True: 2_000_000}}
				e.Steps = []Step{{OK: 1000, ClientDelay: &Part{0, 2 * time.Second}}}
			},
		},
		{
			name:   "too few keys",
			change: func(e *Evidence) { e.Run.Keys.After-- },
			want: []results.Mark{{Code: mark.Keys, Invalid: true,
				Text: "by the database's own count 999 keys were added, but the answers allow only 1,000 to 1,003"}},
		},
		{
			name:   "too many keys",
			change: func(e *Evidence) { e.Run.Keys.After += 4 },
			want: []results.Mark{{Code: mark.Keys, Invalid: true,
				Text: "by the database's own count 1,004 keys were added, but the answers allow only 1,000 to 1,003"}},
		},
		{name: "keys that may have been added", change: func(e *Evidence) { e.Run.Keys.After += 3 }},
		{
			name:   "keys not counted",
			change: func(e *Evidence) { e.Run.Keys.Error = "no answer" },
			want:   []results.Mark{{Code: mark.KeysUnknown, Text: "the keys could not be counted after the load: no answer"}},
		},
		{name: "no count of keys", change: func(e *Evidence) { e.Run.Keys = nil }},
		{
			name: "saturated client", cpu: []float64{390, 100, 350, 100, 100},
			want: []results.Mark{{Code: mark.Saturated, Invalid: true, Text: "this client used over 85 % of its 4 processors in 2 of 5 seconds"}},
		},
		{
			name: "a saturated client that may use a part of its processors", cpu: []float64{130, 120, 130},
			change: func(e *Evidence) { e.Clients[0].Host.CPUQuota = 1.5 },
			want:   []results.Mark{{Code: mark.Saturated, Invalid: true, Text: "this client used over 85 % of its 1.5 processors in 2 of 3 seconds"}},
		},
		{name: "busy for one second of ten", cpu: []float64{390, 1, 1, 1, 1, 1, 1, 1, 1, 1}},
		{name: "busy outside the load", cpu: []float64{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 400, 400, 400}},
		{
			name: "processors unknown", cpu: []float64{400, 400},
			change: func(e *Evidence) { e.Clients[0].Host.CPUs = 0 },
		},
		{
			name: "saturated client on a shared host", cpu: []float64{390, 390},
			change: func(e *Evidence) { e.Run.Members[1].Host.BootID = "client" },
			want: []results.Mark{
				{Code: mark.Saturated, Text: "this client used over 85 % of its 4 processors in 2 of 2 seconds"},
				{Code: mark.SharedHost, Text: "the client and at least one member share a machine: they compete for its processors, disk and network"},
			},
		},
		{
			name: "not durable",
			change: func(e *Evidence) {
				e.Disks[0].Filesystem, e.Disks[1].Filesystem, e.Disks[2].FsyncP50 = "ramfs", "overlay", 19*time.Microsecond
			},
			want: []results.Mark{
				{Code: mark.NotDurable, Text: "member 1 keeps its data on ramfs"},
				{Code: mark.NotDurable, Text: "member 2 keeps its data on overlay"},
				{Code: mark.NotDurable, Text: "member 3: an fdatasync takes 19 µs, which is faster than any real disk"},
			},
		},
		{name: "a disk not probed", change: func(e *Evidence) { e.Disks[0].FsyncP50 = 0 }},
		{
			name:   "clock",
			change: func(e *Evidence) { e.Run.Members[1].Clock.Error = 101 * time.Millisecond },
			want:   []results.Mark{{Code: mark.Clock, Text: "member 2: its clock is known only to within 100 ms"}},
		},
		{
			name: "a clock that is off",
			change: func(e *Evidence) {
				e.Run.Members[0].Clock.Offset = -51 * time.Millisecond
				e.Run.Members[2].Clock.Furthest = 60 * time.Millisecond
			},
			want: []results.Mark{
				{Code: mark.Clock, Text: "member 1: its clock was off by 51 ms, give or take 1 ms (mark above 50 ms): the times of its samples and logs are corrected, its own records are not"},
				{Code: mark.Clock, Text: "member 3: its clock was off by 60 ms, give or take 1 ms (mark above 50 ms): the times of its samples and logs are corrected, its own records are not"},
			},
		},
		{
			name:   "a clock that moves",
			change: func(e *Evidence) { e.Run.Members[1].Clock.Moved = 11 * time.Millisecond },
			want:   []results.Mark{{Code: mark.Clock, Text: "member 2: its clock moved by at least 11 ms relative to the client's clock during the run (mark above 10 ms)"}},
		},
		{
			name: "clocks just within the bounds",
			change: func(e *Evidence) {
				*e.Run.Members[1].Clock = results.Clock{Offset: 50 * time.Millisecond, Error: 100 * time.Millisecond, Moved: 10 * time.Millisecond, Furthest: 50 * time.Millisecond}
			},
		},
		{
			name: "nothing was loaded",
			change: func(e *Evidence) {
				e.Run.Totals, e.Run.Keys = nil, &results.Keys{Before: 5}
				e.Run.Members[1].Clock.Error = time.Second
				e.Lost[1] = "gone"
			},
			want: []results.Mark{
				{Code: mark.Lost, Invalid: true, Text: "member 2: gone"}, {Code: mark.Clock, Text: "member 2: its clock is known only to within 1 s"},
			},
		},
		{
			name: "nobody knows the members",
			change: func(e *Evidence) {
				for i := range e.Run.Members {
					e.Run.Members[i], e.Disks[i] = results.Member{Index: i}, results.Disk{}
				}
			},
		},
		{
			name:   "the client has no /proc",
			change: func(e *Evidence) { e.Clients[0].Samples, e.Clients[0].Unsampled = nil, true },
			want:   []results.Mark{{Code: mark.Unsampled, Text: "the client's machine has no /proc: whether it used up its processors is not known"}},
		},
		{
			name: "invalid marks first",
			change: func(e *Evidence) {
				e.Run.Keys.Error = "no answer"
				e.Run.Totals.Failed++
			},
			want: []results.Mark{
				{Code: mark.Counts, Invalid: true, Text: "offered 1,000 does not equal ok 1,000 + failed 1 + unknown 0 + shed 0 + unsent 0"},
				{Code: mark.KeysUnknown, Text: "the keys could not be counted after the load: no answer"},
			},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			e := goodRun()
			e.Clients[0].Samples = samples(e.Run.LoadStart, tc.cpu)
			if tc.change != nil {
				tc.change(&e)
			}
			got := plainMarks(e)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("marks (-want +got):\n%s", diff)
			}
		})
	}
}

// plainMarks returns the marks with only their texts. Each text must agree with its values.
func plainMarks(e Evidence) []results.Mark {
	marks := Marks(e)
	for i, m := range marks {
		if len(m.Values)+len(m.Words) > 0 && mark.Text(m.Code, m.Values, m.Words) != m.Text {
			panic("the text of " + m.Code + " is not made of its values")
		}
		marks[i].Values, marks[i].Words = nil, nil
	}
	return marks
}

// goodRun returns the evidence on a ten-second run with three members that deserves no mark.
func goodRun() Evidence {
	start := time.Unix(1_700_000_000, 0)
	e := Evidence{
		Clients: []Client{{Host: results.Host{CPUs: 4, BootID: "client"}}},
		Drain:   2 * time.Second,
		Lost:    make([]string, 3),
		Run: &results.DatabaseRun{
			Moments: results.Moments{LoadStart: start, LoadEnd: start.Add(10 * time.Second)},
			Totals:  &results.Totals{Offered: 1000, Sent: 1000, OK: 1000},
			Steps:   []results.Step{{}},
			Data:    results.Data{Keys: &results.Keys{Before: 7, After: 1007, MinAdded: 1000, MaxAdded: 1003}},
		},
	}
	for i := range 3 {
		e.Run.Members = append(e.Run.Members, results.Member{
			Index: i, Host: &results.Host{BootID: "server"}, Clock: &results.Clock{N: 1, Error: time.Millisecond},
		})
		e.Disks = append(e.Disks, results.Disk{Filesystem: "ext4", FsyncP50: time.Millisecond})
	}
	return e
}

// samples returns client samples, half a second past each second. The first has no period, because
// nothing was before it.
func samples(start time.Time, percent []float64) []results.Sample {
	list := []results.Sample{{UnixNano: start.Add(time.Millisecond).UnixNano(), Values: cpuPercent(400)}}
	for i, p := range percent {
		at := start.Add(time.Duration(i)*time.Second + time.Second/2)
		list = append(list, results.Sample{UnixNano: at.UnixNano(), PeriodNS: 1e9, Values: cpuPercent(p)})
	}
	return list
}

// The evidence stays unchanged: its own marks are kept before others with the same weight.
func TestMarksKeepsEvidence(t *testing.T) {
	t.Parallel()
	e := goodRun()
	e.Run.Validity = []results.Mark{{Code: mark.Profiled, Text: "one"}, {Code: "x", Invalid: true}}
	want := []results.Mark{{Code: "x", Invalid: true}, {Code: mark.Profiled, Text: "one"}}
	if diff := cmp.Diff(want, plainMarks(e)); diff != "" {
		t.Errorf("marks (-want +got):\n%s", diff)
	}
	if e.Run.Validity[0].Code != mark.Profiled {
		t.Errorf("the evidence now begins with %+v: Marks changed it", e.Run.Validity[0])
	}
}

// Members without agents share the client machine if they have an address there.
func TestSharedHostByAddress(t *testing.T) {
	t.Parallel()
	for addr, want := range map[string]bool{
		"127.0.0.1": true, "127.3.2.1": true, "::1": true, "localhost": true, "10.0.0.7": true, "fe80::7": true,
		"10.0.0.8": false, "db.example.com": false,
	} {
		e := goodRun()
		e.Clients[0].Addrs = []net.IP{net.ParseIP("10.0.0.7"), net.ParseIP("fe80::7")}
		e.Run.Members[1] = results.Member{Index: 1, Addr: addr}
		if got := len(plainMarks(e)) == 1; got != want {
			t.Errorf("a member at %s is on a shared host: %v, want %v", addr, got, want)
		}
	}
}

// cpuPercent returns sample values in which only the CPU share matters.
func cpuPercent(percent float64) metric.Values {
	return metric.SystemValues(map[metric.Name]float64{metric.CPUPercent: percent})
}
