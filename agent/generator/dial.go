package generator

import (
	"errors"
	"fmt"
	"slices"

	"github.com/coreos/dbtester/pkg/load/connect"
)

// newDialer returns a dialer for the members with some indexes.
func newDialer(p *part, indexes []int32) (*connect.Dialer, error) {
	if len(indexes) == 0 {
		return nil, errors.New("connections must go to at least one member, got none")
	}
	d := &connect.Dialer{Driver: p.driver, Target: p.target, Part: p.spec.Part, Failover: p.spec.Failover}
	for _, index := range indexes {
		i := int(index)
		if i < 0 || i >= len(p.target.Endpoints) || slices.Contains(d.Members, i) {
			return nil, fmt.Errorf("members must be different and from 0 to %d, got %d", len(p.target.Endpoints)-1, i)
		}
		d.Members = append(d.Members, i)
	}
	return d, nil
}
