//go:build !linux

package process

import "syscall"

// Start needs /proc and fails on systems other than Linux, so nothing in this file but WithStarter is
// called with a running child.

// WithStarter returns attributes for a child, which this system does not end with this process.
func WithStarter() *syscall.SysProcAttr { return &syscall.SysProcAttr{} }

func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
func onMainThread() bool               { return false }
func waitEnd(int)                      {}
func ended(int) bool                   { return false }
