// Package sysmetrics reads what Linux counts about a machine and about one tree
// of processes on it, from /proc. Each source has a file of its own, in which
// parsing is apart from reading.
package sysmetrics

import (
	"errors"
	"time"

	"github.com/coreos/dbtester/pkg/results"
)

// Options say what a Sampler reads.
type Options struct {
	// PIDs returns the processes to sample, the main one first, whenever a sample
	// is taken. Processes may come and go between samples.
	PIDs func() []int
	// Tree samples the descendants of PIDs too, and counts CPU time of ended ones.
	// Without it, CPU time is the processes' own. (Disk bytes of a child that was
	// waited for are its parent's in the kernel's books, with and without it.)
	Tree bool
	// Dir is the data directory, whose block device is sampled.
	Dir string
	// Device, as in /proc/diskstats, and Interface override what is found by Dir
	// and Addr.
	Device, Interface string
	// Addr is the address whose traffic is of interest: one of this machine's, or
	// one that this machine talks to. Empty means the default route's.
	Addr string
	// Clients returns the number of clients control last said; nil means none did.
	Clients func() int64
	// Root is where proc is mounted; empty means /proc.
	Root string
}

// Sampler reads samples of one process tree and its machine. It is safe for
// concurrent use; samples are taken one at a time.
type Sampler struct {
	options Options
	device  string
	iface   string
}

// NewSampler finds the device and the interface once and keeps them.
func NewSampler(o Options) (*Sampler, error) {
	return &Sampler{options: o}, errors.ErrUnsupported
}

// Device is the block device that is sampled, as in /proc/diskstats; empty if
// the data directory has none (tmpfs, overlay).
func (s *Sampler) Device() string { return s.device }

// Interface is the network interface that is sampled.
func (s *Sampler) Interface() string { return s.iface }

// Sample reads once. Whatever could not be read is -1 in the sample and named in
// the error; the sample is good for the rest.
func (s *Sampler) Sample() (results.Sample, error) {
	return results.Sample{UnixNano: time.Now().UnixNano()}, errors.ErrUnsupported
}
