package cetcd

import "github.com/coreos/dbtester/pkg/database"

// A member has the needs of its etcd: 30,000 keys of 256+1024 bytes took 2,068 bytes each, as
// without the proxy.
var _ database.Sizer = (*Options)(nil)

// Pace returns the pace of three members on one machine with two processors, for 256-byte keys and
// 1 KiB values: test-results/all-five (4,444 writes by 50 clients).
func (o *Options) Pace(clients int) database.Pace {
	return database.Pace{Writes: database.Saturating(clients, 450, 5500), Reads: database.Saturating(clients, 1500, 14000)}
}
