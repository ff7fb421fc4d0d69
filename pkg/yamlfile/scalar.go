package yamlfile

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/coreos/dbtester/pkg/files/plaintext"
)

// scalar returns the text of a scalar that is not null; want names the expected value. Only [Prose]
// may have control characters: paths, names and addresses go into command lines, server files,
// manifests and terminals.
func scalar(r *Reader, key string, node *Node, want string) (string, bool) {
	if node.Kind != yaml.ScalarNode || IsNull(node) {
		r.Errorf(node, "%s: want %s, got %s", key, want, Describe(node))
		return "", false
	}
	if plaintext.Line(node.Value) != node.Value {
		r.Errorf(node, "%s: want %s without control characters and line breaks, got %s", key, want, Describe(node))
		return "", false
	}
	return node.Value, true
}

// Prose reads text for people, which may have several lines.
func Prose(r *Reader, key string, node *Node) (string, bool) {
	if node.Kind != yaml.ScalarNode || IsNull(node) {
		return scalar(r, key, node, "text")
	}
	if plaintext.Visible(node.Value) != node.Value {
		r.Errorf(node, "%s: want text without control characters, got %s", key, Describe(node))
		return "", false
	}
	return node.Value, true
}

// Text reads any scalar as written: 3.10 stays 3.10.
func Text(r *Reader, key string, node *Node) (string, bool) {
	return scalar(r, key, node, "text")
}

// Filled reads text that is not empty.
func Filled(r *Reader, key string, node *Node) (string, bool) {
	s, ok := Text(r, key, node)
	if ok && s == "" {
		r.Errorf(node, "%s: is empty", key)
		return "", false
	}
	return s, ok
}

// Truth reads a boolean: true or false, and with [Reader.OldBooleans] also the words of YAML 1.1.
func Truth(r *Reader, key string, node *Node) (bool, bool) {
	s, ok := truth(r, key, node, "true or false")
	return s == "true", ok
}

// TruthOr returns a parser for booleans, as [Truth] reads them, and one other word. It returns
// booleans as "true" and "false".
func TruthOr(word string) Parser[string] {
	return func(r *Reader, key string, node *Node) (string, bool) {
		if IsText(node) && node.Value == word {
			return word, true
		}
		return truth(r, key, node, "true, false or "+word)
	}
}

// truth reads a boolean, and returns it as "true" or "false".
func truth(r *Reader, key string, node *Node, want string) (string, bool) {
	s, ok := scalar(r, key, node, want)
	if !ok {
		return "", false
	}
	if node.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) == 0 {
		switch word := strings.ToLower(s); {
		case word == "true", r.OldBooleans && (word == "yes" || word == "on" || word == "y"):
			return "true", true
		case word == "false", r.OldBooleans && (word == "no" || word == "off" || word == "n"):
			return "false", true
		}
	}
	r.Errorf(node, "%s: want %s, got %s", key, want, Describe(node))
	return "", false
}

// Whole reads a whole number, 0 or more. 1e6 is a whole number.
func Whole(r *Reader, key string, node *Node) (int64, bool) {
	const want = "a whole number"
	if _, ok := scalar(r, key, node, want); !ok {
		return 0, false
	}
	n, ok := wholeNumber(node)
	switch {
	case !ok:
		r.Errorf(node, "%s: want %s, got %s", key, want, Describe(node))
		return 0, false
	case n < 0:
		r.Errorf(node, "%s: %d is negative", key, n)
		return 0, false
	}
	return n, true
}

func wholeNumber(node *Node) (int64, bool) {
	switch node.ShortTag() {
	case "!!int":
		var n int64
		if !decodeInto(node, &n) {
			return 0, false
		}
		return n, true
	case "!!float":
		var f float64
		if !decodeInto(node, &f) || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
			return 0, false
		}
		return int64(f), true
	}
	return 0, false
}

func decodeInto(node *Node, v any) bool { return node.Decode(v) == nil }

// Small reads a whole number from 0 to the largest int32.
func Small(r *Reader, key string, node *Node) (int, bool) {
	n, ok := Whole(r, key, node)
	if ok && n > math.MaxInt32 {
		r.Errorf(node, "%s: %d is too large", key, n)
		return 0, false
	}
	return int(n), ok
}

// Port reads a port from 1 to 65535.
func Port(r *Reader, key string, node *Node) (int, bool) {
	n, ok := Whole(r, key, node)
	if ok && (n < 1 || n > math.MaxUint16) {
		r.Errorf(node, "%s: must be 1 to 65535, got %d", key, n)
		return 0, false
	}
	return int(n), ok
}

// Unsigned reads any whole number from 0 to the largest uint64.
func Unsigned(r *Reader, key string, node *Node) (uint64, bool) {
	const want = "a whole number"
	if _, ok := scalar(r, key, node, want); !ok {
		return 0, false
	}
	var n uint64
	if node.ShortTag() != "!!int" || !decodeInto(node, &n) {
		r.Errorf(node, "%s: want %s, got %s", key, want, Describe(node))
		return 0, false
	}
	return n, true
}

// Number reads any YAML number, including .inf and .nan.
func Number(r *Reader, key string, node *Node) (float64, bool) {
	const want = "a number"
	if _, ok := scalar(r, key, node, want); !ok {
		return 0, false
	}
	var f float64
	if tag := node.ShortTag(); (tag != "!!int" && tag != "!!float") || !decodeInto(node, &f) {
		r.Errorf(node, "%s: want %s, got %s", key, want, Describe(node))
		return 0, false
	}
	return f, true
}

