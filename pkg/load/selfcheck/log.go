package selfcheck

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
)

// entry is one request in the server log. Times are nanoseconds by the server's monotonic clock.
type entry struct{ number, received, replied int64 }

const logHeader = "number,received_ns,replied_ns\n"

func writeLog(path string, entries []entry) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("write the server's log: %w", err)
	}
	defer func() {
		if err = errors.Join(err, f.Close()); err != nil {
			err = fmt.Errorf("write the server's log: %w", err)
		}
	}()
	w := bufio.NewWriter(f)
	w.WriteString(logHeader) // Flush returns any error
	for _, e := range entries {
		w.Write(fmt.Appendf(w.AvailableBuffer(), "%d,%d,%d\n", e.number, e.received, e.replied))
	}
	return w.Flush()
}

// delay returns the server's part in the latency, in nanoseconds.
func (e entry) delay() int64 { return e.replied - e.received }

// readLog returns the entries in a log, in file order.
func readLog(path string) ([]entry, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read the server's log: %w", err)
	}
	defer f.Close()
	var entries []entry
	lines := bufio.NewScanner(f)
	lines.Scan() // the header
	for lines.Scan() {
		var e entry
		if _, err := fmt.Sscanf(lines.Text(), "%d,%d,%d", &e.number, &e.received, &e.replied); err != nil {
			return nil, fmt.Errorf("read the server's log: line %q: %w", lines.Text(), err)
		}
		entries = append(entries, e)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read the server's log: %w", err)
	}
	return entries, nil
}

// inOrder sorts entries by number. Numbers must be 0, 1, 2 and so on.
func inOrder(entries []entry) error {
	slices.SortFunc(entries, func(a, b entry) int { return cmp.Compare(a.number, b.number) })
	for i, e := range entries {
		if e.number != int64(i) {
			return fmt.Errorf("the server's log must have every request once, got request %d in place of %d", e.number, i)
		}
	}
	return nil
}
