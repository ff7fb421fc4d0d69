package results

import (
	"encoding/csv"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/coreos/dbtester/pkg/metric"
)

// classicColumns are the classic tool's, as its documentation lists them.
const classicColumns = "UNIX-NANOSECOND,UNIX-SECOND,PROGRAM,STATE,PID,PPID,CPU,VMRSS,VMSIZE,FD,THREADS,VOLUNTARY-CTXT-SWITCHES," +
	"NON-VOLUNTARY-CTXT-SWITCHES,CPU-NUM,VMRSS-NUM,VMSIZE-NUM,LOAD-AVERAGE-1-MINUTE,LOAD-AVERAGE-5-MINUTE,LOAD-AVERAGE-15-MINUTE," +
	"DEVICE,READS-COMPLETED,SECTORS-READ,TIME(READS),WRITES-COMPLETED,SECTORS-WRITTEN,TIME(WRITES),MILLISECONDS(READS)," +
	"MILLISECONDS(WRITES),INTERFACE,RECEIVE-BYTES,RECEIVE-PACKETS,TRANSMIT-BYTES,TRANSMIT-PACKETS,RECEIVE-BYTES-NUM," +
	"TRANSMIT-BYTES-NUM,READS-COMPLETED-DELTA,SECTORS-READ-DELTA,WRITES-COMPLETED-DELTA,SECTORS-WRITTEN-DELTA,READ-BYTES-DELTA," +
	"READ-MEGABYTES-DELTA,WRITE-BYTES-DELTA,WRITE-MEGABYTES-DELTA,RECEIVE-BYTES-DELTA,RECEIVE-PACKETS-DELTA,TRANSMIT-BYTES-DELTA," +
	"TRANSMIT-PACKETS-DELTA,RECEIVE-BYTES-NUM-DELTA,TRANSMIT-BYTES-NUM-DELTA,EXTRA"

const ourColumns = ",PERIOD-NANOSECOND,CPU-SECONDS,RSS-ANON-BYTES,PEAK-RSS-BYTES,PROCESSES,PROCESS-READ-BYTES,PROCESS-WRITE-BYTES," +
	"BOOT-ID,NETWORK-NAMESPACE"

// unset makes metrics in a sample unknown.
func unset(s *Sample, names ...metric.Name) {
	for _, n := range names {
		s.Set(n, metric.Unknown)
	}
}

// testSample returns the sample for a second, with every field and metric set.
func testSample(second int64) Sample {
	n := float64(second)
	return Sample{
		UnixNano: second*int64(time.Second) + 250_000_000, PeriodNS: 1_000_000_123,
		Program: "etcd", State: "S (sleeping)", PID: 20975, PPID: 20726,
		Device: "vda", Interface: "lo", BootID: "b-1", NetNS: "net:[4026531840]",
		Values: metric.SystemValues(map[metric.Name]float64{
			metric.CPUSeconds: 12.34 + n, metric.CPUPercent: 5.3,
			metric.RSSBytes: 30_535_680, metric.RSSAnonBytes: 20 << 20, metric.PeakRSSBytes: 31 << 20, metric.VirtualBytes: 11_048_411_136,
			metric.FDs: 256, metric.Threads: 8, metric.Processes: 1, metric.VoluntarySwitches: 100 * n, metric.NonvoluntarySwitches: 3 * n,
			metric.ReadBytes: 4096 * n, metric.WriteBytes: 8192 * n, metric.Load1: 17.64, metric.Load5: 11.66, metric.Load15: 5.62,
			metric.ReadsCompleted: 200 + n, metric.SectorsRead: 1000 + 8*n, metric.MillisReading: 98304,
			metric.WritesCompleted: 300 + 2*n, metric.SectorsWritten: 2000 + 2001*n, metric.MillisWriting: 163218,
			metric.ReceiveBytes: 7_000_000 + 12_000*n, metric.ReceivePackets: 74 * n,
			metric.TransmitBytes: 7_000_000 + 13*n, metric.TransmitPackets: 75 * n, metric.Clients: 50,
		}),
	}
}

