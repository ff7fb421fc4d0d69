package certs

import "syscall"

// changed returns the time of a file's last change in nanoseconds since 1970.
func changed(s *syscall.Stat_t) int64 { return s.Ctim.Nano() }
