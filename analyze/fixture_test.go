package analyze

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/coreos/dbtester/pkg/results"
)

// begin is the unix second in which every load of the fixture starts, half a
// second in.
const begin = 1_800_000_000

// fixture is a result folder being made.
type fixture struct {
	t   *testing.T
	dir string
	m   *results.Manifest
	// rate, if not 0, makes databases that waited 1 ms for a client before each
	// request, and left 100 of the first step's unsent.
	rate float64
}

func newFixture(t *testing.T, dir string) *fixture {
	t.Helper()
	at := time.Unix(begin-10, 0).UTC()
	return &fixture{t: t, dir: dir, m: &results.Manifest{
		State: results.StateComplete, Title: "Write 6K keys", Description: "A synthetic run.", Started: at, Ended: at.Add(time.Minute),
		RunID: "00112233445566778899aabbccddeeff", Seed: 7, Trial: 1, Trials: 1,
		Tool:   results.Tool{Version: "v1.0.0", Go: "go1.26"},
		Client: results.Host{Name: "client", OS: "linux", Kernel: "6.1", CPUModel: "test", CPUs: 4, MemoryBytes: 8 << 30, BootID: "boot-1", NetNS: "net-1"},
	}}
}

func (f *fixture) ok(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

// write ends the fixture.
func (f *fixture) write() string {
	f.ok(os.MkdirAll(f.dir, 0o755))
	f.ok(os.WriteFile(filepath.Join(f.dir, results.FileManifest), []byte("{}"), 0o644))
	folder, err := results.Open(f.dir)
	f.ok(err)
	f.ok(folder.WriteManifest(f.m))
	return f.dir
}

// database adds a database of two steps: 10 clients for 4 s and 50 clients for
// 4 s, one request of every 100 failing. Latencies are base ms and up.
func (f *fixture) database(tag string, base time.Duration) *results.DatabaseRun {
	start := time.Unix(begin, 5e8).UTC()
	run := &results.DatabaseRun{
		ID: tag, Database: "etcd", Label: "v3_6", Tag: tag, State: results.StateComplete, Fsync: "every write",
		Load:   results.Load{Operation: "write", Requests: 6000, Clients: 10, Connections: 10, KeySize: 256, ValueSize: 1024, Rate: f.rate, Drain: 10 * time.Second},
		Leader: 1, Started: start.Add(-5 * time.Second), Ready: start.Add(-time.Second), LoadStart: start, LoadEnd: start.Add(8 * time.Second),
		Steps: []results.Step{
			{Index: 0, Clients: 10, Connections: 10, Start: start, End: start.Add(4 * time.Second), InsideNS: int64(39600 * time.Millisecond)},
			{Index: 1, Clients: 50, Connections: 10, Start: start.Add(4 * time.Second), End: start.Add(8 * time.Second), InsideNS: int64(180 * time.Second)},
		},
	}
	for i := range 2 {
		run.Members = append(run.Members, results.Member{
			Index: i, Addr: "127.0.0.1", Endpoint: "127.0.0.1:2379", Version: "3.6.16",
			Host:  &results.Host{Name: "one", CPUs: 4, BootID: "boot-1", NetNS: "net-1"},
			Clock: &results.Clock{Offset: 2 * time.Second, N: 8},
			Disk:  &results.Disk{ApparentBytes: 64_000_000, AllocatedBytes: 4_096_000, Filesystem: "ext4", FsyncP50: 400 * time.Microsecond},
		})
	}
	f.m.Databases = append(f.m.Databases, run)
	dir := filepath.Join(f.dir, tag)
	f.ok(os.MkdirAll(dir, 0o755))
	f.load(dir, run, base)
	f.machines(dir, base)
	return run
}

// load writes what the client recorded: nine seconds, of which the first and
// the last are half ones and the fifth belongs half to each step.
func (f *fixture) load(dir string, run *results.DatabaseRun, base time.Duration) {
	intervals, err := results.NewIntervalWriter(filepath.Join(dir, results.FileIntervals))
	f.ok(err)
	defer intervals.Close()
	totals, err := results.NewLatencyWriter(filepath.Join(dir, results.FileTotal), run.LoadStart)
	f.ok(err)
	defer totals.Close()
	lines, err := results.NewLatencyWriter(filepath.Join(dir, results.FileLatency), run.LoadStart)
	f.ok(err)
	defer lines.Close()
	errors, err := results.NewErrorWriter(filepath.Join(dir, results.FileErrors))
	f.ok(err)
	defer errors.Close()
	var t results.Totals
	for step, s := range run.Steps {
		ok, failed, response := results.NewHistogram(), results.NewHistogram(), results.NewHistogram()
		rate := []int{500, 1000}[step]
		for n := range 5 {
			count := rate
			if n == 0 || n == 4 {
				count /= 2
			}
			seconds := [2]*hdrhistogram.Histogram{results.NewHistogram(), results.NewHistogram()}
			row := f.interval(begin+int64(4*step+n), s, count, base, seconds, failed)
			for t, h := range seconds {
				[]*hdrhistogram.Histogram{response, ok}[t].Merge(h)
				series := results.Series{Timing: results.Timings[t], Operation: "write", Outcome: results.OK, Step: step, Phase: results.PhaseMeasure}
				f.ok(lines.Write(time.Unix(row.Second, 0), time.Second, series.Tag(), h))
			}
			if f.rate > 0 && step == 0 && n == 4 {
				row.Unsent = 100
				t.Unsent += 100
			}
			t.OK, t.Failed = t.OK+row.OK, t.Failed+row.Failed
			f.ok(intervals.Write([]results.Interval{row}))
			f.ok(errors.Write([]results.ErrorCount{{
				Second: row.Second, Step: step, Phase: results.PhaseMeasure, Operation: "write", Class: "throttled", Count: row.Failed,
				FirstText: "too many requests", FirstTime: time.Unix(row.Second, 0).UTC(),
			}}))
		}
		for series, h := range map[results.Series]*hdrhistogram.Histogram{
			{Timing: results.TimingService, Outcome: results.OK}:     ok,
			{Timing: results.TimingService, Outcome: results.Failed}: failed,
			{Timing: results.TimingResponse, Outcome: results.OK}:    response,
		} {
			series.Operation, series.Step, series.Phase = "write", step, results.PhaseMeasure
			f.ok(totals.Write(s.Start, s.End.Sub(s.Start), series.Tag(), h))
		}
	}
	t.Offered, t.Sent = t.OK+t.Failed+t.Unsent, t.OK+t.Failed
	run.Totals = &t
	run.Keys = &results.Keys{Before: 0, After: t.OK, MinAdded: t.OK, MaxAdded: t.OK}
}

// interval is one second of a step; seconds are the ok latencies by timing.
func (f *fixture) interval(unix int64, s results.Step, count int, base time.Duration, seconds [2]*hdrhistogram.Histogram, failed *hdrhistogram.Histogram) results.Interval {
	row := results.Interval{Second: unix, Step: s.Index, Phase: results.PhaseMeasure, Operation: "write", Clients: s.Clients}
	for i := range count {
		latency := base + time.Duration(i%100)*50*time.Microsecond
		if i%100 == 99 {
			row.Failed++
			row.Service[results.Failed].Add(latency)
			results.Record(failed, latency)
			continue
		}
		row.OK++
		row.Service[results.OK].Add(latency)
		results.Record(seconds[1], latency)
		if f.rate > 0 {
			row.Response[results.OK].Add(latency + time.Millisecond)
			results.Record(seconds[0], latency+time.Millisecond)
		}
	}
	row.Due, row.Sent = int64(count), int64(count)
	return row
}

// machines writes the samples of the client and of two members on one machine:
// they share a disk and an interface. The members' clock is 2 s ahead; the
// second one misses a sample in the third second of the load.
func (f *fixture) machines(dir string, base time.Duration) {
	for n, name := range []string{results.FileClient, results.ServerFile(1), results.ServerFile(2)} {
		w, err := results.NewSampleWriter(filepath.Join(dir, name))
		f.ok(err)
		ahead := int64(0)
		if n > 0 {
			ahead = 2e9
		}
		period := int64(0)
		for i := int64(-3); i <= 12; i++ {
			period += 1e9
			if n == 2 && i == 3 {
				continue // missed: the next sample spans two seconds
			}
			if i == -3 {
				period = 0
			}
			f.ok(w.Write(fixtureSample(n, i, ahead, period, base)))
			period = 0
		}
		f.ok(w.Close())
	}
}

// fixtureSample is the sample of machine n (0 the client), i seconds after the
// load's first one, at its end.
func fixtureSample(n int, i, ahead, period int64, base time.Duration) results.Sample {
	busy := 100 * float64(n+1)
	return results.Sample{
		UnixNano: begin*1e9 + (i+1)*1e9 - 1e6 + ahead, PeriodNS: period, Program: "etcd", State: "S", PID: 10 + n, PPID: 1,
		CPUSeconds: float64(i+4) * busy / 100, CPUPercent: busy + float64(i), RSSBytes: int64(n+1) << 24, RSSAnonBytes: int64(n+1) << 23, PeakRSSBytes: int64(n+1) << 25,
		VirtualBytes: 1 << 32, FDs: 10, Threads: 8, Processes: 1, VoluntarySwitches: (i + 4) * 1000, NonvoluntarySwitches: (i + 4) * 10,
		ReadBytes: 0, WriteBytes: (i + 4) * 1000 * int64(n) * int64(base/time.Millisecond), Load1: 1.5, Load5: 1, Load15: .5,
		Device: "vda", ReadsCompleted: (i + 4) * 2, SectorsRead: (i + 4) * 16, MillisReading: 1,
		WritesCompleted: (i + 4) * 100, SectorsWritten: (i + 4) * 800, MillisWriting: 5,
		Interface: "lo", ReceiveBytes: (i + 4) * 1_000_000, ReceivePackets: (i + 4) * 1000, TransmitBytes: (i + 4) * 1_000_000, TransmitPackets: (i + 4) * 1000,
		Clients: 10, BootID: "boot-1", NetNS: "net-1",
	}
}

// twoDatabases is the folder that most tests read.
func twoDatabases(t *testing.T) string {
	t.Helper()
	f := newFixture(t, filepath.Join(t.TempDir(), "run"))
	f.database("etcd-v3.6", 2*time.Millisecond)
	slow := f.database("slow-v3.6", 6*time.Millisecond)
	slow.Label, slow.Fsync = "v3_5", "none: never"
	slow.Load.ValueSize = 512
	slow.Keys.After -= 3
	slow.Validity = []results.Mark{{Code: "keys found", Invalid: true, Text: "3 keys are missing"}}
	f.m.Config = json.RawMessage(`{}`)
	return f.write()
}
