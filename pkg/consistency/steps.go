package consistency

// stepTable remembers, for some pairs of client and key, which value the client last read. A pair
// may take another's place; then steps back are missed.
type stepTable struct{ seen []seen }

type seen struct {
	key    int64
	client int32
	used   bool
	sent   int64 // when the newest value that it read was sent
	end    int64 // when that read ended
}

const stepPairs = 1 << 16

// back adds a read and reports whether its client had read a newer value before.
func (t *stepTable) back(key int64, o *Op, z *zone) bool {
	if t.seen == nil {
		t.seen = make([]seen, stepPairs)
	}
	mixed := (uint64(key)*0x9e3779b97f4a7c15 ^ uint64(uint32(o.Client))) * 0xff51afd7ed558ccd
	s := &t.seen[mixed>>48%stepPairs]
	if !s.used || s.key != key || s.client != o.Client {
		*s = seen{key: key, client: o.Client, used: true, sent: z.sent, end: o.End}
		return false
	}
	if z.sent >= s.sent {
		s.sent, s.end = z.sent, o.End
		return false
	}
	return z.f < s.sent && s.end < o.Sent
}
