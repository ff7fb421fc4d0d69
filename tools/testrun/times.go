package main

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
)

// A package is reported if its tests took more than longer times and more seconds than before.
const (
	longer = 1.5
	more   = 5
)

// compareFiles compares the times of two files.
func compareFiles(out io.Writer, before, now string) error {
	was, err := readTimes(before)
	if err != nil {
		return err
	}
	is, err := readTimes(now)
	if err != nil {
		return err
	}
	compare(out, was, is)
	return nil
}

// readTimes returns the seconds of packages in a file, the sum of each.
func readTimes(name string) (map[string]float64, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("read times of packages: %w", err)
	}
	defer file.Close()
	times := map[string]float64{}
	for lines, n := bufio.NewScanner(file), 1; lines.Scan(); n++ {
		var seconds float64
		var path string
		if _, err := fmt.Sscanf(lines.Text(), "%g\t%s", &seconds, &path); err != nil {
			return nil, fmt.Errorf("%s:%d: want seconds, a tab and a package: %w", name, n, err)
		}
		times[path] += seconds
	}
	return times, nil
}

// compare prints the packages that took much longer, the slowest first, and the sum of the
// packages that both have.
func compare(out io.Writer, was, is map[string]float64) {
	var sumWas, sumIs float64
	slower := slices.SortedFunc(maps.Keys(is), func(a, b string) int { return cmp.Or(-cmp.Compare(is[a], is[b]), cmp.Compare(a, b)) })
	for _, path := range slower {
		before, known := was[path]
		if !known {
			continue
		}
		sumWas, sumIs = sumWas+before, sumIs+is[path]
		if is[path] > before*longer && is[path] > before+more {
			fmt.Fprintf(out, "slower: %s %.1f s (before %.1f s)\n", path, is[path], before)
		}
	}
	fmt.Fprintf(out, "tests of packages: %.0f s in all (before %.0f s)\n", sumIs, sumWas)
}
