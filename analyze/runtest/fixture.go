// Package runtest makes synthetic result folders for tests in analyze.
package runtest

import "github.com/coreos/dbtester/pkg/results/histogram"

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/coreos/dbtester/pkg/metric"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/workload"
)

// Begin is the unix second in whose middle every load in the fixture starts.
const Begin = 1_800_000_000

// Fixture is a result folder being made.
type Fixture struct {
	t   testing.TB
	Dir string
	M   *results.Manifest
	// Rate, if not 0, makes databases that waited 1 ms for a client before each request, and left
	// 100 requests in the first step unsent.
	Rate float64
	// Alike makes databases whose steps both have 10 clients, so their numbers cover the
	// whole load.
	Alike bool
}

func NewFixture(t testing.TB, dir string) *Fixture {
	t.Helper()
	at := time.Unix(Begin-10, 0).UTC()
	return &Fixture{t: t, Dir: dir, M: &results.Manifest{
		State: results.StateComplete, Title: "Write 6K keys", Description: "A synthetic run.", Started: at, Ended: at.Add(time.Minute),
		RunID: "00112233445566778899aabbccddeeff", Seed: 7, Trial: 1, Trials: 1,
		Tool:   results.Tool{Version: "v1.0.0", Go: "go1.26"},
		Client: results.Host{Name: "client", OS: "linux", Kernel: "6.1", CPUModel: "test", CPUs: 4, MemoryBytes: 8 << 30, BootID: "boot-1", NetNS: "net-1"},
	}}
}

