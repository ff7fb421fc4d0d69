package agent

import (
	"io"
	"strings"
	"testing"
)

// zeros is a log without an end.
type zeros struct{}

func (zeros) ReadAt(p []byte, _ int64) (int, error) { clear(p); return len(p), nil }

func TestExcerpt(t *testing.T) {
	for size, cut := range map[int64]string{maxLog: "", maxLog + 7: "7 bytes of this log were not collected"} {
		var text strings.Builder
		n, err := io.Copy(&text, excerpt(zeros{}, size))
		if err != nil || n > maxLog+200 || !strings.Contains(text.String(), cut) || (cut == "" && n != size) {
			t.Errorf("of %d bytes %d were collected (%v), want at most %d and the cut named %q", size, n, err, maxLog, cut)
		}
	}
}