func writeSamples(t testing.TB, path string, samples ...Sample) {
	t.Helper()
	w, err := NewSampleWriter(path)
	if err != nil {
		t.Fatalf("make the file of samples: %v", err)
	}
	for _, s := range samples {
		if err := w.Write(s); err != nil {
			t.Fatalf("write: %v", err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatalf("close the writer: %v", err)
	}
}

// firstColumns returns the first n columns of a CSV text without quotes.
func firstColumns(text string, n int) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), ",")
		b.WriteString(strings.Join(fields[:min(n, len(fields))], ",") + "\n")
	}
	return b.String()
}

func TestSampleFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), FileServer)
	writeSamples(t, path, testSample(100))
	// The agent came back: deltas continue.
	writeSamples(t, path, testSample(102))
	want := classicColumns + ourColumns + "\n" +
		"100250000000,100,etcd,S (sleeping),20975,20726,5.30 %,30 MB,11 GB,256,8,10000,300,5.30,30535680,11048411136,17.64,11.66,5.62," +
		"vda,300,1800,1 minute,500,202100,2 minutes,98304,163218,lo,8.2 MB,7400,7.0 MB,7500,8200000,7001300," +
		"0,0,0,0,0,0.000000,0,0.000000,0 B,0,0 B,0,0,0,50,1000000123,112.34,20971520,32505856,1,409600,819200,b-1,net:[4026531840]\n" +
		"102250000000,102,etcd,S (sleeping),20975,20726,5.30 %,30 MB,11 GB,256,8,10200,306,5.30,30535680,11048411136,17.64,11.66,5.62," +
		"vda,302,1816,1 minute,504,206102,2 minutes,98304,163218,lo,8.2 MB,7548,7.0 MB,7650,8224000,7001326," +
		"2,16,4,4002,8192,0.008192,2049024,2.049024,24 kB,148,26 B,150,24000,26,50,1000000123,114.34,20971520,32505856,1,417792,835584,b-1,net:[4026531840]\n"
	// Metrics declared later have columns after these.
	columns := 1 + strings.Count(classicColumns+ourColumns, ",")
	diff(t, "file", want, firstColumns(mustRead(t, path), columns))
	got, err := ReadSamples(path)
	check(t, err)
	diff(t, "samples", []Sample{testSample(100), testSample(102)}, got)
}

// TestSampleLines: the lines are as in a new file, and the next sample replaces one that was not
// taken.
func TestSampleLines(t *testing.T) {
	path := filepath.Join(t.TempDir(), FileServer)
	writeSamples(t, path, testSample(100), testSample(104))
	var text string
	refused := errors.New("no room")
	lines := NewSampleLines(func(l []byte) error { text += string(l); return nil })
	check(t, lines.Write(testSample(100)))
	put := lines.put
	lines.put = func([]byte) error { return refused }
	if err := lines.Write(testSample(102)); !errors.Is(err, refused) {
		t.Errorf("error %v, want that of put", err)
	}
	lines.put = put
	check(t, lines.Write(testSample(104)))
	diff(t, "lines", mustRead(t, path), text)
}

// A value not read is empty in the file, not a number.
func TestUnknownCounters(t *testing.T) {
	path := filepath.Join(t.TempDir(), FileServer)
	a, b := testSample(1), testSample(2)
	unset(&a, metric.SectorsRead, metric.Clients)
	unset(&b, metric.ReceiveBytes, metric.CPUPercent, metric.MillisReading, metric.ReadBytes)
	writeSamples(t, path, a, b)
	got, err := ReadSamples(path)
	check(t, err)
	diff(t, "samples", []Sample{a, b}, got)
	if text := mustRead(t, path); strings.Contains(text, ",-1,") {
		t.Errorf("-1 was written: %s", text)
	}
	rows := readColumns(t, path)
	for column, want := range map[string]string{"SECTORS-READ-DELTA": "", "READ-MEGABYTES-DELTA": "", "RECEIVE-BYTES": "", "RECEIVE-BYTES-DELTA": "", "CPU": "", "TIME(READS)": ""} {
		if got := rows[1][column]; got != want {
			t.Errorf("%s is %q", column, got)
		}
	}
}

