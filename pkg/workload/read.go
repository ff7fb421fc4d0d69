package workload

// ReadMode names what a read promises. The set is closed. It is printed wherever a read is
// measured: reads in different modes are not comparable.
type ReadMode string

// The read modes, strongest first.
const (
	// ReadLinearizable sees every write that finished before the read began.
	ReadLinearizable ReadMode = "linearizable"
	// ReadSyncGet is ZooKeeper's sync followed by get: two round trips, close to
	// linearizable but not proven so.
	ReadSyncGet ReadMode = "sync+get"
	// ReadLeader is answered by the leader from its lease (Consul's default).
	ReadLeader ReadMode = "leader"
	// ReadStale is answered by any member from its own copy (etcd's serializable,
	// ZooKeeper's get, Consul's stale).
	ReadStale ReadMode = "stale"
)
