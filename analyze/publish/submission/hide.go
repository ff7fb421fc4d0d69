package submission

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
)

// ErrHide means that a word cannot be hidden.
var ErrHide = errors.New("cannot be hidden")

// hide replaces a word everywhere, even inside other words. It fails for words that occur in every
// record or in numbers.
func (n *names) hide(word string) error {
	key := strings.ToLower(strings.TrimSpace(word))
	switch {
	case len(key) < 3:
		return fmt.Errorf("%w: %q has fewer than three characters, which stand inside other words", ErrHide, word)
	case !strings.ContainsFunc(key, unicode.IsLetter) || plain(key):
		return fmt.Errorf("%w: %q is a number, and numbers of a record stay as they are", ErrHide, word)
	case isPseudonym(key):
		return fmt.Errorf("%w: %q looks like a pseudonym already", ErrHide, word)
	}
	for ordinary := range n.ordinary {
		if strings.Contains(ordinary, key) {
			return fmt.Errorf("%w: %q is, or is a part of, a word that every record has, and without it the record could not be read", ErrHide, word)
		}
	}
	n.hidden[key] = true
	n.of(kindWord, word)
	return nil
}
