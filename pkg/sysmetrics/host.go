package sysmetrics

import (
	"errors"

	"github.com/coreos/dbtester/pkg/results"
)

// HostFacts describes this machine. What can't be read is left empty and named
// in the error.
func HostFacts() (results.Host, error) { return results.Host{}, errors.ErrUnsupported }
