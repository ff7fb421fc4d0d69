package main

import (
	"bufio"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// histograms adds up a latency log by tag. It splits the lines itself; the HdrHistogram library
// decodes the histograms.
func histograms(path string) (map[string]*hdrhistogram.Histogram, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	sums := map[string]*hdrhistogram.Histogram{}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		tagged, found := strings.CutPrefix(lines.Text(), "Tag=")
		fields := strings.Split(tagged, ",")
		if !found || len(fields) != 5 {
			continue // a comment or the header
		}
		if _, err := base64.StdEncoding.DecodeString(fields[4]); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		h, err := hdrhistogram.Decode([]byte(fields[4]))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if sum := sums[fields[0]]; sum == nil {
			sums[fields[0]] = h
		} else if dropped := sum.Merge(h); dropped > 0 {
			return nil, fmt.Errorf("%s: %d values dropped by a merge", path, dropped)
		}
	}
	return sums, lines.Err()
}

// valueAt returns the upper end of the bucket that contains rank ceil(q*n).
func valueAt(h *hdrhistogram.Histogram, q float64) float64 {
	left := int64(rank(q, int(h.TotalCount())))
	for _, bar := range h.Distribution() {
		if left -= bar.Count; left <= 0 {
			return float64(bar.To)
		}
	}
	return nan
}

// compareReaders reads latency.hlog and latency-total.hlog with HdrHistogram's own log processor,
// and compares the counts and percentiles of every tag with the sum over the lines.
func compareReaders(f *Findings, r *Run) {
	jar, err := javaJar()
	if err != nil {
		f.Holds("the standard reader", false, "java and mvn", err.Error())
		return
	}
	for _, name := range []string{"latency.hlog", "latency-total.hlog"} {
		path := filepath.Join(r.Record.Folder, name)
		sums, err := histograms(path)
		if err != nil || len(sums) == 0 {
			f.Holds(name, false, "histograms", fmt.Sprint(len(sums), " histograms, error ", err))
			continue
		}
		for _, tag := range slices.Sorted(maps.Keys(sums)) {
			java, err := readByJava(jar, path, tag)
			if err != nil {
				f.Holds(name+" "+tag, false, "a distribution", err.Error())
				continue
			}
			f.Equal(name+" "+tag+": count", float64(sums[tag].TotalCount()), java.count)
			for _, q := range []float64{0.5, 0.9} {
				f.Equal(fmt.Sprintf("%s %s: p%g, ns", name, tag, 100*q), valueAt(sums[tag], q), java.at[q])
			}
		}
	}
}

type distribution struct {
	count float64
	at    map[float64]float64 // value by quantile
}

var totalCount = regexp.MustCompile(`Total count\s*=\s*(\d+)`)

func readByJava(jar, path, tag string) (distribution, error) {
	out, err := exec.Command("java", "-cp", jar, "org.HdrHistogram.HistogramLogProcessor", "-i", path, "-tag", tag, "-outputValueUnitRatio", "1").Output()
	if err != nil {
		return distribution{}, err
	}
	d := distribution{count: nan, at: map[float64]float64{}}
	for _, line := range strings.Split(string(out), "\n") {
		if m := totalCount.FindStringSubmatch(line); m != nil {
			d.count, _ = strconv.ParseFloat(m[1], 64)
		}
		if fields := strings.Fields(line); len(fields) >= 3 {
			value, err1 := strconv.ParseFloat(fields[0], 64)
			q, err2 := strconv.ParseFloat(fields[1], 64)
			if errors.Join(err1, err2) == nil {
				d.at[q] = value
			}
		}
	}
	return d, nil
}

// javaJar obtains the library with Maven, which keeps it in its repository.
func javaJar() (string, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return "", err
	}
	const version = "2.2.2"
	jar := filepath.Join(home, ".m2/repository/org/hdrhistogram/HdrHistogram", version, "HdrHistogram-"+version+".jar")
	if _, err := os.Stat(jar); err == nil {
		return jar, nil
	}
	out, err := exec.Command("mvn", "-q", "dependency:get", "-Dartifact=org.hdrhistogram:HdrHistogram:"+version).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("mvn dependency:get: %w: %s", err, out)
	}
	return jar, nil
}
