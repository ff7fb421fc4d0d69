package etcd

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/database/etcd/unary"
	"github.com/coreos/dbtester/pkg/databasetest"
	"github.com/coreos/dbtester/pkg/sleep/slowtest"
	"github.com/coreos/dbtester/pkg/workload"
)

// startOne starts a cluster of one member.
func startOne(t testing.TB, options string) *databasetest.Cluster {
	t.Helper()
	return databasetest.Start(t, databasetest.Suite{
		Database: Database(), Options: options, Addrs: []string{"127.0.2.4"},
	}, 1)
}

// dialBy dials over one transport and closes the client at the end.
func dialBy(t testing.TB, transport database.Transport, target database.Target) database.Client {
	t.Helper()
	driver := New()
	driver.Transport = transport
	client, err := driver.Dial(t.Context(), target)
	if err != nil {
		t.Fatalf("dial: %v", err)
	}
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Errorf("close the client: %v", err)
		}
	})
	return client
}

// byTransport runs a test over every transport.
func byTransport(t *testing.T, run func(*testing.T, database.Transport)) {
	t.Helper()
	each(t, []database.Transport{database.Standard, database.Lean, transportLibrary}, run)
}

// longByTransport runs a test over the transports lean and standard, and clientv3 if tests may take
// long.
func longByTransport(t *testing.T, run func(*testing.T, database.Transport)) {
	t.Helper()
	transports := []database.Transport{database.Standard, database.Lean}
	if slowtest.Long() {
		transports = append(transports, transportLibrary)
	}
	each(t, transports, run)
}

func each(t *testing.T, transports []database.Transport, run func(*testing.T, database.Transport)) {
	t.Helper()
	for _, transport := range transports {
		t.Run(string(transport), func(t *testing.T) { run(t, transport) })
	}
}

// The limit is exact: computed from the bits in the member id, the largest value passes and one
// byte more does not.
func TestExactLimit(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	c := startOne(t, "")
	status, err := statusOf(t.Context(), c.Target(), 0)
	if err != nil {
		t.Fatalf("ask for the status: %v", err)
	}
	// A request id starts with the low 16 bits of the member id.
	id := status.Header.MemberId << 48
	idSize := protowire.SizeVarint(id)
	byTransport(t, func(t *testing.T, transport database.Transport) {
		conn := dialBy(t, transport, c.Target())
		for _, keySize := range []int{1, 127, 128, 256, 1000} {
			key := []byte(strings.Repeat("k", keySize))
			largest := maxValueWithID(defaultRequestBytes, keySize, idSize)
			if err := conn.Put(t.Context(), key, make([]byte, largest)); err != nil {
				t.Errorf("key of %d bytes, value of %d: %v", keySize, largest, err)
			}
			err := conn.Put(t.Context(), key, make([]byte, largest+1))
			if outcome, class := database.Classify(err); outcome != workload.Failed || class != database.ClassTooLarge {
				t.Errorf("key of %d bytes, value of %d: %v", keySize, largest+1, err)
			}
		}
	})
}

// A full store refuses writes and serves reads. It applies the write that exceeds the
// quota, but returns the same error as for refused ones, so each may have been applied.
func TestNoSpace(t *testing.T) {
	t.Parallel()
	c := startOne(t, "quota_backend_bytes: 1000000")
	kept := []byte("kept")
	if err := dialBy(t, database.Lean, c.Target()).Put(t.Context(), kept, nil); err != nil {
		t.Fatalf("put: %v", err)
	}
	byTransport(t, func(t *testing.T, transport database.Transport) {
		conn := dialBy(t, transport, c.Target())
		value := make([]byte, 100_000)
		before, err := c.Driver().(*Options).CountKeys(t.Context(), c.Target())
		if err != nil {
			t.Fatalf("count keys: %v", err)
		}
		var ok, unknown int64
		for i, end := 0, time.Now().Add(databasetest.Patience); unknown < 10 && time.Now().Before(end); i++ {
			err := conn.Put(t.Context(), fmt.Append(nil, transport, i), value)
			switch outcome, class := database.Classify(err); {
			case err == nil:
				ok++
				time.Sleep(5 * time.Millisecond) // its size is known after the next commit, within 100 ms
			case outcome == workload.Unknown && class == database.ClassSpaceExceeded:
				unknown++
			default:
				t.Fatalf("a full store answers %v, of class %s, %s", err, class, outcome)
			}
		}
		after, err := c.Driver().(*Options).CountKeys(t.Context(), c.Target())
		if err != nil {
			t.Fatalf("count keys: %v", err)
		}
		if found := after - before; unknown < 10 || found < ok || found > ok+unknown {
			t.Errorf("%d keys found, want from %d ok to %d with the %d unknown ones", found, ok, ok+unknown, unknown)
		}
		if _, err := conn.Get(t.Context(), kept, workload.ReadLinearizable); err != nil {
			t.Errorf("a full store does not serve reads: %v", err)
		}
	})
}