// PerSecond reads a rate from 0 to 1e9 requests per second.
func PerSecond(r *Reader, key string, node *Node) (float64, bool) {
	f, ok := Number(r, key, node)
	if ok && (math.IsNaN(f) || f < 0 || f > 1e9) {
		r.Errorf(node, "%s: %s is not between 0 and 1e9 requests per second", key, node.Value)
		return 0, false
	}
	return f, ok
}

// Percent reads a share from 0% to 100%, including its sign: 99.5 for 99.5%.
func Percent(r *Reader, key string, node *Node) (float64, bool) {
	const want = "a percentage such as 99.5%"
	s, ok := scalar(r, key, node, want)
	if !ok {
		return 0, false
	}
	digits, signed := strings.CutSuffix(s, "%")
	f, err := strconv.ParseFloat(strings.TrimSpace(digits), 64)
	switch {
	case err != nil || math.IsNaN(f):
		r.Errorf(node, "%s: want %s, got %s", key, want, Describe(node))
	case !signed:
		r.Errorf(node, "%s: %s has no %% (did you mean %s%%?)", key, s, s)
	case f < 0 || f > 100:
		r.Errorf(node, "%s: %s is not between 0%% and 100%%", key, s)
	default:
		return f, true
	}
	return 0, false
}

// Duration reads a Go duration such as 10s or 1m30s.
func Duration(r *Reader, key string, node *Node) (time.Duration, bool) {
	return durationLike(r, key, node, "s")
}

// durationLike parses like Duration, and suggests unit for a number without a unit.
func durationLike(r *Reader, key string, node *Node, unit string) (time.Duration, bool) {
	const want = "a duration such as 10s"
	s, ok := scalar(r, key, node, want)
	if !ok {
		return 0, false
	}
	d, err := time.ParseDuration(s)
	if err != nil {
		if _, err := strconv.ParseFloat(s, 64); err == nil {
			r.Errorf(node, "%s: %s has no unit (did you mean %s%s?)", key, s, s, unit)
		} else {
			r.Errorf(node, "%s: want %s, got %s", key, want, Describe(node))
		}
		return 0, false
	}
	if d < 0 {
		r.Errorf(node, "%s: %s is negative", key, s)
		return 0, false
	}
	return d, true
}

// wantSize describes sizes.
const wantSize = "a size such as 256, 256B or 1KiB"

// LargeSize reads a byte count with a unit, like Size, but beyond the largest int32.
func LargeSize(r *Reader, key string, node *Node) (int64, bool) {
	s, ok := scalar(r, key, node, wantSize)
	if !ok {
		return 0, false
	}
	n, ok := parseSize(s)
	if !ok {
		r.Errorf(node, "%s: want %s, got %s", key, wantSize, Describe(node))
	}
	return n, ok
}

// Size reads a byte count: 256, 256B, 1KB (1000) or 1KiB (1024).
func Size(r *Reader, key string, node *Node) (int, bool) {
	const want = wantSize
	s, ok := scalar(r, key, node, want)
	if !ok {
		return 0, false
	}
	if node.ShortTag() == "!!int" || node.ShortTag() == "!!float" {
		return Small(r, key, node)
	}
	n, ok := Bytes(s)
	if !ok {
		r.Errorf(node, "%s: want %s, got %s", key, want, Describe(node))
	}
	return n, ok
}

// Bytes parses a byte count with or without a unit, up to the largest int32.
func Bytes(s string) (int, bool) {
	n, ok := parseSize(s)
	return int(n), ok && n <= math.MaxInt32
}

// parseSize parses a byte count, up to 2^53.
func parseSize(s string) (int64, bool) {
	number, unit := s, 1.0
	if i := strings.IndexFunc(s, func(c rune) bool { return c != '.' && (c < '0' || c > '9') }); i >= 0 {
		var known bool
		if unit, known = sizeUnits()[strings.TrimSpace(s[i:])]; !known {
			return 0, false
		}
		number = s[:i]
	}
	n, err := strconv.ParseFloat(number, 64)
	bytes := n * unit
	if err != nil || bytes != math.Trunc(bytes) || bytes > 1<<53 {
		return 0, false
	}
	return int64(bytes), true
}

func sizeUnits() map[string]float64 {
	return map[string]float64{
		"B": 1, "KB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30,
	}
}

// OneOf returns a parser for words from a closed set.
func OneOf(known ...string) Parser[string] {
	return func(r *Reader, key string, node *Node) (string, bool) {
		s, ok := Text(r, key, node)
		if !ok {
			return "", false
		}
		if slices.Contains(known, s) {
			return s, true
		}
		r.Errorf(node, "%s: unknown value %q%s", key, s, Hint(s, known))
		return "", false
	}
}

// List returns a parser for lists of such items. Items that fail to parse are left out.
func List[T any](item Parser[T]) Parser[[]T] {
	return func(r *Reader, key string, node *Node) ([]T, bool) {
		items, ok := r.Items(key, node)
		if !ok {
			return nil, false
		}
		var list []T
		for _, n := range items {
			if v, ok := item(r, key, n); ok {
				list = append(list, v)
			}
		}
		return list, true
	}
}

// TextMap reads a mapping from any keys to texts.
func TextMap(r *Reader, key string, node *Node) (map[string]string, bool) {
	texts := map[string]string{}
	for _, p := range r.Pairs(key, node) {
		if s, ok := Text(r, p.Key.Value, p.Value); ok {
			texts[p.Key.Value] = s
		}
	}
	return texts, true
}
