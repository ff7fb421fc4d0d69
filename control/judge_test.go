package control

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/results"
)

func TestJudge(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		change func(*conductor)
		// cpu are the client's samples, a second apart from the load's start, in
		// percent of one processor.
		cpu  []float64
		want []results.Mark
	}{
		{name: "nothing to say"},
		{
			name:   "counts",
			change: func(c *conductor) { c.run.Totals.OK-- },
			want: []results.Mark{{Code: markCounts, Invalid: true,
				Text: "offered 1000 is not ok 999 + failed 0 + unknown 0 + shed 0 + unsent 0"}},
		},
		{
			name:   "unsent",
			change: func(c *conductor) { c.run.Totals = &results.Totals{Offered: 1000, Sent: 990, OK: 990, Unsent: 10} },
			want:   []results.Mark{{Code: markUnsent, Invalid: true, Text: "10 of 1000 requests were due and not sent within 2s after the end"}},
		},
		{
			name:   "lost members",
			change: func(c *conductor) { c.beats.lost[2], c.beats.lost[0] = "z", "a" },
			want: []results.Mark{
				{Code: markLost, Invalid: true, Text: "member 1: a"}, {Code: markLost, Invalid: true, Text: "member 3: z"},
			},
		},
		{
			name:   "too few keys",
			change: func(c *conductor) { c.run.Keys.After-- },
			want: []results.Mark{{Code: markKeys, Invalid: true,
				Text: "999 keys were added by the database's own count, but ok 1000 <= added <= ok + unknown 1003 does not hold"}},
		},
		{
			name:   "too many keys",
			change: func(c *conductor) { c.run.Keys.After += 4 },
			want: []results.Mark{{Code: markKeys, Invalid: true,
				Text: "1004 keys were added by the database's own count, but ok 1000 <= added <= ok + unknown 1003 does not hold"}},
		},
		{name: "keys that may have been added", change: func(c *conductor) { c.run.Keys.After += 3 }},
		{
			name:   "keys not counted",
			change: func(c *conductor) { c.run.Keys.Error = "no answer" },
			want:   []results.Mark{{Code: markKeysUnknown, Text: "the keys could not be counted after the load: no answer"}},
		},
		{name: "no count of keys", change: func(c *conductor) { c.run.Keys = nil }},
		{
			name: "rate not sustained",
			change: func(c *conductor) {
				c.run.Steps[0].Rate = 100
				c.run.Totals.Queued = 11
			},
			want: []results.Mark{{Code: markRate, Text: "11 of 1000 requests found every client busy when they were due"}},
		},
		{
			name: "the client was late itself",
			change: func(c *conductor) {
				c.run.Steps[0].Rate = 100
				c.run.Totals.Queued, c.run.Totals.Late = 11, 11
			},
			want: []results.Mark{{Code: markSaturated, Invalid: true, Text: "11 of 1000 requests were sent late though a client was free"}},
		},
		{
			name: "a few behind",
			change: func(c *conductor) {
				c.run.Steps[0].Rate = 100
				c.run.Totals.Queued, c.run.Totals.Late = 10, 10
			},
		},
		{name: "queued in a closed loop", change: func(c *conductor) { c.run.Totals.Queued = 500 }},
		{
			name: "saturated client", cpu: []float64{390, 100, 350, 100, 100},
			want: []results.Mark{{Code: markSaturated, Invalid: true, Text: "this client used over 85 % of its 4 processors in 2 of 5 seconds"}},
		},
		{
			name: "a saturated client that may use a part of its processors", cpu: []float64{130, 120, 130},
			change: func(c *conductor) { c.client.CPUQuota = 1.5 },
			want:   []results.Mark{{Code: markSaturated, Invalid: true, Text: "this client used over 85 % of its 1.5 processors in 2 of 3 seconds"}},
		},
		{
			name: "late timers", change: lagging(1000, 200*time.Microsecond, 1_234_567),
			want: []results.Mark{{Code: markSaturated, Invalid: true,
				Text: "timers of this client fired 1.23ms late at p99 (n 1000): its latencies hold waiting for its own processors"}},
		},
		{name: "timers that may be late once in a hundred times", change: lagging(1000, 900*time.Microsecond, time.Millisecond)},
		{
			name: "late timers, too few to judge by", change: lagging(158, 200*time.Microsecond, 28_901*time.Microsecond),
			want: []results.Mark{{Code: markLag,
				Text: "timers of this client fired 28.9ms late at p99, but n 158 are too few to judge by: fewer than ten lie above it"}},
		},
		{
			name: "few timers, and half of them late", change: lagging(158, 2*time.Millisecond, 28_901*time.Microsecond),
			want: []results.Mark{{Code: markSaturated, Invalid: true,
				Text: "half of the timers of this client fired at least 2ms late (n 158): its latencies hold waiting for its own processors"}},
		},
		{
			name: "too few even for a median", change: lagging(19, 2*time.Millisecond, 3*time.Millisecond),
			want: []results.Mark{{Code: markLag,
				Text: "timers of this client fired 3ms late at p99, but n 19 are too few to judge by: fewer than ten lie above it"}},
		},
		{name: "busy for one second of ten", cpu: []float64{390, 1, 1, 1, 1, 1, 1, 1, 1, 1}},
		{name: "busy outside the load", cpu: []float64{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 400, 400, 400}},
		{
			name: "processors unknown", cpu: []float64{400, 400},
			change: func(c *conductor) { c.client.CPUs = 0 },
		},
		{
			name: "saturated client on a shared host", cpu: []float64{390, 390},
			change: func(c *conductor) { c.run.Members[1].Host.BootID = "client" },
			want: []results.Mark{
				{Code: markSaturated, Text: "this client used over 85 % of its 4 processors in 2 of 2 seconds"},
				{Code: markSharedHost, Text: "the client and at least one member share a machine: they compete for its processors, disk and network"},
			},
		},
		{
			name: "not durable",
			change: func(c *conductor) {
				c.disks[0].Filesystem, c.disks[1].Filesystem, c.disks[2].FsyncP50 = "tmpfs", "overlay", 19*time.Microsecond
			},
			want: []results.Mark{
				{Code: markNotDurable, Text: "member 1 keeps its data on tmpfs"},
				{Code: markNotDurable, Text: "member 2 keeps its data on overlay"},
				{Code: markNotDurable, Text: "member 3: an fdatasync takes 19µs, less than any disk needs"},
			},
		},
		{name: "a disk not probed", change: func(c *conductor) { c.disks[0].FsyncP50 = 0 }},
		{
			name:   "clock",
			change: func(c *conductor) { c.run.Members[1].Clock.Error = 101 * time.Millisecond },
			want:   []results.Mark{{Code: markClock, Text: "member 2: its clock is known to 101ms only"}},
		},
		{
			name: "nothing was loaded",
			change: func(c *conductor) {
				c.run.Totals, c.run.Keys = nil, &results.Keys{Before: 5}
				c.run.Members[1].Clock.Error = time.Second
				c.beats.lost[1] = "gone"
			},
			want: []results.Mark{
				{Code: markLost, Invalid: true, Text: "member 2: gone"}, {Code: markClock, Text: "member 2: its clock is known to 1s only"},
			},
		},
		{
			name: "nobody knows the members",
			change: func(c *conductor) {
				for i := range c.run.Members {
					c.run.Members[i], c.disks[i] = results.Member{Index: i}, results.Disk{}
				}
			},
		},
		{
			name: "invalid marks first",
			change: func(c *conductor) {
				c.run.Keys.Error = "no answer"
				c.run.Steps[0].Rate = 100
				c.run.Totals = &results.Totals{Offered: 1000, Sent: 980, OK: 980, Unsent: 20}
			},
			want: []results.Mark{
				{Code: markUnsent, Invalid: true, Text: "20 of 1000 requests were due and not sent within 2s after the end"},
				{Code: markKeysUnknown, Text: "the keys could not be counted after the load: no answer"},
				{Code: markRate, Text: "20 of 1000 requests found every client busy when they were due"},
			},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c := goodRun(t)
			writeCPU(t, c, tc.cpu)
			if tc.change != nil {
				tc.change(c)
			}
			c.judge()
			if diff := cmp.Diff(tc.want, c.run.Validity); diff != "" {
				t.Errorf("marks (-want +got):\n%s", diff)
			}
		})
	}
}

