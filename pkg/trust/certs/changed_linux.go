package certs

import "syscall"

// changed returns when a file last changed, in nanoseconds since 1970.
func changed(s *syscall.Stat_t) int64 { return s.Ctim.Nano() }
