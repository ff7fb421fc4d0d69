package consul

import (
	"errors"
	"fmt"
	"net/url"
)

// A key is sent in the path of a URL. Consul refuses or rewrites paths with unprintable bytes, or
// with an empty, "." or ".." element. The driver writes such bytes, and "%", as %XX, so different
// keys have different names. Keys of printable ASCII without "%", and without "/" or "." at the
// start of an element, are stored unchanged. Only the empty key cannot be stored.

var errEmptyKey = errors.New("consul can't store the empty key")

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

// decodeKey returns the key that is stored under a name. A name that encodeKey does not write is its
// own key.
func decodeKey(name string) string {
	if key, err := url.PathUnescape(name); err == nil {
		return key
	}
	return name
}

// escaped reports whether byte i of a key must be written as %XX.
func escaped(key []byte, i int) bool {
	switch c := key[i]; {
	case c < ' ' || c > '~' || c == '%':
		return true
	case c == '/' || c == '.':
		return i == 0 || key[i-1] == '/'
	}
	return false
}
