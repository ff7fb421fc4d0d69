package yamlfile

import (
	"errors"
	"fmt"
)

// MaxOptions is the maximum size of driver options, in bytes.
const MaxOptions = 64 << 10

// DecodeOptions decodes YAML of at most [MaxOptions] bytes over the defaults that options points
// to, in time and memory proportional to its size. Unknown keys and repeated keys are errors, with
// their line and column. Empty data leaves the defaults.
func DecodeOptions(data []byte, options any) error {
	if len(data) == 0 {
		return nil
	}
	if len(data) > MaxOptions {
		return fmt.Errorf("options must be at most %d bytes, got %d", MaxOptions, len(data))
	}
	r := New("options")
	if root := r.Document(data); root != nil {
		ReadOptions(r, "options", root, options)
	}
	if err := r.Err(); err != nil {
		return errors.Join(errors.New("decode options"), err)
	}
	return nil
}
