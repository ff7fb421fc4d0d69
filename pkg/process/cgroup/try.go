package cgroup

import (
	"fmt"
	"strings"

	"github.com/coreos/dbtester/pkg/process/resources"
)

// Try makes a group with such limits and removes it. It returns a description of the place, or an
// error if this process cannot make any. It may move this process like [Find], and is safe for
// concurrent use.
func Try(l resources.Limits) (where string, err error) { return try(linux{}, "/proc/self", l) }

func try(k kernel, proc string, l resources.Limits) (string, error) {
	p, err := find(k, proc, l)
	if err != nil {
		return "", err
	}
	if err := p.Check("check", "agent", l); err != nil {
		return "", err
	}
	var places []string
	for _, t := range p.trees {
		version := 1
		if t.unified {
			version = 2
		}
		places = append(places, fmt.Sprintf("control groups of version %d below %s", version, t.base))
	}
	return strings.Join(places, " and "), nil
}