// readColumns reads a CSV file into one map per row.
func readColumns(t *testing.T, path string) []map[string]string {
	t.Helper()
	return parseColumns(t, mustRead(t, path))
}

func parseColumns(t interface{ Fatal(...any) }, text string) []map[string]string {
	records, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatal("read the CSV: ", err)
	}
	var rows []map[string]string
	for _, record := range records[1:] {
		row := map[string]string{}
		for i, name := range records[0] {
			row[name] = record[i]
		}
		rows = append(rows, row)
	}
	return rows
}

func TestTruncatedSamples(t *testing.T) {
	path := filepath.Join(t.TempDir(), FileServer)
	writeSamples(t, path, testSample(1), testSample(2))
	text := mustRead(t, path)
	mustWrite(t, path, text[:len(text)-3])
	got, err := ReadSamples(path)
	if !errors.Is(err, ErrTruncated) {
		t.Errorf("error %v", err)
	}
	diff(t, "samples", []Sample{testSample(1)}, got)
	writeSamples(t, path, testSample(3))
	got, err = ReadSamples(path)
	check(t, err)
	diff(t, "samples", []Sample{testSample(1), testSample(3)}, got)
}

// A file from an older version lacks the columns for newer metrics.
func TestSamplesOfAnOlderVersion(t *testing.T) {
	path := filepath.Join(t.TempDir(), FileServer)
	writeSamples(t, path, testSample(1))
	older, _, _ := strings.Cut(classicColumns+ourColumns, ",PROCESS-READ-BYTES")
	mustWrite(t, path, firstColumns(mustRead(t, path), 1+strings.Count(older, ",")))
	got, err := ReadSamples(path)
	check(t, err)
	want := testSample(1)
	unset(&want, metric.ReadBytes, metric.WriteBytes)
	want.BootID, want.NetNS = "", ""
	diff(t, "samples", []Sample{want}, got)
}

// Copies of a sample change independently, like copies of a struct of numbers.
func TestSetChangesOneCopy(t *testing.T) {
	a := testSample(1)
	b := a
	b.Set(metric.FDs, 7)
	c := a
	unset(&c, metric.Load1)
	c.KeepGauges(&b)
	if a.Get(metric.FDs) != 256 || b.Get(metric.FDs) != 7 || a.Get(metric.Load1) != 17.64 || c.Get(metric.Load1) != 17.64 {
		t.Errorf("a copy of a sample must change alone, got\n%v\n%v\n%v", a.Values, b.Values, c.Values)
	}
}

func TestClassicSamples(t *testing.T) {
	path := classicFile(t, "t-1-server-system-metrics-interpolated.csv")
	samples, err := ReadSamples(path)
	check(t, err)
	want := Sample{
		UnixNano: 1795229502734341692, PeriodNS: -1, Program: "etcd", State: "S (sleeping)", PID: 20975, PPID: 20726,
		Device: "vda", Interface: "lo", Classic: true,
		Values: metric.SystemValues(map[metric.Name]float64{
			metric.CPUPercent: 3, metric.RSSBytes: 29820000, metric.VirtualBytes: 10789464000,
			metric.FDs: 256, metric.Threads: 8, metric.VoluntarySwitches: 8, metric.NonvoluntarySwitches: 8,
			metric.Load1: 17.64, metric.Load5: 11.66, metric.Load15: 5.62,
			metric.ReadsCompleted: 204346, metric.SectorsRead: 7328674, metric.MillisReading: 98305,
			metric.WritesCompleted: 55280, metric.SectorsWritten: 25073312, metric.MillisWriting: 163227,
			metric.ReceiveBytes: 7182964, metric.ReceivePackets: 74816, metric.TransmitBytes: 7182964, metric.TransmitPackets: 74816, metric.Clients: 50,
		}),
	}
	diff(t, "second sample", want, samples[1])
	if n := len(samples); n != 25 || samples[n-1].Second() != 1795229525 {
		t.Errorf("%d samples, the last at %d", n, samples[n-1].Second())
	}
}

