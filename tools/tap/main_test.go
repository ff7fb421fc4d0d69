package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The etcd histogram is read by its cumulative buckets, and a text without them is an error.
func TestParse(t *testing.T) {
	const name = "etcd_disk_wal_fsync_duration_seconds"
	text := "# TYPE " + name + " histogram\n" + name + "_bucket{le=\"0.016\"} 3\n" + name + "_bucket{le=\"0.032\"} 5\n" + name + "_bucket{le=\"0.064\"} 6\n" +
		name + "_bucket{le=\"0.128\"} 9\n" + name + "_bucket{le=\"+Inf\"} 11\n" + name + "_sum 1.5\n" + name + "_count 11\n"
	f, err := parse(strings.NewReader(text))
	if want := (fsyncs{11, 5, 9}); err != nil || f != want || f.delayed() != 4 {
		t.Errorf("got %+v, %v, want %+v", f, err, want)
	}
	if _, err := parse(strings.NewReader("up 1\n")); err == nil {
		t.Error("a text without the histogram was read")
	}
}

// Faults are read from run events, and one that failed is an error.
func TestPeriods(t *testing.T) {
	events := `{"time":"2026-01-01T00:00:01Z","kind":"fault","member":2,"text":"disk for 4s"}
{"time":"2026-01-01T00:00:01.5Z","kind":"fault read back","member":2,"text":"each call takes 50ms longer"}
{"time":"2026-01-01T00:00:05.6Z","kind":"fault over","member":2,"text":"70 calls of which each takes 50ms longer"}
`
	list, err := periods(strings.NewReader(events))
	if err != nil || len(list) != 1 || list[0].member != 2 || list[0].applied.Sub(list[0].asked) != 500*time.Millisecond {
		t.Fatalf("faults %+v, %v", list, err)
	}
	for _, wrong := range []string{strings.Replace(events, "70 calls of which each takes 50ms longer", "the member made no call", 1), strings.Replace(events, "fault read back", "other", 1)} {
		if list, err := periods(strings.NewReader(wrong)); err == nil {
			t.Errorf("a fault that failed was read: %+v", list)
		}
	}
}

// Counts belong to a fault from when it was applied until its end, and the member has healed with
// the first fast fsync after it.
func TestJudge(t *testing.T) {
	at := func(ms int) time.Time { return time.Unix(1000, 0).Add(time.Duration(ms) * time.Millisecond) }
	p := period{member: 1, asked: at(0), applied: at(50)}
	var samples []sample
	for _, s := range [][4]int64{
		{0, 100, 100, 100}, {100, 101, 100, 101}, {2000, 141, 101, 141}, {3900, 180, 101, 180}, // a fast one among 79
		{3995, 182, 101, 182}, {4100, 183, 101, 183}, {4200, 183, 101, 183}, {4300, 190, 107, 190}, // slow ones, no new ones, six fast ones
	} {
		samples = append(samples, sample{at(int(s[0])), at(int(s[0]) + 10), fsyncs{s[1], s[2], s[3]}})
	}
	o := judge(p, samples)
	if want := (fsyncs{79, 1, 79}); o.during != want || o.healed != 310*time.Millisecond {
		t.Errorf("during %+v, healed after %v, want %+v and 310ms", o.during, o.healed, want)
	}
	var out strings.Builder
	if err := reportDelayed(&out, []outcome{o}); err != nil || !strings.Contains(out.String(), "| 1 | member 2 | 79 | 78 | 98.7 % | 0.31 s |") {
		t.Errorf("error %v of\n%s", err, out.String())
	}
	never, few := o, o
	never.healed, few.during.within32 = -1, 30
	for _, wrong := range [][]outcome{{never, o}, {o, few}} {
		if err := reportDelayed(&out, wrong); err == nil {
			t.Errorf("no error of %+v", wrong)
		}
	}
}

// The figures for a run are those for the whole seconds before its fault.
func TestRead(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("faults.csv", "from,failed\n1970-01-01T00:16:44.5Z,0\n") // second 1004
	write("intervals.csv", "second,phase,service_ok_count,service_ok_p50_ns,service_ok_p99_ns\n"+
		"1000,warm-up,9,1,1\n1000,measure,5,1,1\n1001,measure,100,1000000,4000000\n1002,measure,200,2000000,5000000\n1003,measure,300,3000000,9000000\n1004,measure,999,1,1\n")
	for _, member := range []string{"1", "2", "3"} {
		write(member+"-database-metrics.csv", "UNIX-NANOSECOND,ERROR,FSYNCS,FSYNC-SECONDS\n1000000000000,,1,0\n1001000000000,,100,1\n1002000000000,a time-out,,\n1004000000000,,300,1.5\n1005000000000,,301,9\n")
	}
	f, err := read(dir)
	if want := (figures{rate: 200, p50: 0.002, p99: 0.005, fsync: 0.0025}); err != nil || f != want {
		t.Errorf("got %+v, %v, want %+v", f, err, want)
	}
	write("faults.csv", "from,failed\n1970-01-01T00:16:44.5Z,1\n")
	if _, err := read(dir); err == nil {
		t.Error("a run whose fault failed was read")
	}
}
