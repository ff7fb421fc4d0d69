package workload

// Op names one kind of operation. The set is closed.
type Op string

// The operations. Write and create create a key that did not exist. Operations on sessions take no
// key, and a lock takes a key number as its name. All others need a key that exists.
const (
	OpWrite       Op = "write"
	OpUpdate      Op = "update"       // overwrite a key
	OpRead        Op = "read"         // read a key
	OpReadOneshot Op = "read-oneshot" // open a connection, read a key, close it
	OpDelete      Op = "delete"       // delete a key, which may be missing
	OpRange       Op = "range"        // read neighbouring keys
	OpSwap        Op = "swap"         // read a key, replace the value if it is still the same
	OpTxn         Op = "txn"          // overwrite keys in one transaction if they have the expected versions
	OpCreate      Op = "create"       // write a key in one transaction if it does not exist
	OpGrant       Op = "grant"        // begin a session
	OpKeepAlive   Op = "keepalive"    // renew a session
	OpRevoke      Op = "revoke"       // end a session
	OpLock        Op = "lock"         // acquire a lock, hold it and release it
)

// properties decide everything that differs by operation, except the call itself.
type properties struct {
	op         Op
	creates    bool // takes a new key; others take an existing one
	reads      bool // returns values, so it has a read mode
	ranges     bool // returns several keys, so it has a range limit
	sendsValue bool
	deletes    bool
	contends   bool // requests in the same load can make it lose a race
	guarded    bool // a transaction with the versions that its keys must have
	sessions   int  // sessions that it adds
	ofSessions bool // takes sessions and no keys
	locks      bool // takes a key number as a lock name
}

// table holds every operation once. A load lists operations in this order. Nothing
// changes it. A function that returned it would allocate it for each call, and clients look up
// properties with each request.
var table = [...]properties{
	{op: OpWrite, creates: true, sendsValue: true},
	{op: OpUpdate, sendsValue: true},
	{op: OpRead, reads: true},
	{op: OpReadOneshot, reads: true},
	{op: OpDelete, deletes: true},
	{op: OpRange, reads: true, ranges: true},
	{op: OpSwap, reads: true, sendsValue: true, contends: true},
	{op: OpTxn, sendsValue: true, contends: true, guarded: true},
	{op: OpCreate, creates: true, sendsValue: true, guarded: true},
	{op: OpGrant, ofSessions: true, sessions: 1},
	{op: OpKeepAlive, ofSessions: true},
	{op: OpRevoke, ofSessions: true, sessions: -1},
	{op: OpLock, locks: true},
}

// Ops returns all operations.
func Ops() []Op {
	var ops []Op
	for _, p := range table {
		ops = append(ops, p.op)
	}
	return ops
}

// properties of an unknown operation are all false.
func (o Op) properties() properties {
	for i := range table {
		if table[i].op == o {
			return table[i]
		}
	}
	return properties{}
}

// Known reports whether o is one of [Ops].
func (o Op) Known() bool { return o.properties().op != "" }

// Creates reports whether o creates a new key.
func (o Op) Creates() bool { return o.properties().creates }

// NeedsKey reports whether o takes a key that exists.
func (o Op) NeedsKey() bool { return o.ChoosesKey() && !o.Locks() }

// ChoosesKey reports whether the key law gives o a number, for an existing key or for a lock.
func (o Op) ChoosesKey() bool { return o.Known() && !o.Creates() && !o.OfSessions() }

// Locks reports whether o acquires a lock. A contender applies it, not a connection.
func (o Op) Locks() bool { return o.properties().locks }

// OfSessions reports whether o begins, renews or ends a session, and takes no key.
func (o Op) OfSessions() bool { return o.properties().ofSessions }

// NeedsSession reports whether o takes a session that has begun.
func (o Op) NeedsSession() bool { return o.OfSessions() && o.properties().sessions <= 0 }

// Sessions returns the number of sessions that o adds: -1 if it ends one.
func (o Op) Sessions() int { return o.properties().sessions }

// Reads reports whether o returns values. It then has a read mode.
func (o Op) Reads() bool { return o.properties().reads }

// Ranges reports whether o returns several keys at once. It then has a limit.
func (o Op) Ranges() bool { return o.properties().ranges }

// SendsValue reports whether o sends a value.
func (o Op) SendsValue() bool { return o.properties().sendsValue }

// Deletes reports whether o removes keys.
func (o Op) Deletes() bool { return o.properties().deletes }

// Contends reports whether o loses a race when another request in the load writes the same key
// first. The database then answers with a conflict.
func (o Op) Contends() bool { return o.properties().contends }

// Guarded reports whether o is one transaction that names the versions its keys must have.
func (o Op) Guarded() bool { return o.properties().guarded }