// Written by us, samples of the classic tool give its file again, field by field, except the
// columns that it got wrong.
func TestClassicFileComesOutTheSame(t *testing.T) {
	for _, name := range []string{"t-1-server-system-metrics-interpolated.csv", "t-client-system-metrics-interpolated.csv"} {
		path := classicFile(t, name)
		samples, err := ReadSamples(path)
		check(t, err)
		out := filepath.Join(t.TempDir(), name)
		check(t, os.WriteFile(out, SampleTable(Interpolate(samples)), 0o600))
		want, got := readColumns(t, path), readColumns(t, out)
		if len(want) != len(got) {
			t.Fatalf("%s: %d rows instead of %d", name, len(got), len(want))
		}
		for i := range want {
			for _, column := range strings.Split(classicColumns, ",") {
				switch {
				case strings.HasSuffix(column, "MEGABYTES-DELTA"): // always 0 there
					bytes, err := strconv.ParseFloat(want[i][strings.Replace(column, "MEGABYTES", "BYTES", 1)], 64)
					check(t, err)
					megabytes, err := strconv.ParseFloat(got[i][column], 64)
					check(t, err)
					if math.Abs(megabytes*1e6-bytes) > 1e-3 {
						t.Errorf("%s row %d: %s is %v of %v bytes", name, i, column, megabytes, bytes)
					}
				case i == 0 && want[i][column] == "" && strings.HasSuffix(column, "-DELTA"): // empty there, 0 B here
				case want[i][column] != got[i][column]:
					t.Errorf("%s row %d: %s is %q, was %q", name, i, column, got[i][column], want[i][column])
				}
			}
		}
	}
}

// anySamples are samples as a sampler takes them: cumulative counters, about a second apart, some
// seconds missed and some taken twice.
func anySamples() *rapid.Generator[[]Sample] {
	return rapid.Custom(func(t *rapid.T) []Sample {
		var list []Sample
		s := testSample(1_795_229_500)
		grow := func(n metric.Name, most int64) {
			s.Set(n, s.Get(n)+float64(rapid.Int64Range(0, most).Draw(t, "growth")))
		}
		for range rapid.IntRange(1, 20).Draw(t, "samples") {
			s.PeriodNS = rapid.Int64Range(1e8, 5e9).Draw(t, "period")
			s.UnixNano += s.PeriodNS
			for _, counter := range []metric.Name{metric.ReadsCompleted, metric.SectorsRead, metric.WritesCompleted, metric.SectorsWritten,
				metric.ReceiveBytes, metric.ReceivePackets, metric.TransmitBytes, metric.TransmitPackets, metric.VoluntarySwitches} {
				grow(counter, 1<<40)
			}
			s.Set(metric.RSSBytes, float64(rapid.Int64Range(0, 1<<40).Draw(t, "rss")))
			s.Set(metric.CPUSeconds, s.Get(metric.CPUSeconds)+rapid.Float64Range(0, 8).Draw(t, "cpu"))
			s.State = rapid.SampledFrom([]string{"S (sleeping)", "R (running)"}).Draw(t, "state")
			list = append(list, s)
		}
		return list
	})
}

