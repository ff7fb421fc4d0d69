package headline

import (
	"strings"
	"testing"

	"github.com/coreos/dbtester/pkg/mark"
)

// TestForemost: an answer that no register gives is the first line on every first screen, and marks
// about speed are not.
func TestForemost(t *testing.T) {
	h := &Headline{What: "a load", Verdict: "a is faster."}
	h.Trust.Reasons = []Reason{
		{Code: mark.Outcomes, Of: []string{"a"}, Invalid: true, Text: "few answers"},
		{Code: mark.NotLinearizable, Of: []string{"b"}, Invalid: true, Text: "3 of 9 requests"},
	}
	const want = "NOT LINEARIZABLE: b: 3 of 9 requests"
	for name, text := range map[string]string{"text": h.Top()[0], "screen": h.Screen(), "Markdown": strings.Trim(h.foremostMarkdown(), "*\n")} {
		if first, _, _ := strings.Cut(text, "\n"); first != want {
			t.Errorf("%s begins with %q, want %q", name, first, want)
		}
	}
}
