// Package mounts parses the list of mounts that Linux keeps for each process.
package mounts

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// Mount is one line of mountinfo.
type Mount struct {
	// Major and Minor are the number of the file system's device.
	Major, Minor uint32
	// Root is the directory of the file system that is mounted, at Point.
	Root, Point string
	// Type is that of the file system, Source what it was made of, and Options are its own.
	Type, Source, Options string
	// MountOptions are of this mount alone.
	MountOptions string
}

// Parse parses proc_pid_mountinfo(5): six fields, any number of optional
// ones, a dash, and three more. Package procfs leaves the octal escapes in paths, so
// mounts with blanks would not be found with its parser.
func Parse(data []byte) ([]Mount, error) {
	var all []Mount
	for line := range bytes.Lines(data) {
		left, right, ok := strings.Cut(string(line), " - ")
		before, after := strings.Fields(left), strings.Fields(right)
		if !ok || len(before) < 6 || len(after) < 2 {
			return nil, fmt.Errorf("mountinfo line %q", line)
		}
		var m Mount
		if _, err := fmt.Sscanf(before[2], "%d:%d", &m.Major, &m.Minor); err != nil {
			return nil, fmt.Errorf("mountinfo line %q: device: %w", line, err)
		}
		m.MountOptions = before[5]
		m.Root, m.Point, m.Type, m.Source = Unescape(before[3]), Unescape(before[4]), after[0], Unescape(after[1])
		if len(after) > 2 {
			m.Options = after[2]
		}
		all = append(all, m)
	}
	return all, nil
}

// Unescape undoes the octal escapes of blanks and backslashes in mountinfo.
func Unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// Within reports whether path is point or below it.
func Within(path, point string) bool {
	return path == point || point == "/" || strings.HasPrefix(path, point+"/")
}
