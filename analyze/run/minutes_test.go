package run

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/results/histogram"
	"github.com/coreos/dbtester/pkg/sleep/slowtest"
	"github.com/coreos/dbtester/pkg/workload"
)

// twoHours writes latencies for two one-hour steps, whose windows begin within a second, and
// returns the record and the rows.
func twoHours(t *testing.T, dir string) (*results.DatabaseRun, []results.Interval) {
	t.Helper()
	start := time.Unix(1_800_000_017, 6e8).UTC()
	record := &results.DatabaseRun{Load: results.Load{Load: workload.Load{Limits: workload.Limits{WarmUp: 7300 * time.Millisecond}}}}
	seconds, err := histogram.NewLogWriter(filepath.Join(dir, results.FileLatency), start)
	if err != nil {
		t.Fatalf("open the log by second: %v", err)
	}
	minutes, err := results.NewMinuteLog(filepath.Join(dir, results.FileMinutes), start, seconds)
	if err != nil {
		t.Fatalf("open the log by minute: %v", err)
	}
	draw, h := rand.New(rand.NewPCG(1, 7)), histogram.New()
	var rows []results.Interval
	for step := range 2 {
		from := start.Add(time.Duration(step) * 3601700 * time.Millisecond)
		to := from.Add(time.Hour)
		record.Steps = append(record.Steps, results.Step{Index: step, Step: workload.Step{Clients: 10}, Start: from, End: to})
		for at := from.Truncate(time.Second); at.Before(to); at = at.Add(time.Second) {
			if err := minutes.Begin(at); err != nil {
				t.Fatalf("begin a second: %v", err)
			}
			s := results.Series{Timing: results.TimingService, Operation: "write", Outcome: workload.OK, Step: step, Phase: results.PhaseMeasure}
			if at.Before(from.Add(record.Load.WarmUp).Truncate(time.Second)) {
				s.Phase = results.PhaseWarmUp
			}
			row := results.Interval{Second: at.Unix(), Step: step, Phase: s.Phase, Operation: "write", Clients: 10}
			h.Reset()
			for range 10 + draw.IntN(10) {
				took := time.Duration(draw.Int64N(1e8))
				row.Latency(s.Timing, workload.OK).Add(took)
				histogram.Record(h, took)
			}
			rows = append(rows, row)
			if err := seconds.Write(at, time.Second, s.Tag(), h); err != nil {
				t.Fatalf("write: %v", err)
			}
			minutes.Add(s, h)
		}
		if err := minutes.Flush(); err != nil {
			t.Fatalf("end a step: %v", err)
		}
	}
	if err := minutes.Close(); err != nil {
		t.Fatalf("close the log by minute: %v", err)
	}
	if err := seconds.Close(); err != nil {
		t.Fatalf("close the log by second: %v", err)
	}
	return record, rows
}

// The log by minute gives the same heat map and minutes as the log by second, which is then not
// read. Where the log by minute lacks requests, is cut or missing, the log by second is read.
func TestLatenciesByMinute(t *testing.T) {
	slowtest.Skip(t)
	dir := t.TempDir()
	record, rows := twoHours(t, dir)
	load := Span{record.Steps[0].Start.UnixNano(), record.Steps[1].End.UnixNano()}
	type latencies struct {
		Heat   Heat
		Ageing Ageing
		Gaps   []string
	}
	read := func() (got latencies) {
		got.Ageing = newAgeing(record)
		var gaps Gaps
		got.Heat = readHeat(dir, rows, record, load, floorDiv(load.From, 1e9), &got.Ageing, &gaps)
		got.Gaps = gaps.List
		return got
	}
	seconds, minutes := filepath.Join(dir, results.FileLatency), filepath.Join(dir, results.FileMinutes)
	move := func(from, to string) {
		t.Helper()
		if err := os.Rename(from, to); err != nil {
			t.Fatalf("move a log: %v", err)
		}
	}
	move(minutes, minutes+".away")
	want := read()
	if len(want.Gaps) > 0 || want.Heat.Seconds < 60 || len(want.Heat.Bins) < 50 || len(want.Ageing.Steps) != 2 || want.Ageing.Steps[1].Requests[30] == 0 {
		t.Fatalf("the log by second has gaps %v, %d bins of %d s and %d steps", want.Gaps, len(want.Heat.Bins), want.Heat.Seconds, len(want.Ageing.Steps))
	}
	same := func(what string) {
		t.Helper()
		if diff := cmp.Diff(want, read(), cmpopts.EquateNaNs()); diff != "" {
			t.Errorf("%s (-by second +got):\n%s", what, diff)
		}
	}
	move(minutes+".away", minutes)
	move(seconds, seconds+".away")
	same("the log by minute alone")
	move(seconds+".away", seconds)
	whole, err := os.ReadFile(minutes)
	if err != nil {
		t.Fatalf("read the log by minute: %v", err)
	}
	for _, n := range []int{len(whole) - 1, len(whole) / 2, 0} {
		if err := os.WriteFile(minutes, whole[:n], 0o644); err != nil {
			t.Fatalf("cut the log by minute: %v", err)
		}
		same("a log by minute that was cut")
	}
	if err := os.WriteFile(minutes, whole, 0o644); err != nil {
		t.Fatalf("write the log by minute: %v", err)
	}
	rows[5000].Latency(results.TimingService, workload.OK).Count++
	if got := read(); len(got.Gaps) != 1 {
		t.Errorf("rows with a request that no log has give the gaps %v, want one", got.Gaps)
	}
}