// The rules find events in a real server log.
func TestLogRules(t *testing.T) {
	t.Parallel()
	c := startOne(t, "snapshot_count: 20")
	conn := dialBy(t, database.Lean, c.Target())
	for i := range 60 {
		if err := conn.Put(t.Context(), fmt.Append(nil, i), nil); err != nil {
			t.Fatalf("put: %v", err)
		}
	}
	want := []string{"leader elected", "snapshot"}
	deadline := time.Now().Add(databasetest.Patience)
	for found := []string(nil); !slices.Equal(found, want); found = eventsIn(t, c) {
		if time.Now().After(deadline) {
			t.Fatalf("found %v, want %v", found, want)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// eventsIn returns the event kinds in a member log, in the order of the rules.
func eventsIn(t *testing.T, c *databasetest.Cluster) []string {
	t.Helper()
	log, err := os.ReadFile(c.Logs(0, Name))
	if err != nil {
		t.Fatalf("read file: %v", err)
	}
	var found []string
	for _, rule := range c.Plan(0).LogRules {
		if regexp.MustCompile(rule.Pattern).Match(log) {
			found = append(found, rule.Event)
		}
	}
	return found
}

// A connection that prefers a member talks to it alone; without preference it
// talks to all in turn.
func TestPrefer(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	c := databasetest.Start(t, databasetest.Suite{
		Database: Database(), Addrs: []string{"127.0.2.5", "127.0.2.6", "127.0.2.7"},
	}, 3)
	for _, transport := range []database.Transport{database.Standard, database.Lean} { // for the third see package library
		for prefer := -1; prefer < 3; prefer++ {
			asksOnly(t, c, transport, prefer)
		}
	}
}

// asksOnly fails the test unless a connection uses the member it prefers, or all.
func asksOnly(t *testing.T, c *databasetest.Cluster, transport database.Transport, prefer int) {
	t.Helper()
	target := c.Target()
	target.Prefer = prefer
	conn := dialBy(t, transport, target)
	asked := map[uint64]int{}
	want := 1
	if prefer < 0 {
		want = 3
	}
	// Connections to all come up one by one.
	for i := 0; i < 60 || (len(asked) < want && i < 10_000); i++ {
		asked[memberThatAnswers(t, conn)]++
	}
	if len(asked) != want {
		t.Errorf("prefer %d: asked %d members %v, want %d", prefer, len(asked), asked, want)
	}
	if prefer < 0 {
		return
	}
	status, err := statusOf(t.Context(), c.Target(), prefer)
	if err != nil {
		t.Fatalf("ask for the status: %v", err)
	}
	if asked[status.Header.MemberId] == 0 {
		t.Errorf("prefer %d: another member was asked", prefer)
	}
}

// memberThatAnswers makes one read and returns the id of the answering member.
func memberThatAnswers(t *testing.T, conn database.Client) uint64 {
	t.Helper()
	request := &pb.RangeRequest{Key: []byte("k"), Serializable: true}
	resp, err := new(pb.RangeResponse), error(nil)
	if grpc, ok := conn.(*client); ok {
		resp, err = grpc.kv.Range(t.Context(), request)
	} else {
		m := unary.Message{One: request.Key, Rest: rangeFields(0, workload.ReadStale)}
		_, err = conn.(*lean).calls.Call(t.Context(), pathRange, &m, func(reply []byte) (bool, error) {
			return false, proto.Unmarshal(reply, resp)
		})
	}
	if err != nil {
		t.Fatalf("read from one member: %v", err)
	}
	return resp.Header.MemberId
}

// A request no connection took was surely not applied; one whose connection was cut may have been.
func TestLostServer(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	byTransport(t, func(t *testing.T, transport database.Transport) {
		c := startOne(t, "")
		conn := dialBy(t, transport, c.Target())
		errs := make(chan error)
		ctx, cancel := context.WithTimeout(t.Context(), databasetest.Patience)
		defer cancel()
		go func() {
			defer close(errs)
			for i := 0; ; i++ {
				within, cancel := context.WithTimeout(ctx, databasetest.Patience)
				err := conn.Put(within, fmt.Append(nil, i), make([]byte, 1000))
				cancel()
				if err != nil {
					errs <- err
					return
				}
			}
		}()
		time.Sleep(200 * time.Millisecond)
		c.Kill(0)
		want, timeout := database.ClassUnavailable, databasetest.Patience
		if transport == transportLibrary {
			want, timeout = database.ClassTimeout, 100*time.Millisecond // it waits for a connection
		}
		if outcome, class := database.Classify(<-errs); outcome != workload.Unknown && class != want {
			t.Errorf("the write under way is %v, %q", outcome, class)
		}
		for range 3 {
			within, cancel := context.WithTimeout(ctx, timeout)
			err := conn.Put(within, []byte("k"), nil)
			cancel()
			if outcome, class := database.Classify(err); outcome != workload.Failed || class != want {
				t.Errorf("a write to nobody is %v, %q, want failed, %q: %v", outcome, class, want, err)
			}
		}
	})
}
