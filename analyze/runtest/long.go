package runtest

import (
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/coreos/dbtester/pkg/metric"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/results/histogram"
	"github.com/coreos/dbtester/pkg/workload"
)

// Long adds a database with one closed step that has 100 clients, lasts that many seconds and is as
// noisy as a real one: about 500 requests per second, with latencies around base, and three members
// on separate machines. The same seed gives the same records.
func (f *Fixture) Long(tag string, seed uint64, seconds int, base time.Duration) *results.DatabaseRun {
	start := time.Unix(Begin, 0).UTC()
	end := start.Add(time.Duration(seconds) * time.Second)
	run := &results.DatabaseRun{
		ID: tag, Database: "etcd", Tag: tag, State: results.StateComplete, Setup: results.Setup{Fsync: "every write"}, Leader: 0,
		Load:    results.Load{Load: workload.Load{Content: workload.Content{Operation: "write"}, Extent: workload.Extent{Duration: end.Sub(start), Clients: 100, Connections: 100}, Sizing: workload.Sizing{KeySize: 256, ValueSize: 1024}, Limits: workload.Limits{Drain: 10 * time.Second}}},
		Moments: results.Moments{Started: start.Add(-5 * time.Second), Ready: start.Add(-time.Second), LoadStart: start, LoadEnd: end},
		Steps:   []results.Step{{Step: workload.Step{Clients: 100, Connections: 100}, Start: start, End: end, InsideNS: 100 * int64(end.Sub(start)) / 100 * 99}},
	}
	for i := range 3 {
		run.Members = append(run.Members, results.Member{
			Index: i, Addr: "10.0.0.1", Endpoint: "10.0.0.1:2379", Version: "3.6.16",
			Host: &results.Host{Name: string(rune('a' + i)), CPUs: 4, BootID: "boot-" + string(rune('a'+i)), NetNS: "net"},
			Disk: &results.Disk{ApparentBytes: 64_000_000, AllocatedBytes: 4_096_000, Filesystem: "ext4", FsyncP50: 400 * time.Microsecond},
		})
	}
	f.M.Databases = append(f.M.Databases, run)
	dir := filepath.Join(f.Dir, tag)
	f.Ok(os.MkdirAll(dir, 0o755))
	noise := rand.New(rand.NewPCG(seed, 1))
	f.longLoad(dir, run, noise, base)
	f.progress(dir, run)
	f.longMachines(dir, run, noise)
	return run
}

// longLoad writes the client records for a load without failures.
func (f *Fixture) longLoad(dir string, run *results.DatabaseRun, noise *rand.Rand, base time.Duration) {
	intervals, err := results.NewIntervalWriter(filepath.Join(dir, results.FileIntervals))
	f.Ok(err)
	defer intervals.Close()
	lines, err := histogram.NewLogWriter(filepath.Join(dir, results.FileLatency), run.LoadStart)
	f.Ok(err)
	defer lines.Close()
	minutes, err := results.NewMinuteLog(filepath.Join(dir, results.FileMinutes), run.LoadStart, lines)
	f.Ok(err)
	defer func() { f.Ok(minutes.Close()) }()
	totals, err := lines.Another(filepath.Join(dir, results.FileTotal), run.LoadStart)
	f.Ok(err)
	defer totals.Close()
	errors, err := results.NewErrorWriter(filepath.Join(dir, results.FileErrors))
	f.Ok(err)
	f.Ok(errors.Close())
	series := results.Series{Timing: results.TimingService, Operation: "write", Outcome: workload.OK, Phase: results.PhaseMeasure}
	total, second := histogram.New(), histogram.New()
	var t results.Totals
	for at := run.LoadStart; at.Before(run.LoadEnd); at = at.Add(time.Second) {
		row := results.Interval{Second: at.Unix(), Phase: results.PhaseMeasure, Operation: "write", Clients: 100}
		second.Reset()
		row.OK = 400 + noise.Int64N(200)
		for range row.OK {
			latency := time.Duration(float64(base) * math.Exp(noise.NormFloat64()*0.6))
			row.Service[workload.OK].Add(latency)
			histogram.Record(second, latency)
		}
		longPercentiles(&row.Service[workload.OK], second)
		total.Merge(second)
		row.Due, row.Sent = row.OK, row.OK
		t.OK += row.OK
		row.InFlight, row.KeysCumulative = 100, t.OK
		f.Ok(intervals.Write([]results.Interval{row}))
		f.Ok(lines.Write(at, time.Second, series.Tag(), second))
		f.Ok(minutes.Begin(at))
		minutes.Add(series, second)
	}
	f.Ok(totals.Write(run.LoadStart, run.LoadEnd.Sub(run.LoadStart), series.Tag(), total))
	t.Offered, t.Sent = t.OK, t.OK
	run.Totals = &t
	run.Keys = &results.Keys{After: t.OK, MinAdded: t.OK, MaxAdded: t.OK}
}

