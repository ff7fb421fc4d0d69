package results

import "github.com/coreos/dbtester/pkg/files/linefile"

// ErrTruncated matches the error from a reader that dropped an incomplete last line, as a killed
// run leaves it. The rows before that line are good.
var ErrTruncated = linefile.ErrTruncated

// SyntaxError is malformed data in a result folder file.
type SyntaxError = linefile.SyntaxError
