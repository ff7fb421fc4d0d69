package config

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"
)

// given is a value that a file may give: where, and under which key. The zero
// given was not given.
type given[T any] struct {
	is  T
	key string
	at  *yaml.Node
}

// set reports whether the file gave the value.
func (g given[T]) set() bool { return g.at != nil }

// or is the value, or d if the file gave none.
func (g given[T]) or(d T) T {
	if g.set() {
		return g.is
	}
	return d
}

// place is where a file gives a value, and under which key.
type place struct {
	key string
	at  *yaml.Node
}

func (g given[T]) place() place { return place{g.key, g.at} }

// written are the places that a file has, in its order.
func written(places ...place) []place {
	places = slices.DeleteFunc(places, func(p place) bool { return p.at == nil })
	slices.SortFunc(places, func(a, b place) int {
		return cmp.Or(cmp.Compare(a.at.Line, b.at.Line), cmp.Compare(a.at.Column, b.at.Column))
	})
	return places
}

// into reads a value with parse into g. A value that does not parse counts as
// not given: its problem was reported.
func into[T any](g *given[T], parse func(key string, node *yaml.Node) (T, bool)) func(string, *yaml.Node) {
	return func(key string, node *yaml.Node) {
		if is, ok := parse(key, node); ok {
			*g = given[T]{is, key, node}
		}
	}
}

// scalar returns the text of a scalar that is not empty.
func (r *reader) scalar(key string, node *yaml.Node, want string) (string, bool) {
	if node.Kind != yaml.ScalarNode || isNull(node) {
		r.errorf(node, "%s: want %s, got %s", key, want, describe(node))
		return "", false
	}
	return node.Value, true
}

// text accepts any scalar as it is written: 3.10 stays 3.10.
func (r *reader) text(key string, node *yaml.Node) (string, bool) {
	return r.scalar(key, node, "text")
}

// truth reads a boolean; classic files may also say yes, no, on and off.
func (r *reader) truth(key string, node *yaml.Node) (bool, bool) {
	s, ok := r.scalar(key, node, "true or false")
	if !ok {
		return false, false
	}
	if node.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) == 0 {
		switch word := strings.ToLower(s); {
		case word == "true", r.classic && (word == "yes" || word == "on" || word == "y"):
			return true, true
		case word == "false", r.classic && (word == "no" || word == "off" || word == "n"):
			return false, true
		}
	}
	r.errorf(node, "%s: want true or false, got %s", key, describe(node))
	return false, false
}

// whole reads a whole number that is not negative; 1e6 is one.
func (r *reader) whole(key string, node *yaml.Node) (int64, bool) {
	const want = "a whole number"
	if _, ok := r.scalar(key, node, want); !ok {
		return 0, false
	}
	n, ok := wholeNumber(node)
	switch {
	case !ok:
		r.errorf(node, "%s: want %s, got %s", key, want, describe(node))
		return 0, false
	case n < 0:
		r.errorf(node, "%s: %d is negative", key, n)
		return 0, false
	}
	return n, true
}

func wholeNumber(node *yaml.Node) (int64, bool) {
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

func decodeInto(node *yaml.Node, v any) bool { return node.Decode(v) == nil }

// small reads a whole number that fits in the counts of clients and sizes.
func (r *reader) small(key string, node *yaml.Node) (int, bool) {
	n, ok := r.whole(key, node)
	if ok && n > math.MaxInt32 {
		r.errorf(node, "%s: %d is too large", key, n)
		return 0, false
	}
	return int(n), ok
}

// port reads a TCP port.
func (r *reader) port(key string, node *yaml.Node) (int, bool) {
	n, ok := r.whole(key, node)
	if ok && (n < 1 || n > math.MaxUint16) {
		r.errorf(node, "%s: %d is no port (1 to 65535)", key, n)
		return 0, false
	}
	return int(n), ok
}

// seed reads any number that a generator can start from.
func (r *reader) seed(key string, node *yaml.Node) (uint64, bool) {
	const want = "a whole number"
	if _, ok := r.scalar(key, node, want); !ok {
		return 0, false
	}
	var n uint64
	if node.ShortTag() != "!!int" || !decodeInto(node, &n) {
		r.errorf(node, "%s: want %s, got %s", key, want, describe(node))
		return 0, false
	}
	return n, true
}

// number reads any number that YAML knows, infinite ones and none too.
func (r *reader) number(key string, node *yaml.Node) (float64, bool) {
	const want = "a number"
	if _, ok := r.scalar(key, node, want); !ok {
		return 0, false
	}
	var f float64
	if tag := node.ShortTag(); (tag != "!!int" && tag != "!!float") || !decodeInto(node, &f) {
		r.errorf(node, "%s: want %s, got %s", key, want, describe(node))
		return 0, false
	}
	return f, true
}

// rate reads requests per second.
func (r *reader) rate(key string, node *yaml.Node) (float64, bool) {
	f, ok := r.number(key, node)
	if ok && (math.IsNaN(f) || f < 0 || f > 1e9) {
		r.errorf(node, "%s: %s is not between 0 and 1e9 requests per second", key, node.Value)
		return 0, false
	}
	return f, ok
}

// duration reads a Go duration such as 10s or 1m30s.
func (r *reader) duration(key string, node *yaml.Node) (time.Duration, bool) {
	const want = "a duration such as 10s"
	s, ok := r.scalar(key, node, want)
	if !ok {
		return 0, false
	}
	d, err := time.ParseDuration(s)
	if err != nil {
		if _, err := strconv.ParseFloat(s, 64); err == nil {
			r.errorf(node, "%s: %s has no unit (did you mean %ss?)", key, s, s)
		} else {
			r.errorf(node, "%s: want %s, got %s", key, want, describe(node))
		}
		return 0, false
	}
	if d < 0 {
		r.errorf(node, "%s: %s is negative", key, s)
		return 0, false
	}
	return d, true
}

// size reads a number of bytes: 256, 256B, 1KB (1000) or 1KiB (1024).
func (r *reader) size(key string, node *yaml.Node) (int, bool) {
	const want = "a size such as 256, 256B or 1KiB"
	s, ok := r.scalar(key, node, want)
	if !ok {
		return 0, false
	}
	if node.ShortTag() == "!!int" || node.ShortTag() == "!!float" {
		return r.small(key, node)
	}
	n, ok := byteCount(s)
	if !ok {
		r.errorf(node, "%s: want %s, got %s", key, want, describe(node))
	}
	return n, ok
}

// byteCount is a number of bytes, with a unit or without.
func byteCount(s string) (int, bool) {
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
	if err != nil || bytes != math.Trunc(bytes) || bytes > math.MaxInt32 {
		return 0, false
	}
	return int(bytes), true
}

func sizeUnits() map[string]float64 {
	return map[string]float64{
		"B": 1, "KB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30,
	}
}

// oneOf returns a reader of one word of a closed set.
func (r *reader) oneOf(known ...string) func(string, *yaml.Node) (string, bool) {
	return func(key string, node *yaml.Node) (string, bool) {
		s, ok := r.text(key, node)
		if !ok {
			return "", false
		}
		for _, k := range known {
			if s == k {
				return s, true
			}
		}
		r.errorf(node, "%s: unknown value %q%s", key, s, hint(s, known))
		return "", false
	}
}

// texts reads a list of texts.
func (r *reader) texts(key string, node *yaml.Node) ([]string, bool) {
	items, ok := r.items(key, node)
	if !ok {
		return nil, false
	}
	var list []string
	for _, item := range items {
		if s, ok := r.text(key, item); ok {
			list = append(list, s)
		}
	}
	return list, true
}
