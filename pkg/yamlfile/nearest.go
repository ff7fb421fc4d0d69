package yamlfile

import (
	"fmt"
	"strings"
)

// Hint returns the end of a message about an unknown word: it suggests the nearest known word, or
// lists all known words if there are at most ten.
func Hint(word string, known []string) string {
	if near := Nearest(word, known); near != "" {
		return fmt.Sprintf(" (did you mean %q?)", near)
	}
	if len(known) > 0 && len(known) <= 10 {
		return fmt.Sprintf(" (known: %s)", strings.Join(known, ", "))
	}
	return ""
}

// Nearest returns the known word with the smallest edit distance to word, or else the shortest one
// that begins with word. It returns "" if every known word differs in more than a third of the
// bytes in word.
func Nearest(word string, known []string) string {
	best, bestDistance := "", max(1, len(word)/3)+1
	for _, k := range known {
		if strings.EqualFold(word, k) {
			return k
		}
		if d := distance(word, k); d < bestDistance {
			best, bestDistance = k, d
		}
	}
	if best != "" || len(word) < 3 {
		return best
	}
	for _, k := range known {
		if strings.HasPrefix(k, word) && (best == "" || len(k) < len(best)) {
			best = k
		}
	}
	return best
}

// distance returns how many bytes must be inserted, deleted, replaced or swapped with a neighbour
// to turn a into b (optimal string alignment).
func distance(a, b string) int {
	if d := len(a) - len(b); max(d, -d) > 40 {
		return max(d, -d)
	}
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
