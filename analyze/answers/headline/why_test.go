package headline

import (
	"strings"
	"testing"

	"github.com/coreos/dbtester/analyze/abilities"
)

// The sentence about the mean response time is on every first screen, unless a card replaces it.
func TestWhy(t *testing.T) {
	const sentence = "Where the mean response time went: partly syncs, 35 to 40 %."
	h := &Headline{What: "a load", Verdict: "a is faster.", Why: &abilities.Explanation{Sentence: sentence}}
	h.Answer = nil
	texts := func() map[string]string { return map[string]string{"text": h.Text(), "screen": h.Screen()} }
	for name, text := range texts() {
		if strings.Count(text, sentence) != 1 {
			t.Errorf("%s must have the sentence once:\n%s", name, text)
		}
	}
	h.Card = &abilities.Card{Head: []string{"fault"}, Rows: [][]string{{"kill"}}}
	for name, text := range texts() {
		if strings.Contains(text, sentence) {
			t.Errorf("%s of a card must not have the sentence:\n%s", name, text)
		}
	}
	if h = (&Headline{}); h.WhyText() != "" {
		t.Error("what is not known must have no sentence")
	}
}
