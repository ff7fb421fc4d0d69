//go:build !linux

package agent

import "errors"

// openProcess works only on Linux, like agents.
func openProcess(int) (fd int, err error) { return 0, errors.ErrUnsupported }
