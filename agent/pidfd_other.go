//go:build !linux

package agent

import "errors"

// openProcess works on Linux only, as agents do.
func openProcess(int) (fd int, err error) { return 0, errors.ErrUnsupported }