func (f *Fixture) Ok(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

// Write ends the fixture.
func (f *Fixture) Write() string {
	f.Ok(os.MkdirAll(f.Dir, 0o755))
	f.Ok(os.WriteFile(filepath.Join(f.Dir, results.FileManifest), []byte("{}"), 0o644))
	folder, err := results.Open(f.Dir)
	f.Ok(err)
	f.Ok(folder.WriteManifest(f.M))
	return f.Dir
}

// Database adds a database with two steps: 10 clients for 4 s and 50 clients for 4 s, where one
// request in 100 fails. Latencies are base ms and up.
func (f *Fixture) Database(tag string, base time.Duration) *results.DatabaseRun {
	start := time.Unix(Begin, 5e8).UTC()
	run := &results.DatabaseRun{
		ID: tag, Database: "etcd", Label: "v3_6", Tag: tag, State: results.StateComplete, Setup: results.Setup{Fsync: "every write"},
		Load:   results.Load{Load: workload.Load{Content: workload.Content{Operation: "write"}, Extent: workload.Extent{Requests: 6000, Clients: 10, Connections: 10}, Sizing: workload.Sizing{KeySize: 256, ValueSize: 1024}, Pace: workload.Pace{Rate: f.Rate}, Limits: workload.Limits{Drain: 10 * time.Second}}},
		Leader: 1, Moments: results.Moments{Started: start.Add(-5 * time.Second), Ready: start.Add(-time.Second), LoadStart: start, LoadEnd: start.Add(8 * time.Second)},
		Steps: []results.Step{
			{Index: 0, Step: workload.Step{Clients: 10, Connections: 10}, Start: start, End: start.Add(4 * time.Second), InsideNS: int64(39600 * time.Millisecond)},
			{Index: 1, Step: workload.Step{Clients: 50, Connections: 10}, Start: start.Add(4 * time.Second), End: start.Add(8 * time.Second), InsideNS: int64(180 * time.Second)},
		},
	}
	if f.Alike {
		run.Steps[1].Clients = run.Steps[0].Clients
	}
	for i := range 2 {
		run.Members = append(run.Members, results.Member{
			Index: i, Addr: "127.0.0.1", Endpoint: "127.0.0.1:2379", Version: "3.6.16",
			Host:  &results.Host{Name: "one", CPUs: 4, BootID: "boot-1", NetNS: "net-1"},
			Clock: &results.Clock{Offset: 2 * time.Second, N: 8},
			Disk:  &results.Disk{ApparentBytes: 64_000_000, AllocatedBytes: 4_096_000, Filesystem: "ext4", FsyncP50: 400 * time.Microsecond},
		})
	}
	f.M.Databases = append(f.M.Databases, run)
	dir := filepath.Join(f.Dir, tag)
	f.Ok(os.MkdirAll(dir, 0o755))
	f.load(dir, run, base)
	f.progress(dir, run)
	f.places(dir, run)
	f.machines(dir, base)
	return run
}

// load writes the client records: nine seconds. The first and the last are half seconds, and the
// fifth belongs half to each step.
func (f *Fixture) load(dir string, run *results.DatabaseRun, base time.Duration) {
	intervals, err := results.NewIntervalWriter(filepath.Join(dir, results.FileIntervals))
	f.Ok(err)
	defer intervals.Close()
	totals, err := histogram.NewLogWriter(filepath.Join(dir, results.FileTotal), run.LoadStart)
	f.Ok(err)
	defer totals.Close()
	lines, err := histogram.NewLogWriter(filepath.Join(dir, results.FileLatency), run.LoadStart)
	f.Ok(err)
	defer lines.Close()
	errors, err := results.NewErrorWriter(filepath.Join(dir, results.FileErrors))
	f.Ok(err)
	defer errors.Close()
	var t results.Totals
	for step, s := range run.Steps {
		ok, failed, response := histogram.New(), histogram.New(), histogram.New()
		rate := []int{500, 1000}[step]
		for n := range 5 {
			count := rate
			if n == 0 || n == 4 {
				count /= 2
			}
			seconds := [2]*hdrhistogram.Histogram{histogram.New(), histogram.New()}
			row := f.interval(Begin+int64(4*step+n), s, count, base, seconds, failed)
			for t, h := range seconds {
				[]*hdrhistogram.Histogram{response, ok}[t].Merge(h)
				series := results.Series{Timing: results.Timings[t], Operation: "write", Outcome: workload.OK, Step: step, Phase: results.PhaseMeasure}
				f.Ok(lines.Write(time.Unix(row.Second, 0), time.Second, series.Tag(), h))
			}
			if f.Rate > 0 && step == 0 && n == 4 {
				row.Unsent = 100
				t.Unsent += 100
			}
			t.OK, t.Failed = t.OK+row.OK, t.Failed+row.Failed
			f.Ok(intervals.Write([]results.Interval{row}))
			f.Ok(errors.Write([]results.ErrorCount{{
				Second: row.Second, Step: step, Phase: results.PhaseMeasure, Operation: "write", Class: "throttled", Count: row.Failed,
				FirstText: "too many requests", FirstTime: time.Unix(row.Second, 0).UTC(),
			}}))
		}
		for series, h := range map[results.Series]*hdrhistogram.Histogram{
			{Timing: results.TimingService, Outcome: workload.OK}:     ok,
			{Timing: results.TimingService, Outcome: workload.Failed}: failed,
			{Timing: results.TimingResponse, Outcome: workload.OK}:    response,
		} {
			series.Operation, series.Step, series.Phase = "write", step, results.PhaseMeasure
			f.Ok(totals.Write(s.Start, s.End.Sub(s.Start), series.Tag(), h))
		}
	}
	t.Offered, t.Sent = t.OK+t.Failed+t.Unsent, t.OK+t.Failed
	run.Totals = &t
	run.Keys = &results.Keys{Before: 0, After: t.OK, MinAdded: t.OK, MaxAdded: t.OK}
}

// interval is one second in a step; seconds are the ok latencies by timing.
func (f *Fixture) interval(unix int64, s results.Step, count int, base time.Duration, seconds [2]*hdrhistogram.Histogram, failed *hdrhistogram.Histogram) results.Interval {
	row := results.Interval{Second: unix, Step: s.Index, Phase: results.PhaseMeasure, Operation: "write", Clients: s.Clients}
	for i := range count {
		latency := base + time.Duration(i%100)*50*time.Microsecond
		if i%100 == 99 {
			row.Failed++
			row.Service[workload.Failed].Add(latency)
			histogram.Record(failed, latency)
			continue
		}
		row.OK++
		row.Service[workload.OK].Add(latency)
		histogram.Record(seconds[1], latency)
		if f.Rate > 0 {
			row.Response[workload.OK].Add(latency + time.Millisecond)
			histogram.Record(seconds[0], latency+time.Millisecond)
		}
	}
	row.Due, row.Sent = int64(count), int64(count)
	return row
}

// machines writes samples for the client and for two members on one machine: they share a disk and
// an interface. The members' clock is 2 s ahead; the second one misses a sample in the third second
// of the load.
func (f *Fixture) machines(dir string, base time.Duration) {
	events, err := results.NewEventWriter(filepath.Join(dir, results.FileEvents))
	f.Ok(err)
	f.Ok(events.Write(results.Event{Time: time.Unix(Begin-5, 0).UTC(), Kind: "start", Member: -1}))
	f.Ok(events.Close())
	for n, name := range []string{results.FileClient, results.ServerFile(1), results.ServerFile(2)} {
		w, err := results.NewSampleWriter(filepath.Join(dir, name))
		f.Ok(err)
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
			f.Ok(w.Write(FixtureSample(n, i, ahead, period, base)))
			period = 0
		}
		f.Ok(w.Close())
	}
}

