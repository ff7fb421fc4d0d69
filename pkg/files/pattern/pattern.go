// Package pattern has regular expressions that are compiled on first use. Most commands use few of
// the expressions in the program, and the larger ones take up to 100 KiB each.
package pattern

import (
	"regexp"
	"sync"
)

// New returns a function that returns the expression. Its first call compiles the expression and
// panics if that fails. It is safe for concurrent use.
func New(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
