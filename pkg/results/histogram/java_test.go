package histogram

import (
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"
)

// hdrJar is HdrHistogram's own implementation, fetched once by Maven.
const hdrJar = "HdrHistogram-2.2.2.jar"

// javaHistogram returns the path to the jar with the HdrHistogram log processor. A machine without
// Java or Maven skips the test, except in CI.
func javaHistogram(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("runs Java")
	}
	for _, tool := range []string{"java", "mvn"} {
		if _, err := exec.LookPath(tool); err != nil {
			if os.Getenv("CI") == "true" {
				t.Fatalf("%s is needed to read logs with HdrHistogram's own reader: %v", tool, err)
			}
			t.Skipf("no %s", tool)
		}
	}
	cache, err := os.UserCacheDir()
	check(t, err)
	dir := filepath.Join(cache, "dbtester-test", "hdrhistogram")
	jar := filepath.Join(dir, hdrJar)
	if _, err := os.Stat(jar); err == nil {
		return jar
	}
	out, err := exec.Command("mvn", "-B", "-q", "dependency:copy", "-Dartifact=org.hdrhistogram:HdrHistogram:2.2.2", "-DoutputDirectory="+dir).CombinedOutput()
	if err != nil {
		t.Fatalf("fetch HdrHistogram by Maven: %v\n%s", err, out)
	}
	return jar
}

// TestJavaReader reads a log with the log processor from the HdrHistogram library for Java: it must
// count every latency, those in the first second included, and find the same percentiles. The load
// begins within a second, which is where the processor once skipped lines.
func TestJavaReader(t *testing.T) {
	jar := javaHistogram(t)
	dir := t.TempDir()
	path := filepath.Join(dir, "latency.hlog")
	w, err := NewLogWriter(path, epoch.Add(730*time.Millisecond))
	check(t, err)
	const tag = "response:write:ok:step0:measure"
	all := New()
	for second := range 4 {
		h := New()
		for i := range 250 + second {
			d := time.Duration(float64(time.Millisecond) * math.Pow(1.02, float64(i+second)))
			Record(h, d)
			Record(all, d)
		}
		check(t, w.Write(epoch.Add(time.Duration(second)*time.Second), time.Second, tag, h))
	}
	check(t, w.Close())

	out, err := exec.Command("java", "-cp", jar, "org.HdrHistogram.HistogramLogProcessor", "-i", path, "-tag", tag, "-outputValueUnitRatio", "1").CombinedOutput()
	if err != nil {
		t.Fatalf("run HdrHistogram's log processor: %v\n%s", err, out)
	}
	count := regexp.MustCompile(`Total count +=\s+(\d+)`).FindSubmatch(out)
	if count == nil || string(count[1]) != strconv.FormatInt(all.TotalCount(), 10) {
		t.Fatalf("Java's log processor must count all %d latencies; it printed:\n%s", all.TotalCount(), out)
	}
	compared := 0
	for _, row := range regexp.MustCompile(`(?m)^ *([0-9.]+) +([0-9.]+) +(\d+) +[0-9.]+$`).FindAllSubmatch(out, -1) {
		value, _ := strconv.ParseFloat(string(row[1]), 64)
		q, _ := strconv.ParseFloat(string(row[2]), 64)
		// The printed quantile is rounded to 12 digits: ask for the printed rank.
		rank, _ := strconv.ParseInt(string(row[3]), 10, 64)
		if got := ValueAtRank(all, rank); float64(got) != value {
			t.Errorf("the value at rank %d must be Java's %.0f, got %d", rank, value, got)
		}
		if want := Quantile(all, q); rank > 0 && math.Abs(float64(want)-value) > 0 && q < 1 {
			t.Errorf("the quantile %v must be Java's %.0f, got %d", q, value, want)
		}
		compared++
	}
	if compared < 20 {
		t.Fatalf("only %d percentiles were compared:\n%s", compared, out)
	}
}

// check ends the test if a preparation failed.
func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("prepare the test: %v", err)
	}
}
