package zookeeper

import (
	"testing"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/databasetest"
	"github.com/coreos/dbtester/pkg/workload"
)

// A raised limit applies to the server and the client: the largest value passes and reads back, and
// one byte more is not sent.
func TestRaisedLimit(t *testing.T) {
	s := suite(t, newest)
	s.Options += "jute_max_buffer: 3000000\n"
	s.Addrs = []string{"127.106.7.1"}
	c := databasetest.Start(t, s, 1)
	key := []byte("k")
	largest := c.Driver().(database.Limiter).MaxValue(len(key))
	if largest < 3_000_000-100 || largest >= 3_000_000 {
		t.Errorf("the limit is %d", largest)
	}
	target := c.Target()
	target.MaxBytes = len(key) + largest
	conn := dial(t, c.Driver(), target)
	if err := conn.Put(t.Context(), key, make([]byte, largest)); err != nil {
		t.Errorf("put a key: %v", err)
	}
	if value, err := conn.Get(t.Context(), key, workload.ReadSyncGet); err != nil || len(value) != largest {
		t.Errorf("read %d bytes: %v", len(value), err)
	}
	err := conn.Put(t.Context(), key, make([]byte, largest+1))
	if outcome, class := database.Classify(err); outcome != workload.Failed || class != database.ClassTooLarge {
		t.Errorf("one byte more: %v", err)
	}
}
