package standin

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
)

// store holds the keys in a cluster. It is safe for concurrent use.
type store struct {
	mu     sync.Mutex
	keys   map[string][]byte
	claims map[string][]byte
}

func newStore() store { return store{keys: map[string][]byte{}, claims: map[string][]byte{}} }

// claimed reports whether key is a run's claim to a prefix. No load requests it, so it is neither
// scripted nor logged, nor counted among the keys.
func claimed(key []byte) bool { return strings.HasSuffix(string(key), "/dbtester-claim") }

func (s *store) claim(key, value []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.claims[string(key)] = value
}

func (s *store) claimOf(key []byte) []*mvccpb.KeyValue {
	s.mu.Lock()
	defer s.mu.Unlock()
	if value, ok := s.claims[string(key)]; ok {
		return []*mvccpb.KeyValue{{Key: key, Value: value}}
	}
	return nil
}

func (s *store) put(key, value []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keys[string(key)] = value
}

func (s *store) get(key string) ([]byte, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, ok := s.keys[key]
	return v, ok
}

// other returns the value for another key with the same length.
func (s *store) other(key string) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	for k, v := range s.keys {
		if k != key && len(k) == len(key) {
			return v
		}
	}
	return nil
}

// scan returns the keys from first to end, sorted; with end "\x00" it returns all from first on.
func (s *store) scan(first, end string) []*mvccpb.KeyValue {
	s.mu.Lock()
	defer s.mu.Unlock()
	var kvs []*mvccpb.KeyValue
	for _, k := range slices.Sorted(maps.Keys(s.keys)) {
		if strings.Compare(k, first) >= 0 && (end == "\x00" || k < end) {
			kvs = append(kvs, &mvccpb.KeyValue{Key: []byte(k), Value: s.keys[k]})
		}
	}
	return kvs
}

func (s *store) len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.keys)
}

// Put sets a key.
func (m *member) Put(ctx context.Context, r *pb.PutRequest) (*pb.PutResponse, error) {
	if claimed(r.Key) {
		m.cluster.store.claim(r.Key, r.Value)
		return &pb.PutResponse{Header: m.header()}, nil
	}
	_, err := m.serve(ctx, Put, string(r.Key), func() { m.cluster.store.put(r.Key, r.Value) })
	if err != nil {
		return nil, err
	}
	return &pb.PutResponse{Header: m.header()}, nil
}

// Range returns one key, a range, or the number of keys.
func (m *member) Range(ctx context.Context, r *pb.RangeRequest) (*pb.RangeResponse, error) {
	c := m.cluster
	if r.CountOnly && len(r.RangeEnd) > 0 && string(r.Key) == "\x00" && string(r.RangeEnd) == "\x00" {
		return &pb.RangeResponse{Header: m.header(), Count: int64(c.store.len())}, nil
	}
	if len(r.RangeEnd) > 0 || string(r.Key) == "\x00" {
		kvs := c.store.scan(string(r.Key), string(r.RangeEnd))
		answer := &pb.RangeResponse{Header: m.header(), Count: int64(len(kvs))}
		if r.SortOrder == pb.RangeRequest_DESCEND {
			slices.Reverse(kvs)
		}
		if r.Limit > 0 && int64(len(kvs)) > r.Limit {
			kvs, answer.More = kvs[:r.Limit], true
		}
		if !r.CountOnly {
			answer.Kvs = kvs
		}
		return answer, nil
	}
	if claimed(r.Key) {
		kvs := c.store.claimOf(r.Key)
		return &pb.RangeResponse{Header: m.header(), Count: int64(len(kvs)), Kvs: kvs}, nil
	}
	if strings.HasSuffix(string(r.Key), "/") { // a prefix alone, which is a probe and no key in a load
		return &pb.RangeResponse{Header: m.header()}, nil
	}
	action, err := m.serve(ctx, Range, string(r.Key), func() {})
	if err != nil {
		return nil, err
	}
	value, found := c.store.get(string(r.Key))
	if !found {
		return &pb.RangeResponse{Header: m.header()}, nil
	}
	value = corrupted(action.Corrupt, value, func() []byte { return c.store.other(string(r.Key)) })
	return &pb.RangeResponse{Header: m.header(), Count: 1, Kvs: []*mvccpb.KeyValue{{Key: r.Key, Value: value}}}, nil
}

func corrupted(how Corruption, value []byte, other func() []byte) []byte {
	switch {
	case how == OtherKey:
		return other()
	case how == FlippedBit && len(value) > 0:
		value = slices.Clone(value)
		value[len(value)-2] ^= 1
	}
	return value
}

// serve logs one request, waits for as long as the script decides, applies it, and returns the
// decision by the script.
func (m *member) serve(ctx context.Context, method Method, key string, apply func()) (Action, error) {
	c := m.cluster
	if method != c.options.Load {
		apply()
		return Action{}, nil
	}
	entry, first := c.log.arrived(m.index, key)
	action := Action{}
	if c.options.Script != nil {
		action = c.options.Script(Request{Member: m.index, N: entry.N, Since: entry.Arrived.Sub(first), Key: key})
	}
	timeout := time.Duration(0)
	if deadline, ok := ctx.Deadline(); ok {
		timeout = deadline.Sub(entry.Arrived)
	}
	c.log.noted(entry, action.Corrupt != Intact, timeout)
	err := c.wait(ctx, first, action)
	switch {
	case err != nil:
		c.log.ended(entry, Abandoned)
	case action.Refuse != nil:
		err = action.Refuse
		c.log.ended(entry, Refused)
	default:
		apply()
		c.log.ended(entry, Answered)
	}
	return action, err
}

// wait waits for a slot, the request's delay, and until a freeze ends.
func (c *Cluster) wait(ctx context.Context, first time.Time, a Action) error {
	if a.Hang {
		<-ctx.Done()
		return ctx.Err()
	}
	if c.slots != nil {
		select {
		case c.slots <- struct{}{}:
			defer func() { <-c.slots }()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	delay := a.Delay
	if delay == 0 {
		delay = c.options.Delay
	}
	end := time.Now().Add(delay)
	for _, f := range c.options.Freeze {
		if since := end.Sub(first); since >= f.From && since < f.To {
			end = first.Add(f.To)
		}
	}
	return sleep(ctx, time.Until(end))
}

func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
