// Package message makes error texts countable: those that differ only in numbers, addresses and
// ids become one, and their number is bounded.
package message

import (
	"net/netip"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// Limit is the number of distinct messages in a [Set], without the first message in each class.
	Limit = 100
	// Others stands for messages beyond the limit.
	Others = "others"
	// maxRead and maxText bound a message before and after, in bytes.
	maxRead = 1 << 10
	maxText = 240
)

// Normal returns a text with its numbers as N, addresses as ADDR, and hexadecimal ids as ID.
// Numbers with up to three digits after words such as code, status and error stay, because they
// name an error, and so do single digits after a letter, such as v1. Unprintable characters
// become question marks. Texts longer than 240 bytes are cut.
func Normal(text string) string {
	text = text[:min(len(text), maxRead)]
	var b strings.Builder
	b.Grow(min(len(text), maxText))
	before := "" // the word before
	for i := 0; i < len(text) && b.Len() < maxText; {
		n := wordAt(text[i:])
		if n == 0 {
			if c := text[i]; ' ' <= c && c < 0x7f {
				b.WriteByte(c)
				i++
				continue
			}
			r, size := utf8.DecodeRuneInString(text[i:])
			if r == utf8.RuneError || !unicode.IsPrint(r) {
				r = '?'
			}
			if text[i] == '\n' || text[i] == '\t' {
				r = ' '
			}
			b.WriteRune(r)
			i += size
			continue
		}
		word := text[i : i+n]
		writeWord(&b, word, before)
		before = word
		i += n
	}
	return strings.ToValidUTF8(b.String()[:min(b.Len(), maxText)], "")
}

// wordAt returns the length of the word at the start of a text. Punctuation inside a word belongs
// to it, as in an address.
func wordAt(text string) int {
	end := 0
	for n := 0; n < len(text); n++ {
		switch c := text[n]; {
		case isLetter(c), isDigit(c), c == ']' && n > 0:
			end = n + 1
		case c == '.', c == ':', c == '-', c == '_', c == '[':
		default:
			return end
		}
	}
	return end
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// writeWord writes a word that follows another one.
func writeWord(b *strings.Builder, word, before string) {
	switch {
	case !strings.ContainsAny(word, "0123456789"), isCode(word, before):
		b.WriteString(word)
	case isAddress(word):
		b.WriteString("ADDR")
	case isID(word):
		b.WriteString("ID")
	default:
		writeNumbers(b, word)
	}
}

// isCode reports whether a number names an error.
func isCode(word, before string) bool {
	digits := strings.TrimPrefix(word, "-")
	if len(digits) > 3 || strings.TrimLeft(digits, "0123456789") != "" {
		return false
	}
	for _, name := range [...]string{"code", "status", "error", "errno", "http"} {
		if len(before) >= len(name) && strings.EqualFold(before[len(before)-len(name):], name) {
			return true
		}
	}
	return false
}

// isAddress reports whether a word is an IP address, with or without a port.
func isAddress(word string) bool {
	if strings.Count(word, ".") < 3 && strings.Count(word, ":") < 2 {
		return false
	}
	if _, err := netip.ParseAddrPort(word); err == nil {
		return true
	}
	_, err := netip.ParseAddr(strings.Trim(word, "[]"))
	return err == nil
}

// isID reports whether a word is hexadecimal and at least eight digits long.
func isID(word string) bool {
	word = strings.TrimPrefix(word, "0x")
	return len(word) >= 8 && strings.Trim(word, "0123456789abcdefABCDEF-") == "" && strings.Trim(word, "0123456789-") != ""
}

// writeNumbers writes a word with its numbers as N.
func writeNumbers(b *strings.Builder, word string) {
	for i := 0; i < len(word); {
		if !isDigit(word[i]) {
			b.WriteByte(word[i])
			i++
			continue
		}
		end := i + 1
		for end < len(word) && (isDigit(word[end]) || word[end] == '.' && end+1 < len(word) && isDigit(word[end+1])) {
			end++
		}
		if end == i+1 && i > 0 && isLetter(word[i-1]) && (end == len(word) || !isLetter(word[end])) {
			b.WriteByte(word[i])
		} else {
			b.WriteByte('N')
		}
		i = end
	}
}

// Set decides which messages are counted separately. It is not safe for concurrent use.
type Set struct {
	normal   map[string]string // by seen text, at most maxKnown
	messages map[string]bool
	classes  map[string]bool
}

// maxKnown is the number of texts that a [Set] recognizes without reading them again.
const maxKnown = 1000

// NewSet returns an empty set.
func NewSet() *Set {
	return &Set{normal: map[string]string{}, messages: map[string]bool{}, classes: map[string]bool{}}
}

// Of returns the message by which an error is counted: its text as [Normal] returns it, or [Others]
// if there are too many messages. The first message of each class always counts separately, and the
// class stands for an empty text.
func (s *Set) Of(class, text string) string {
	normal, known := s.normal[text]
	if !known {
		normal = Normal(text)
		if len(s.normal) < maxKnown && len(text) <= maxRead {
			s.normal[text] = normal
		}
	}
	first := !s.classes[class]
	switch {
	case normal == "":
		return class
	case !first && s.messages[normal]:
		return normal
	case !first && len(s.messages) >= Limit:
		return Others
	}
	s.classes[class], s.messages[normal] = true, true
	return normal
}
