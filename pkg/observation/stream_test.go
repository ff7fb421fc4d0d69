package observation

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/coreos/dbtester/pkg/files/linefile"
	"github.com/coreos/dbtester/pkg/results/histogram"
)

// A second may be written in parts: they are read as the second that would have been written at once, and
// have the same totals and the same histograms.
func TestStreamOfParts(t *testing.T) {
	g, dir := scratch(), t.TempDir()
	s, whole := NewStream(g, dir, at(10)), NewRecorder(g)
	for n := range int64(4) { // each pass has something from every second
		part := NewRecorder(g)
		for second := int64(10); second < 20; second++ {
			for _, r := range []*Recorder{part, whole} {
				r.Add("events", at(second), 1, n-1) // also less than nothing
				r.Add("most", at(second), 1, second+n)
				r.Add("least", at(second), 1, second+n)
				for i := range 40 * n {
					r.Add("delay", at(second), 1, 1_000_000*n*second+i*1000)
				}
			}
		}
		if err := s.Write(part.Take(math.MaxInt64)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	want := whole.Take(math.MaxInt64)
	if diff := cmp.Diff(g.Total(want), s.Totals()); diff != "" {
		t.Errorf("the totals (-want +got):\n%s", diff)
	}
	got, err := Read(g, dir)
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(Number{}, "N", "Times")); err != nil || diff != "" {
		t.Errorf("read again (-want +got), %v:\n%s", err, diff)
	}
	if diff := cmp.Diff(timesOf(want), logged(t, g, dir)); diff != "" {
		t.Errorf("the histograms (-want +got):\n%s", diff)
	}
}

// timesOf returns the histogram of delays in each second.
func timesOf(seconds []Second) map[int64]histogram.Buckets {
	all := map[int64]histogram.Buckets{}
	for _, s := range seconds {
		all[s.Second] = s.Numbers[3].Times
	}
	return all
}

// logged returns timesOf a log, up to an incomplete last line.
func logged(t *testing.T, g Group, dir string) map[int64]histogram.Buckets {
	t.Helper()
	sums := map[int64]*histogram.Sum{}
	for line, err := range histogram.ReadBuckets(filepath.Join(dir, g.Log())) {
		if errors.Is(err, linefile.ErrTruncated) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		second := line.Start.Unix()
		if sums[second] == nil {
			sums[second] = &histogram.Sum{}
		}
		sums[second].Add(line.Buckets)
	}
	all := map[int64]histogram.Buckets{}
	for second, sum := range sums {
		all[second] = sum.Buckets()
	}
	return all
}

// A stream without seconds makes no files, and one that cannot write keeps its error.
func TestStreamOfNothing(t *testing.T) {
	g, dir := scratch(), t.TempDir()
	s := NewStream(g, dir, at(10))
	if err := errors.Join(s.Write(nil), s.Close()); err != nil || len(s.Totals()) > 0 {
		t.Errorf("nothing has the totals %+v, %v", s.Totals(), err)
	}
	if list, err := os.ReadDir(dir); err != nil || len(list) > 0 {
		t.Errorf("there are %v, %v, want no files", list, err)
	}
	s = NewStream(g, filepath.Join(dir, "missing"), at(10))
	r := NewRecorder(g)
	r.Add("events", at(10), 0, 1)
	seconds := r.Take(math.MaxInt64)
	first := s.Write(seconds)
	if !errors.Is(first, fs.ErrNotExist) || s.Write(seconds) != first || s.Close() != nil {
		t.Errorf("into a missing folder: %v, again %v, want the same error", first, s.Write(seconds))
	}
	if n := s.Totals()["events"].Value; n != 2 {
		t.Errorf("%d events of two seconds that could not be written, want 2", n)
	}
}

// foreverEnv is the folder into which the second process in this test writes until it is killed.
const foreverEnv = "DBTESTER_OBSERVE_FOREVER"

// The seconds that a killed process had written are read up to the last: each row is whole, and
// each second but the last has the histogram for its row.
func TestStreamOfKilled(t *testing.T) {
	g := scratch()
	if dir := os.Getenv(foreverEnv); dir != "" {
		s := NewStream(g, dir, at(1))
		for n := int64(1); ; n++ {
			r := NewRecorder(g)
			for i := range n % 100 {
				r.Add("events", at(n), 0, 1)
				r.Add("delay", at(n), 0, i*i*1000)
			}
			if err := s.Write(r.Take(math.MaxInt64)); err != nil {
				t.Fatal(err)
			}
		}
	}
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0], "-test.run=^TestStreamOfKilled$")
	cmd.Env = append(os.Environ(), foreverEnv+"="+dir)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	const patience = 5 * time.Minute
	for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		if info, err := os.Stat(filepath.Join(dir, g.Log())); err == nil && info.Size() > 50_000 {
			break
		}
		if time.Now().After(end) {
			t.Error("the process writes nothing")
			break
		}
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	seconds, err := Read(g, dir)
	if err != nil && !errors.Is(err, linefile.ErrTruncated) || len(seconds) < 100 {
		t.Fatalf("%d seconds are read, %v, want many", len(seconds), err)
	}
	times := logged(t, g, dir)
	for i, s := range seconds {
		want := s.Second % 100
		if s.Numbers[0].Value != want || s.Numbers[3].N != want {
			t.Fatalf("second %d has %+v, want %d of each", s.Second, s.Numbers, want)
		}
		if got := times[s.Second].Total(); got != want && i < len(seconds)-1 {
			t.Errorf("second %d has %d times in the log, want %d", s.Second, got, want)
		}
	}
}

// BenchmarkStream measures the cost of writing a second with four histograms, as watchers have
// them, and the memory for keeping it.
func BenchmarkStream(b *testing.B) {
	const times = 25_000
	for _, spread := range []int64{1_000_000, 100_000_000} {
		b.Run(fmt.Sprintf("up to %v", time.Duration(spread)), func(b *testing.B) {
			g := Group{Name: "scratch"}
			for i := range 4 {
				g.Values = append(g.Values, Timed(fmt.Sprintf("delay%d", i), "delays"))
			}
			r := NewRecorder(g)
			for i := range int64(times) {
				for _, v := range g.Values {
					r.Add(v.Name, at(10), 0, 100_000+i*i%times*(spread/times))
				}
			}
			second, buckets := r.Take(math.MaxInt64), 0
			for _, n := range second[0].Numbers {
				buckets += len(n.Times)
			}
			s := NewStream(g, b.TempDir(), at(10))
			b.ReportAllocs()
			for b.Loop() {
				if err := s.Write(second); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(16*buckets), "kept-B/second")
			if err := s.Close(); err != nil {
				b.Fatal(err)
			}
		})
	}
}