// The written deltas of every counter sum exactly to its growth, whatever was missed or doubled.
// Counters never decrease, and there is one row per second.
func TestInterpolatedSums(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		samples := anySamples().Draw(rt, "samples")
		out := Interpolate(samples)
		first, last := out[0], samples[len(samples)-1]
		if int64(len(out)) != last.Second()-samples[0].Second()+1 {
			rt.Fatalf("%d rows from second %d to %d", len(out), samples[0].Second(), last.Second())
		}
		for i, s := range out {
			if s.Second() != out[0].Second()+int64(i) {
				rt.Fatalf("row %d is second %d", i, s.Second())
			}
			if i > 0 && (s.Get(metric.SectorsWritten) < out[i-1].Get(metric.SectorsWritten) || s.Get(metric.CPUSeconds) < out[i-1].Get(metric.CPUSeconds) || s.UnixNano <= out[i-1].UnixNano) {
				rt.Fatalf("row %d falls: %+v after %+v", i, s, out[i-1])
			}
		}
		sums := map[string]int64{}
		for _, row := range parseColumns(rt, string(SampleTable(out))) {
			for column, field := range row {
				if v, err := strconv.ParseInt(field, 10, 64); err == nil {
					sums[column] += v
				}
			}
		}
		grown := func(n metric.Name) int64 { return int64(last.Get(n)) - int64(first.Get(n)) }
		for column, growth := range map[string]int64{
			"READS-COMPLETED-DELTA":    grown(metric.ReadsCompleted),
			"SECTORS-READ-DELTA":       grown(metric.SectorsRead),
			"READ-BYTES-DELTA":         512 * grown(metric.SectorsRead),
			"WRITES-COMPLETED-DELTA":   grown(metric.WritesCompleted),
			"SECTORS-WRITTEN-DELTA":    grown(metric.SectorsWritten),
			"WRITE-BYTES-DELTA":        512 * grown(metric.SectorsWritten),
			"RECEIVE-BYTES-NUM-DELTA":  grown(metric.ReceiveBytes),
			"RECEIVE-PACKETS-DELTA":    grown(metric.ReceivePackets),
			"TRANSMIT-BYTES-NUM-DELTA": grown(metric.TransmitBytes),
			"TRANSMIT-PACKETS-DELTA":   grown(metric.TransmitPackets),
		} {
			if sums[column] != growth {
				rt.Fatalf("%s sums to %d of %d", column, sums[column], growth)
			}
		}
		var period int64
		for _, s := range out {
			period += s.PeriodNS
		}
		if want := last.UnixNano - first.UnixNano; period != want {
			rt.Fatalf("periods sum to %d of %d", period, want)
		}
	})
}

func TestInterpolate(t *testing.T) {
	at := func(second, counter, gauge float64, state string) Sample {
		return Sample{UnixNano: int64(second * 1e9), PeriodNS: 1e9, State: state, Values: metric.SystemValues(map[metric.Name]float64{
			metric.WritesCompleted: counter, metric.RSSBytes: gauge, metric.Clients: counter,
		})}
	}
	got := Interpolate([]Sample{
		at(10.5, 100, 50, "a"),
		at(13.5, 200, 20, "b"), // two seconds missed
		at(13.9, 203, 23, "c"), // twice in one second: this one counts
		at(14.0, 210, 23, "d"),
	})
	type row struct {
		nano             int64
		counter, gauge   float64
		state            string
		clients          float64
		made             bool
		periodOfTheRowNS int64
	}
	var rows []row
	for _, s := range got {
		rows = append(rows, row{s.UnixNano, s.Get(metric.WritesCompleted), s.Get(metric.RSSBytes), s.State, s.Get(metric.Clients), s.Interpolated, s.PeriodNS})
	}
	if len(rows) != 5 {
		t.Fatalf("%d rows: %+v", len(rows), rows)
	}
	want := []row{
		{10_500_000_000, 100, 50, "a", 100, false, 0},
		{11_633_333_333, 134, 41, "c", 203, true, 666_666_666},
		{12_766_666_666, 168, 32, "c", 203, true, 666_666_667},
		{13_900_000_000, 203, 23, "c", 203, false, 666_666_667},
		{14_000_000_000, 210, 23, "d", 210, false, 1_000_000_000},
	}
	for i := range want {
		if rows[i] != want[i] {
			t.Errorf("row %d is %+v, want %+v", i, rows[i], want[i])
		}
	}
}