// FixtureSample is the sample for machine n (0 the client), i seconds after the load's first one,
// at its end.
func FixtureSample(n int, i, ahead, period int64, base time.Duration) results.Sample {
	busy, k := 100*float64(n+1), float64(i+4)
	return results.Sample{
		UnixNano: Begin*1e9 + (i+1)*1e9 - 1e6 + ahead, PeriodNS: period, Program: "etcd", State: "S", PID: 10 + n, PPID: 1,
		Device: "vda", Interface: "lo", BootID: "boot-1", NetNS: "net-1",
		Values: metric.SystemValues(map[metric.Name]float64{
			metric.CPUSeconds: k * busy / 100, metric.CPUPercent: busy + float64(i),
			metric.RSSBytes: float64(n+1) * (1 << 24), metric.RSSAnonBytes: float64(n+1) * (1 << 23), metric.PeakRSSBytes: float64(n+1) * (1 << 25),
			metric.VirtualBytes: 1 << 32, metric.FDs: 10, metric.Threads: 8, metric.Processes: 1, metric.VoluntarySwitches: k * 1000, metric.NonvoluntarySwitches: k * 10,
			metric.ReadBytes: 0, metric.WriteBytes: k * 1000 * float64(n) * float64(base/time.Millisecond), metric.Load1: 1.5, metric.Load5: 1, metric.Load15: .5,
			metric.ReadsCompleted: k * 2, metric.SectorsRead: k * 16, metric.MillisReading: 1,
			metric.WritesCompleted: k * 100, metric.SectorsWritten: k * 800, metric.MillisWriting: 5,
			metric.ReceiveBytes: k * 1_000_000, metric.ReceivePackets: k * 1000, metric.TransmitBytes: k * 1_000_000, metric.TransmitPackets: k * 1000,
			metric.Clients: 10,
		}),
	}
}

// TwoDatabases makes the folder that most tests read.
func TwoDatabases(t testing.TB) string {
	t.Helper()
	f := NewFixture(t, filepath.Join(t.TempDir(), "run"))
	f.Database("etcd-v3.6", 2*time.Millisecond)
	slow := f.Database("slow-v3.6", 6*time.Millisecond)
	slow.Label, slow.Fsync = "v3_5", "none: never"
	slow.Load.ValueSize = 512
	slow.Keys.After -= 3
	slow.Validity = []results.Mark{{Code: "keys found", Invalid: true, Text: "3 keys are missing"}}
	f.M.Config = json.RawMessage(`{}`)
	return f.Write()
}

// Mixed adds a database with a mix: three reads to one update, due at two rates for two seconds
// each. One in ten updates in the second step failed, and the gauges are in the last row of each
// operation in a second, as a load writes them.
func (f *Fixture) Mixed(tag string) *results.DatabaseRun {
	start := time.Unix(Begin, 0).UTC()
	run := &results.DatabaseRun{
		ID: tag, Database: "etcd", Tag: tag, Built: "built-in", State: results.StateComplete, Leader: -1,
		Load: results.Load{
			Load: workload.Load{Content: workload.Content{Workload: "ycsb-b", Mix: []workload.Share{{Operation: "read", Weight: 3}, {Operation: "update", Weight: 1}}, Read: "linearizable"},
				Keyspace: workload.Keyspace{Keys: 2000, KeyLaw: "zipfian"},
				Extent:   workload.Extent{Duration: 4 * time.Second, Clients: 8, Connections: 4},
				Pace:     workload.Pace{Rate: 40, Arrival: "poisson"},
				Sizing:   workload.Sizing{KeySize: 32, ValueSize: 100, ValueSizeMax: 900},
				Limits:   workload.Limits{Drain: time.Second}},
		},
		Moments: results.Moments{LoadStart: start, LoadEnd: start.Add(4 * time.Second)},
		Steps: []results.Step{
			{Index: 0, Step: workload.Step{Clients: 8, Connections: 4, Rate: 40}, Start: start, End: start.Add(2 * time.Second)},
			{Index: 1, Step: workload.Step{Clients: 8, Connections: 4, Rate: 80}, Start: start.Add(2 * time.Second), End: start.Add(4 * time.Second)},
		},
		Issuing: results.Issuing{Lateness: &results.Spread{N: 240, P50: 60_000, P99: 2_100_000, P999: 3_000_000, Max: 3_500_000},
			SchedulingLag: &results.Spread{N: 400, P50: 50_000, P99: 1_250_000, Max: 9_000_000}},
		Setup: results.Setup{Options: []byte(`{"KeyParents": 100, "Below": {"Dir": "/srv/data", "Flags": ["--wal-dir=/srv/wal"]}}`)},
		Members: []results.Member{{Index: 0, Addr: "10.0.0.1", Release: &results.Release{
			Name: "etcd", Version: "3.6.16", Kind: "local", Source: "/home/somebody/etcd", Notes: []string{"not a release binary"},
		}}},
	}
	f.M.Databases = append(f.M.Databases, run)
	dir := filepath.Join(f.Dir, tag)
	f.Ok(os.MkdirAll(dir, 0o755))
	f.mixedRecords(dir, run)
	f.progress(dir, run)
	return run
}