func longPercentiles(l *results.Latency, h *hdrhistogram.Histogram) {
	l.P50, l.P90, l.P99, l.P999 = h.ValueAtQuantile(50), h.ValueAtQuantile(90), h.ValueAtQuantile(99), h.ValueAtQuantile(99.9)
}

// longMachines writes one sample per second for the client and for each member, and the metrics
// that each member reports.
func (f *Fixture) longMachines(dir string, run *results.DatabaseRun, noise *rand.Rand) {
	events, err := results.NewEventWriter(filepath.Join(dir, results.FileEvents))
	f.Ok(err)
	f.Ok(events.Write(results.Event{Time: run.Started, Kind: "start", Member: -1}))
	f.Ok(events.Close())
	seconds := int64(run.LoadEnd.Sub(run.LoadStart) / time.Second)
	for n, name := range []string{results.FileClient, results.ServerFile(1), results.ServerFile(2), results.ServerFile(3)} {
		w, err := results.NewSampleWriter(filepath.Join(dir, name))
		f.Ok(err)
		cpu, written := 0.0, 0.0
		for i := int64(-3); i < seconds+3; i++ {
			s := FixtureSample(n, i, 0, min(i+3, 1)*1e9, time.Millisecond)
			busy := 0.5 + noise.Float64()
			cpu, written = cpu+busy, written+math.Floor(800*noise.Float64())
			s.Set(metric.CPUSeconds, cpu)
			s.Set(metric.CPUPercent, 100*busy)
			s.Set(metric.SectorsWritten, written)
			s.Set(metric.WriteBytes, written*512)
			f.Ok(w.Write(s))
		}
		f.Ok(w.Close())
		if n > 0 {
			f.longOwn(filepath.Join(dir, results.DatabaseFile(n)), seconds, noise)
		}
	}
}

// longOwn writes the numbers that a member reports about itself.
func (f *Fixture) longOwn(path string, seconds int64, noise *rand.Rand) {
	w, err := results.NewDatabaseSampleWriter(path)
	f.Ok(err)
	grown := 0.0
	for i := int64(-3); i < seconds; i++ {
		s := results.NewDatabaseSample()
		s.UnixNano, s.AskedNS, s.Bytes = (Begin+i)*1e9+5e8, 1e6, 100_000
		grown += math.Floor(500 * noise.Float64())
		for _, m := range metric.OfDatabase().Metrics() {
			if m.Kind == metric.Histogram {
				s.Histograms[m.Name] = longBuckets(grown)
				continue
			}
			if at, known := metric.OfDatabase().Index(m.Name); known {
				s.Values.SetAt(at, grown)
			}
		}
		f.Ok(w.Write(s))
	}
	f.Ok(w.Close())
}

// longBuckets has the bounds from etcd's histograms. Half the values lie below the first, half the
// others below the second, and so on.
func longBuckets(n float64) metric.Buckets {
	var b metric.Buckets
	for i := range 14 {
		b.Bounds = append(b.Bounds, 0.001*math.Exp2(float64(i)))
		b.Counts = append(b.Counts, math.Floor(n*(1-math.Exp2(-float64(i+1)))))
	}
	b.Bounds, b.Counts = append(b.Bounds, math.Inf(1)), append(b.Counts, n)
	return b
}
