package certs

import "syscall"

// changed is when a file changed last, in nanoseconds since 1970.
func changed(s *syscall.Stat_t) int64 { return s.Ctim.Nano() }