// mixedRecords writes the client records for a mix: reads take 1 ms and updates 4 ms, after waiting
// 2 ms.
func (f *Fixture) mixedRecords(dir string, run *results.DatabaseRun) {
	intervals, err := results.NewIntervalWriter(filepath.Join(dir, results.FileIntervals))
	f.Ok(err)
	defer intervals.Close()
	errors, err := results.NewErrorWriter(filepath.Join(dir, results.FileErrors))
	f.Ok(err)
	defer errors.Close()
	lines, err := histogram.NewLogWriter(filepath.Join(dir, results.FileLatency), run.LoadStart)
	f.Ok(err)
	defer lines.Close()
	var t results.Totals
	for n := range int64(4) {
		step := int(n / 2)
		for o, op := range run.Load.Mix {
			row := results.Interval{Second: Begin + n, Step: step, Phase: results.PhaseMeasure, Operation: string(op.Operation), Clients: 8}
			row.Due = int64(op.Weight) * 10 * int64(step+1)
			row.Sent = row.Due
			if step == 1 && op.Operation == "update" {
				row.Failed = 2
				f.Ok(errors.Write([]results.ErrorCount{{Second: row.Second, Step: 1, Phase: row.Phase, Operation: "update", Class: "conflict", Count: 2, FirstText: "changed"}}))
			}
			row.OK = row.Sent - row.Failed
			row.Backlog, row.InFlight, row.KeysCumulative = n+int64(o), 2, 7*n
			took := []time.Duration{time.Millisecond, 4 * time.Millisecond}[o]
			response, service := histogram.New(), histogram.New()
			for range row.OK {
				row.Service[workload.OK].Add(took)
				row.Response[workload.OK].Add(took + 2*time.Millisecond)
				histogram.Record(service, took)
				histogram.Record(response, took+2*time.Millisecond)
			}
			f.Ok(intervals.Write([]results.Interval{row}))
			at := results.Series{Operation: string(op.Operation), Step: step, Phase: row.Phase}
			at.Timing = results.TimingResponse
			f.Ok(lines.Write(time.Unix(row.Second, 0), time.Second, at.Tag(), response))
			at.Timing = results.TimingService
			f.Ok(lines.Write(time.Unix(row.Second, 0), time.Second, at.Tag(), service))
			t.Offered, t.Sent, t.OK, t.Failed = t.Offered+row.Due, t.Sent+row.Sent, t.OK+row.OK, t.Failed+row.Failed
		}
	}
	run.Totals = &t
}

// Checked gives the fixture's client a self-check that kept rate requests per second, but neither
// 10 per second nor twice as many as rate.
func (f *Fixture) Checked(rate float64) *results.SelfCheck {
	f.M.SelfCheck = &results.SelfCheck{
		Date: time.Unix(Begin-3600, 0).UTC(), Tool: results.Tool{Version: "v1.0.0"}, Host: f.M.Client, Duration: 10 * time.Second,
		ServiceP99:  results.Compared{N: 999, Measured: 20_300_000, True: 20_100_000},
		ResponseP99: results.Compared{N: 10_000, Measured: 900_300_000, True: 900_100_000},
		HighestRate: rate, MissedRates: []float64{10, 2 * rate},
		TimerLateness: results.Spread{N: 1000, P99: 105_000}, ClientLateness: results.Spread{N: 1000, P99: 80_000},
	}
	return f.M.SelfCheck
}
