package zetcd

import "github.com/coreos/dbtester/pkg/database"

// storeSize returns the size in bytes of znodes in the etcd behind a proxy. A create writes seven
// revisions and an update four. Measured on one member with zetcd 0.0.5 and the built-in etcd: 858
// bytes in the store for each of 30,000 keys of 16+16 bytes, 4,161 for 256+1024, and 2,620 for each
// of 30,000 updates of the latter.
func storeSize(d database.Data) int64 {
	bytes := d.KeySize + d.ValueSize
	return d.Keys*(770+bytes*8/3) + (d.Writes-d.Keys)*(320+bytes*9/5)
}

// Needs returns the needs for the etcd, whose store has the key revisions in the zetcd layout.
func (o *Options) Needs(d database.Data) []database.Need {
	needs := o.Etcd.Needs(d)
	store := storeSize(d)
	for i := range needs {
		switch needs[i].Resource {
		case database.ResourceDisk:
			needs[i].Bytes = 2 * store // the store and its log
		case database.ResourceStore:
			needs[i].Bytes = store
			if needs[i].Why == "" {
				needs[i].Why = "a create writes seven revisions"
			}
		}
	}
	return needs
}

// Pace returns the pace of three members on one machine with two processors, for 256-byte keys and
// 1 KiB values: test-results/all-five (1,388 writes by 50 clients).
func (o *Options) Pace(clients int) database.Pace {
	return database.Pace{Writes: database.Saturating(clients, 150, 1700), Reads: database.Saturating(clients, 1000, 8000)}
}
