package results

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/results/histogram"
	"github.com/coreos/dbtester/pkg/workload"
)

// BenchmarkDerive measures what the classic files cost after a load, in time and in memory: B/op is
// further memory in control.
func BenchmarkDerive(b *testing.B) {
	for _, seconds := range []int64{10, 100, 1000} {
		b.Run(fmt.Sprintf("seconds=%d", seconds), func(b *testing.B) {
			dir := b.TempDir()
			run := recordLoad(b, dir, seconds)
			b.ReportAllocs()
			for b.Loop() {
				if err := Derive(dir, run); err != nil {
					b.Fatalf("derive the classic files: %v", err)
				}
			}
		})
	}
}

// recordLoad writes the records for a closed loop some seconds long, at ten thousand requests a
// second.
func recordLoad(b *testing.B, dir string, seconds int64) *DatabaseRun {
	b.Helper()
	const perSecond = 10_000
	must := func(err error) {
		if err != nil {
			b.Fatal(err)
		}
	}
	intervals, err := NewIntervalWriter(filepath.Join(dir, FileIntervals))
	must(err)
	samples, err := NewSampleWriter(filepath.Join(dir, FileClient))
	must(err)
	total, err := histogram.NewLogWriter(filepath.Join(dir, FileTotal), epoch)
	must(err)
	h := histogram.New()
	for second := range seconds {
		row := Interval{Second: epoch.Unix() + second, Phase: PhaseMeasure, Operation: "write", Clients: 100, Due: perSecond, Sent: perSecond, OK: perSecond}
		for i := range int64(perSecond) {
			took := time.Duration(5e6 + (i*7919+second*104729)%20e6)
			row.Latency(TimingService, workload.OK).Add(took)
			histogram.Record(h, took)
		}
		must(intervals.Write([]Interval{row}))
		must(samples.Write(Sample{UnixNano: (epoch.Unix() + second) * 1e9, PeriodNS: 1e9}))
	}
	end := epoch.Add(time.Duration(seconds) * time.Second)
	must(total.Write(epoch, end.Sub(epoch), Series{Timing: TimingService, Operation: "write", Phase: PhaseMeasure}.Tag(), h))
	must(intervals.Close())
	must(samples.Close())
	must(total.Close())
	return &DatabaseRun{Moments: Moments{LoadStart: epoch, LoadEnd: end}, Steps: []Step{{Step: workload.Step{Clients: 100}, Start: epoch, End: end}}}
}
