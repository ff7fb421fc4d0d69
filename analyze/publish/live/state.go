package live

import (
	"slices"
	"strings"
	"time"
	"unicode"
)

// state is a snapshot of a run. The data that it refers to does not change.
type state struct {
	step  string
	at    time.Time
	now   Of
	said  []said
	loads []oneLoad
}

// said is the text for an event or for a step in the run.
type said struct {
	of   Of
	at   time.Time
	text string
	step bool
}

// follows reports whether a step continues the one before: their texts differ only in numbers.
func (s said) follows(before said) bool {
	return s.step && before.step && s.of == before.of && withoutDigits(s.text) == withoutDigits(before.text)
}

func withoutDigits(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsDigit(r) {
			return -1
		}
		return r
	}, text)
}

// current returns the load on the current database, nil before the first.
func (s *state) current() *oneLoad {
	i := slices.IndexFunc(s.loads, func(l oneLoad) bool { return l.of.Tag == s.now.Tag })
	if i < 0 {
		return nil
	}
	return &s.loads[i]
}
