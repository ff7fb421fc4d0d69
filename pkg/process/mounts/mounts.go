// Package mounts parses the mount list Linux keeps for each process.
package mounts

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// Mount is one line in mountinfo.
type Mount struct {
	// Major and Minor are the file system's device number.
	Major, Minor uint32
	// Root is the directory in the mounted file system that is seen at Point.
	Root, Point string
	// Type is the file system's type, Source its source, and Options its own options.
	Type, Source, Options string
	// MountOptions apply to this mount only.
	MountOptions string
}

// Parse parses proc_pid_mountinfo(5): six fields, any number of optional fields, a dash, and three
// more fields. Package procfs keeps the octal escapes in paths, so mount points with spaces would
// not be found with its parser.
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

// Unescape decodes the octal escapes for white space and backslashes in mountinfo.
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
