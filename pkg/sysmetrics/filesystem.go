package sysmetrics

import "errors"

// Filesystem returns the type of the file system that dir lies on, such as
// "ext4" or "tmpfs", and its block device as named in /proc/diskstats; device is
// empty if there is none.
func Filesystem(dir string) (fstype, device string, err error) {
	return "", "", errors.ErrUnsupported
}
