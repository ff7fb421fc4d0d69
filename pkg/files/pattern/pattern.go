// Package pattern has regular expressions that are compiled when they are first used. Most
// commands use few of the program's, and the larger ones take up to 100 KiB each.
package pattern

import (
	"regexp"
	"sync"
)

// New returns an expression. The first call of it compiles the expression and panics if that
// fails. It is safe for concurrent use.
func New(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
