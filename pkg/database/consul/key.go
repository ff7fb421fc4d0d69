package consul

import (
	"errors"
	"fmt"
)

// Keys travel in the path of a URL, and Consul refuses or rewrites some paths:
// bytes that are not printable text, an empty, "." or ".." element. The driver
// therefore takes any key but the empty one and writes such a byte as %XX, and
// "%" itself too, so that no two keys become one. Keys of printable ASCII
// without "%", with neither "/" nor "." at the start of an element, are stored
// as they are.

// errEmptyKey says that Consul has no empty key.
var errEmptyKey = errors.New("the empty key can't be stored")

// encodeKey returns the name under which a key is stored.
func encodeKey(key []byte) (string, error) {
	if len(key) == 0 {
		return "", errEmptyKey
	}
	for i := range key {
		if escaped(key, i) {
			return encodeFrom(key, i), nil
		}
	}
	return string(key), nil
}

// encodeFrom encodes a key whose first n bytes need no escape.
func encodeFrom(key []byte, n int) string {
	name := append(make([]byte, 0, 3*len(key)), key[:n]...)
	for i := n; i < len(key); i++ {
		if escaped(key, i) {
			name = fmt.Appendf(name, "%%%02X", key[i])
		} else {
			name = append(name, key[i])
		}
	}
	return string(name)
}

// escaped says whether byte i of a key can't stand for itself.
func escaped(key []byte, i int) bool {
	switch c := key[i]; {
	case c < ' ' || c > '~' || c == '%':
		return true
	case c == '/' || c == '.':
		return i == 0 || key[i-1] == '/'
	}
	return false
}
