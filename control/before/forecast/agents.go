package forecast

import (
	"errors"
	"fmt"

	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/database"
)

// AgentMachine is the machine of one member as its agent reports it. Facts that are 0 or "" are not
// known.
type AgentMachine struct {
	// Agent is the agent address.
	Agent string
	// Machine is equal for agents on one machine, and Disk for agents whose data is on the same
	// disk there.
	Machine, Disk string
	// MemoryBytes is the memory of the machine. FreeBytes are free where the agent makes the member
	// directory: 1 on a full disk.
	MemoryBytes, FreeBytes int64
}

// CheckAgents compares the data of a load with the machines, in member order. The error has a line
// for each machine whose memory or free disk is certainly too small.
func CheckAgents(e *config.Experiment, db *config.Database, machines []AgentMachine) error {
	f := Of(e, db, nil)
	var errs []error
	for _, m := range machines {
		for _, need := range f.Needs {
			limit, by := m.limit(need.Resource, machines)
			if one, found := finding(e, db, f, need, limit, by, true); found && one.Refused {
				errs = append(errs, errors.New(one.String()))
			}
		}
	}
	return errors.Join(errs...)
}

// limit returns the limit on r for one member, and who sets it; 0 is not known.
func (m AgentMachine) limit(r database.Resource, all []AgentMachine) (limit int64, of string) {
	n := int64(0)
	for _, other := range all {
		if other.Machine == m.Machine && (r != database.ResourceDisk || other.Disk == m.Disk) && m.Machine != "" {
			n++
		}
	}
	switch r {
	case database.ResourceMemory:
		limit, of = m.MemoryBytes, "the memory of the machine of agent "+m.Agent
	case database.ResourceDisk:
		limit, of = m.FreeBytes, "the free disk of agent "+m.Agent
	}
	if n > 1 {
		of += fmt.Sprintf(", shared by %d members,", n)
	}
	return share(limit, n), of
}

// share divides a fact among n members. It returns 0, not known, only if the fact is not known.
func share(fact, n int64) int64 {
	if fact <= 0 {
		return 0
	}
	return max(fact/max(n, 1), 1)
}
