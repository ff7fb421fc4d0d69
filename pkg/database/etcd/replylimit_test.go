package etcd

import "testing"

func TestRangeReply(t *testing.T) {
	c := &lean{maxReply: New().requestBytes() + replyMargin}
	if c.maxReply < New().MaxValue(0) || c.maxReply > 2<<20 {
		t.Errorf("a reply with one value may have %d bytes, want little more than the largest value, %d", c.maxReply, New().MaxValue(0))
	}
	for limit, want := range map[int]int{0: 1 << 30, 10: 10 * c.maxReply, 1 << 40: 1 << 30} {
		if got := c.rangeReply(limit); got != want {
			t.Errorf("a range of %d keys may have %d bytes, want %d", limit, got, want)
		}
	}
}
