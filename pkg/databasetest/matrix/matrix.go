// Package matrix writes the tables in test-results/matrix.md: how tests disturbed runs, how the
// runs ended, their leftovers, and how the next run went.
package matrix

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Env names the folder that tables are written to. It is set by make matrix.
const Env = "DBTESTER_MATRIX"

// Whole reports whether the whole matrix is asked for. Without it, tests do one case of each kind.
func Whole() bool { return os.Getenv(Env) != "" }

// Row describes one disturbed run.
type Row struct {
	// Step is the step the run was in, and Done the disturbance.
	Step, Done string
	// Ended is how the run ended, Left the things it left, and Next how the next run ended.
	Ended, Left, Next string
}

// Table holds the rows for a test. It is safe for concurrent use.
type Table struct {
	title string
	mu    sync.Mutex
	rows  []Row
}

// New returns a table written as NAME.md into the folder of [Env] when the test ends. Without such
// a folder its rows are only logged.
func New(t testing.TB, name, title string) *Table {
	m := &Table{title: title}
	t.Cleanup(func() {
		if dir := os.Getenv(Env); dir != "" {
			if err := os.WriteFile(filepath.Join(dir, name+".md"), []byte(m.String()), 0o644); err != nil {
				t.Errorf("write the table: %v", err)
			}
		}
	})
	return m
}

// Add adds a row. The table sorts rows by Done, and those with the same Done in the order in which
// they were added.
func (m *Table) Add(t testing.TB, r Row) {
	t.Helper()
	r.Left = cmp.Or(r.Left, "nothing")
	t.Logf("%s at %q: %s; left %s; next run: %s", r.Done, r.Step, r.Ended, r.Left, r.Next)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.rows = append(m.rows, r)
}

// String returns the table as Markdown, below its title.
func (m *Table) String() string {
	m.mu.Lock()
	rows := slices.Clone(m.rows)
	m.mu.Unlock()
	slices.SortStableFunc(rows, func(a, b Row) int { return cmp.Compare(a.Done, b.Done) })
	var b strings.Builder
	fmt.Fprintf(&b, "## %s\n\n| step | done | how the run ended | left | the next run |\n|---|---|---|---|---|\n", m.title)
	for _, r := range rows {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", cell(r.Step), cell(r.Done), cell(r.Ended), cell(r.Left), cell(r.Next))
	}
	return b.String()
}

// longest bounds the text that a cell shows, in characters.
const longest = 240

// cell shortens a text to its first line, and escapes it for a table.
func cell(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	if r := []rune(line); len(r) > longest {
		line = string(r[:longest]) + " ..."
	}
	return strings.NewReplacer("|", `\|`, "<", "&lt;").Replace(line)
}