// The last sample of a run may find that the processes have ended: it must not hide their earlier
// values in the same second.
func TestInterpolateEndedProcesses(t *testing.T) {
	alive := func(nano, period int64, cpu, rss float64) Sample {
		s := testSample(nano / 1e9)
		s.UnixNano, s.PeriodNS = nano, period
		s.Set(metric.CPUSeconds, cpu)
		s.Set(metric.RSSBytes, rss)
		percent, _ := CPUPercent(0, cpu, time.Duration(period))
		s.Set(metric.CPUPercent, percent)
		return s
	}
	memory := []metric.Name{metric.RSSBytes, metric.RSSAnonBytes, metric.PeakRSSBytes, metric.VirtualBytes, metric.FDs, metric.Threads}
	ended := func(nano, period int64, cpu float64) Sample {
		s := alive(nano, period, cpu, -1)
		unset(&s, memory...)
		unset(&s, metric.CPUPercent)
		s.Set(metric.Processes, 0)
		s.State = ""
		return s
	}
	kept := func(from Sample, nano, period int64, counters Sample, percent float64) Sample {
		s := counters
		s.UnixNano, s.PeriodNS, s.State = nano, period, from.State
		s.Set(metric.CPUPercent, percent)
		for _, n := range append(memory, metric.Processes) {
			s.Set(n, from.Get(n))
		}
		return s
	}
	first := alive(10e9, 0, 1, 40<<20)
	next := alive(11e9, 1e9, 1.2, 50<<20)
	last := ended(11.5e9, 0.5e9, 1.26)
	last.Set(metric.WritesCompleted, last.Get(metric.WritesCompleted)+7)
	alone := ended(12e9, 1e9, 1.2)
	soon := ended(11.0625e9, 0.0625e9, 1.2)
	unknown := func(s Sample) Sample { s.PeriodNS = -1; return s }
	for name, tt := range map[string]struct{ samples, want []Sample }{
		"in the second of the last good sample": {
			[]Sample{first, next, last},
			[]Sample{first, kept(next, 11.5e9, 1.5e9, last, 100*(1.26-1)/1.5)},
		},
		"twice in that second": {
			[]Sample{first, next, soon, last},
			[]Sample{first, kept(next, 11.5e9, 1.5625e9, last, 100*(1.26-1)/1.5625)},
		},
		"in a second without a good one": {[]Sample{first, next, alone}, []Sample{first, next, alone}},
		"two in a second without a good one": {
			[]Sample{first, next, alone, ended(12.5e9, .5e9, 1.2)},
			[]Sample{first, next, kept(alone, 12.5e9, 1.5e9, ended(12.5e9, .5e9, 1.2), -1)},
		},
		"never ran":                        {[]Sample{last}, []Sample{kept(last, 11.5e9, 0, last, -1)}},
		"before the first process":         {[]Sample{ended(10e9, 0, 0), alive(10.9e9, 0.9e9, .3, 40<<20)}, []Sample{kept(first, 10.9e9, 0, alive(10.9e9, 0, .3, 40<<20), 100*.3/.9)}},
		"too short for a percentage alone": {[]Sample{next, soon}, []Sample{kept(next, 11.0625e9, 0, soon, next.Get(metric.CPUPercent))}},
		"over an unknown time": {
			[]Sample{unknown(first), unknown(next), unknown(last)},
			[]Sample{unknown(first), kept(next, 11.5e9, -1, last, next.Get(metric.CPUPercent))},
		},
	} {
		got := Interpolate(tt.samples)
		if d := cmp.Diff(tt.want, got, cmpopts.EquateApprox(1e-9, 0)); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}

// Two samples in one second share its percentage.
func TestInterpolatePercent(t *testing.T) {
	at := func(second, cpu, percent float64, period int64) Sample {
		return Sample{UnixNano: int64(second * 1e9), PeriodNS: period, Values: metric.SystemValues(map[metric.Name]float64{
			metric.CPUSeconds: cpu, metric.CPUPercent: percent, metric.Processes: 1,
		})}
	}
	got := Interpolate([]Sample{at(10.5, 3, 0, 0), at(11.1, 3.3, 50, 6e8), at(11.9, 3.3, 0, 8e8), at(12, .1, 1, 1e8), at(12.5, 0, 0, 5e8)})
	var percents []float64
	for _, s := range got {
		percents = append(percents, s.Get(metric.CPUPercent))
	}
	// Sampling restarted in the last second: its own percentage is the best there is.
	want := []float64{0, 100 * .3 / 1.4, 0}
	if d := cmp.Diff(want, percents, cmpopts.EquateApprox(1e-9, 0)); d != "" {
		t.Errorf("percentages (-want +got):\n%s", d)
	}
}

func TestCPUPercent(t *testing.T) {
	for name, tt := range map[string]struct {
		before, after float64
		period        time.Duration
		want          float64
		known         bool
	}{
		"half a core":     {1, 1.5, time.Second, 50, true},
		"idle":            {1, 1, 2 * time.Second, 0, true},
		"three cores":     {0, .3, 100 * time.Millisecond, 300, true},
		"too short":       {1, 1.01, 79 * time.Millisecond, 0, false},
		"fell":            {1, .5, time.Second, 0, false},
		"unknown before":  {-1, .5, time.Second, 0, false},
		"unknown after":   {1, -1, time.Second, 0, false},
		"no time, though": {1, 2, -1, 0, false},
	} {
		got, known := CPUPercent(tt.before, tt.after, tt.period)
		if math.Abs(got-tt.want) > 1e-9 || known != tt.known {
			t.Errorf("%s: %g, %t; want %g, %t", name, got, known, tt.want, tt.known)
		}
	}
}

func TestInterpolateOddClocks(t *testing.T) {
	at := func(second int64) Sample { return testSample(second) }
	if got := Interpolate(nil); len(got) != 0 {
		t.Errorf("of nothing: %v", got)
	}
	// Set back, then a year ahead: neither invents or repeats seconds.
	got := Interpolate([]Sample{at(100), at(101), at(50), at(102), at(102 + 365*86400)})
	var seconds []int64
	for _, s := range got {
		seconds = append(seconds, s.Second())
	}
	diff(t, "seconds", []int64{100, 101, 102, 102 + 365*86400}, seconds)
	a, b := at(1), at(3)
	unset(&a, metric.ReadBytes)
	b.PeriodNS = -1
	got = Interpolate([]Sample{a, b})
	if got[1].Get(metric.ReadBytes) != -1 || got[1].PeriodNS != -1 || got[1].Get(metric.WriteBytes) != 8192*2 {
		t.Errorf("unknown between: %+v", got[1])
	}
}

// A single sample is read as it was written; any other text is refused.
func TestOneSample(t *testing.T) {
	want := testSample(1_700_000_000)
	got, err := ParseSample(FormatSample(&want))
	if err != nil {
		t.Fatal(err)
	}
	diff(t, "sample", want, got)
	two := FormatSample(&want)
	two = append(two, two[strings.IndexByte(string(two), '\n')+1:]...)
	for name, text := range map[string][]byte{"nothing": nil, "two rows": two, "no table": []byte("a,b\n1,2\n"), "half a row": FormatSample(&want)[:400]} {
		if s, err := ParseSample(text); err == nil {
			t.Errorf("%s was read as %+v", name, s)
		}
	}
}
