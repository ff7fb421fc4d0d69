//go:build !linux

package wakeup

import "errors"

// timer exists on Linux only.
type timer struct{}

func newTimer() (timer, error) { return timer{}, errors.ErrUnsupported }
func (timer) set(int64)        {}
func (timer) Close() error     { return nil }
