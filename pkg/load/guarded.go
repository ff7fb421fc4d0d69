package load

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/load/requests"
	"github.com/coreos/dbtester/pkg/load/versions"
	"github.com/coreos/dbtester/pkg/workload"
)

// guarded makes transactions for one client, which name key versions. An unknown version is read
// before the request is sent, or right after the conflict that made it unknown. Such a read is a
// request of its own: it is counted, and enters no other request's time.
type guarded struct {
	step  *step
	table *versions.Table
	reads *atomic.Int64

	puts []database.GuardedPut
	keys []int64 // key numbers in puts
	// expected are the versions that the last transaction named when it was sent.
	expected []int64
	data     []byte // keys and values for all puts but the first
	// stale are the keys whose versions this client must read next.
	stale []int64
	key   []byte // a stale key
	err   error  // from a read needed by the next transaction
}

// newGuarded returns nil for a step without transactions.
func newGuarded(s *step) *guarded {
	if s.versions == nil {
		return nil
	}
	return &guarded{step: s, table: s.versions, reads: &s.versionReads}
}

// prepare lists the keys of a transaction, from the request's key and value. It returns the bytes
// in the other keys and their values.
func (g *guarded) prepare(req requests.Request, key, value []byte) (more int64) {
	g.puts = append(g.puts[:0], database.GuardedPut{Key: key, Value: value})
	g.keys = append(g.keys[:0], req.Key)
	g.expected = g.expected[:0]
	if g.step.work.Operation(req) != workload.OpTxn {
		return 0
	}
	g.data = g.data[:0]
	for n := 1; n < g.step.spec.TxnKeys; n++ {
		other := g.step.work.Neighbor(req, n)
		from := len(g.data)
		g.data = requests.AppendKey(g.data, &g.step.spec.Load, other.Key)
		to := len(g.data)
		g.data = g.step.work.AppendValue(g.data, other)
		// A buffer that grows leaves the earlier parts where they were.
		g.puts = append(g.puts, database.GuardedPut{Key: g.data[from:to:to], Value: g.data[to:len(g.data):len(g.data)]})
		g.keys = append(g.keys, other.Key)
	}
	return int64(len(g.data))
}

// expect sets expected versions in a transaction. It returns the time spent reading unknown
// versions, in nanoseconds.
func (g *guarded) expect(c *client, op workload.Op) (took int64) {
	g.err = nil
	if op == workload.OpCreate {
		return 0 // the key must not exist
	}
	for n := range g.puts {
		p := &g.puts[n]
		if p.Version = g.table.Of(g.keys[n]); p.Version != versions.Unknown {
			continue
		}
		from := c.now()
		p.Version, g.err = g.read(c, p.Key, g.keys[n])
		took += c.now() - from
		if g.err != nil {
			return took
		}
	}
	return took
}

// read reads a key's version.
func (g *guarded) read(c *client, key []byte, number int64) (int64, error) {
	c.fiber.Leave() // leave the goroutine that may have to read the answer
	ctx, cancel := context.WithTimeout(context.Background(), g.step.spec.Timeout)
	defer cancel()
	g.reads.Add(1)
	version, err := c.db.(database.Transactor).Version(ctx, key)
	if err == nil {
		g.table.Read(number, version)
	}
	return version, err
}

// send sends a transaction and notes the versions shown by its answer.
func (g *guarded) send(ctx context.Context, client database.Client) error {
	if g.err != nil {
		_, class := database.Classify(g.err)
		return database.NotApplied(class, g.err)
	}
	for n := range g.puts {
		g.expected = append(g.expected, g.puts[n].Version)
	}
	err := client.(database.Transactor).Txn(ctx, g.puts)
	outcome, class := database.Classify(err)
	for n, key := range g.keys {
		switch found := g.puts[n].Version; {
		case outcome == workload.OK:
			g.table.Wrote(key, found)
		case outcome == workload.Unknown:
			g.table.Doubt(key)
		case class == database.ClassConflict && found != g.expected[n] && g.table.Lost(key, g.expected[n], found):
			g.stale = append(g.stale, key)
		}
	}
	return err
}

// refresh reads the versions made unknown by a conflict. Errors are ignored: the next transaction
// with such a key reads again.
func (g *guarded) refresh(c *client) {
	for _, number := range g.stale {
		g.key = requests.AppendKey(g.key[:0], &g.step.spec.Load, number)
		if _, err := g.read(c, g.key, number); err != nil {
			g.key = nil // the database client may keep it
		}
	}
	g.stale = g.stale[:0]
}

// versionsAtOnce is how many versions one call reads: numbers that differ in their last digits
// only.
const versionsAtOnce = 1000

// readVersions reads the versions of all keys in load transactions, with as many callers as the
// step has clients. These reads are not part of the load.
func readVersions(ctx context.Context, s *step, conns []database.Client) (*versions.Table, error) {
	keys := s.spec.Keys
	switch {
	case !slices.Contains(s.rec.accounts.ops, workload.OpTxn):
		keys = 0
	case s.spec.SameKey:
		keys = 1
	}
	table := versions.New(keys)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	var wg sync.WaitGroup
	for n := range min(int64(s.Clients), table.Keys()) {
		l := learner{spec: &s.spec, table: table, client: conns[n%int64(len(conns))].(database.Transactor)}
		each := int64(1)
		if l.many, _ = l.client.(database.ManyVersions); l.many != nil {
			each = versionsAtOnce
		}
		wg.Go(func() {
			for from := next.Add(each) - each; from < table.Keys() && ctx.Err() == nil; from = next.Add(each) - each {
				if err := l.read(ctx, from, min(from+each, table.Keys())); err != nil {
					cancel(err)
				}
			}
		})
	}
	wg.Wait()
	return table, context.Cause(ctx)
}

// learner reads versions over one connection.
type learner struct {
	spec   *Spec
	table  *versions.Table
	client database.Transactor
	many   database.ManyVersions // nil without the ability
	names  [][]byte
	found  []int64
}

// read reads the versions in the half-open key range [from, to).
func (l *learner) read(ctx context.Context, from, to int64) (err error) {
	for n := int64(len(l.names)); n < to-from; n++ {
		l.names, l.found = append(l.names, nil), append(l.found, 0)
	}
	names, found := l.names[:to-from], l.found[:to-from]
	for i := range names {
		names[i] = requests.AppendKey(names[i][:0], &l.spec.Load, from+int64(i))
	}
	timeout := l.spec.Timeout
	if l.many != nil {
		timeout = max(timeout, bulkTimeout)
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if l.many != nil {
		err = l.many.Versions(ctx, names, found)
	} else {
		found[0], err = l.client.Version(ctx, names[0])
	}
	for i := 0; err == nil && i < len(found); i++ {
		l.table.Read(from+int64(i), found[i])
	}
	return err
}
