package main

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
)

// A package is reported if its tests took more than longer times and more seconds than before.
const (
	longer = 1.5
	more   = 5
)

// took is the time and the CPU time for a package in seconds. Files from earlier runs may lack the
// second.
type took struct{ wall, cpu float64 }

// compareFiles compares the times in two files.
func compareFiles(out io.Writer, before, now string) error {
	was, err := readTimes(before)
	if err != nil {
		return err
	}
	is, err := readTimes(now)
	if err != nil {
		return err
	}
	compare(out, "slower", "tests of packages", was, is, func(t took) float64 { return t.wall })
	if slices.ContainsFunc(slices.Collect(maps.Values(was)), func(t took) bool { return t.cpu > 0 }) {
		compare(out, "more CPU time", "CPU time of tests and their builds", was, is, func(t took) float64 { return t.cpu })
	}
	return nil
}

// readTimes returns the package times in a file, summed for each.
func readTimes(name string) (map[string]took, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("read times of packages: %w", err)
	}
	defer file.Close()
	times := map[string]took{}
	for lines, n := bufio.NewScanner(file), 1; lines.Scan(); n++ {
		wall, rest, _ := strings.Cut(lines.Text(), "\t")
		path, used, hasCPU := strings.Cut(rest, "\t")
		seconds, err := strconv.ParseFloat(wall, 64)
		var cpu float64
		if err == nil && hasCPU {
			cpu, err = strconv.ParseFloat(used, 64)
		}
		if err != nil || path == "" {
			return nil, fmt.Errorf("%s:%d: want seconds, a package and seconds of CPU between tabs, got %q", name, n, lines.Text())
		}
		times[path] = took{times[path].wall + seconds, times[path].cpu + cpu}
	}
	return times, nil
}

// compare prints the packages for which one of the times grew much, the longest first, and the sum
// over the packages that both have.
func compare(out io.Writer, worse, all string, was, is map[string]took, of func(took) float64) {
	var sumWas, sumIs float64
	slower := slices.SortedFunc(maps.Keys(is), func(a, b string) int { return cmp.Or(-cmp.Compare(of(is[a]), of(is[b])), cmp.Compare(a, b)) })
	for _, path := range slower {
		if _, known := was[path]; !known {
			continue
		}
		before, now := of(was[path]), of(is[path])
		sumWas, sumIs = sumWas+before, sumIs+now
		if now > before*longer && now > before+more {
			fmt.Fprintf(out, "%s: %s %.1f s (before %.1f s)\n", worse, path, now, before)
		}
	}
	fmt.Fprintf(out, "%s: %.0f s in all (before %.0f s)\n", all, sumIs, sumWas)
}
