//go:build !linux

package process

import "syscall"

// Start needs /proc and fails on systems other than Linux, so nothing in this file is called with a
// running child.

func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
func onMainThread() bool               { return false }
func waitEnd(int)                      {}
func ended(int) bool                   { return false }