// lagging gives a run timers of the client that were late.
func lagging(n int64, p50, p99 time.Duration) func(*conductor) {
	return func(c *conductor) {
		c.run.SchedulingLag = &results.Spread{N: n, P50: int64(p50), P99: int64(p99), Max: int64(p99)}
	}
}

// goodRun is a run of ten seconds on three members of which there is nothing to
// say.
func goodRun(t *testing.T) *conductor {
	start := time.Unix(1_700_000_000, 0)
	c := &conductor{
		trialRun: &trialRun{client: results.Host{CPUs: 4, BootID: "client"}},
		db:       &config.Database{Load: config.Load{Drain: 2 * time.Second}},
		dir:      t.TempDir(),
		beats:    newHeartbeats(3, 1),
		run: &results.DatabaseRun{
			LoadStart: start, LoadEnd: start.Add(10 * time.Second),
			Totals: &results.Totals{Offered: 1000, Sent: 1000, OK: 1000},
			Steps:  []results.Step{{}},
			Keys:   &results.Keys{Before: 7, After: 1007, MinAdded: 1000, MaxAdded: 1003},
		},
	}
	for i := range 3 {
		c.run.Members = append(c.run.Members, results.Member{
			Index: i, Host: &results.Host{BootID: "server"}, Clock: &results.Clock{N: 1, Error: time.Millisecond},
		})
		c.disks = append(c.disks, results.Disk{Filesystem: "ext4", FsyncP50: time.Millisecond})
	}
	return c
}

// writeCPU writes the client's samples, a half second past each second. The
// first has no period: nothing was before it.
func writeCPU(t *testing.T, c *conductor, percent []float64) {
	t.Helper()
	w, err := results.NewSampleWriter(filepath.Join(c.dir, results.FileClient))
	if err != nil {
		t.Fatal(err)
	}
	first := results.Sample{UnixNano: c.run.LoadStart.Add(time.Millisecond).UnixNano(), CPUPercent: 400}
	if err := w.Write(first); err != nil {
		t.Fatal(err)
	}
	for i, p := range percent {
		at := c.run.LoadStart.Add(time.Duration(i)*time.Second + time.Second/2)
		if err := w.Write(results.Sample{UnixNano: at.UnixNano(), PeriodNS: 1e9, CPUPercent: p}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}
