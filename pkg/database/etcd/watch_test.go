package etcd

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"google.golang.org/protobuf/proto"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/databasetest"
)

// Event fields are read as the protobuf decoder reads them, and broken messages are errors.
func TestWatchMessages(t *testing.T) {
	resp := &pb.WatchResponse{
		Header: &pb.ResponseHeader{ClusterId: 1 << 60, Revision: 12}, WatchId: 42, Fragment: true,
		Events: []*mvccpb.Event{
			{Kv: &mvccpb.KeyValue{Key: []byte("a/one"), Value: []byte("first"), ModRevision: 11, CreateRevision: 3, Version: 4, Lease: 5}},
			{Kv: &mvccpb.KeyValue{Key: []byte("b/other"), Value: []byte("theirs"), ModRevision: 11}},
			{Type: mvccpb.DELETE, Kv: &mvccpb.KeyValue{Key: []byte("a/two"), ModRevision: 12}, PrevKv: &mvccpb.KeyValue{Key: []byte("a/no"), Value: []byte("no"), ModRevision: 2}},
		},
	}
	message, err := proto.Marshal(resp)
	if err != nil {
		t.Fatal(err)
	}
	watch, events, err := appendEvents(nil, message, []byte("a/"))
	want := []database.WatchEvent{{Key: []byte("one"), Value: []byte("first"), Version: 11}, {Key: []byte("two"), Version: 12}}
	if err != nil || watch != 42 {
		t.Errorf("watch %d, %v, want 42", watch, err)
	}
	if diff := cmp.Diff(want, events); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	for n := range message {
		if _, events, err := appendEvents(nil, message[:n], nil); err == nil && len(events) == len(resp.Events) {
			t.Errorf("%d of %d bytes are not all events: %v", n, len(message), events)
		}
	}
	message, err = proto.Marshal(&pb.WatchResponse{Header: &pb.ResponseHeader{Revision: 12}, WatchId: -1})
	if err != nil {
		t.Fatal(err)
	}
	if watch, events, err := appendEvents(nil, message, nil); watch != -1 || len(events) > 0 || err != nil {
		t.Errorf("progress is watch %d with %d events, %v; want -1 and none", watch, len(events), err)
	}
}

// A watcher that was behind the oldest revision after a compaction ends with that reason: etcd
// names no reason.
func TestWatchOvertaken(t *testing.T) {
	err := (&watches{past: newPast()}).told(&pb.WatchResponse{WatchId: 4, Canceled: true, CompactRevision: 7})
	if want := "etcd cancelled watch 4: compaction discarded changes that it had not sent, and left those from revision 7 on"; err == nil || err.Error() != want {
		t.Errorf("the watch ended with %v, want %s", err, want)
	}
}

// A watcher that resumes after a revision that was compacted is notified of the gap and gets
// everything behind it; others on the connection miss nothing. A barrier ends after all that.
func TestWatchCompacted(t *testing.T) {
	t.Parallel()
	c := startOne(t, "{unsafe_no_fsync: true, log_level: error}")
	for _, transport := range []database.Transport{database.Lean, database.Standard} {
		t.Run(string(transport), func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), databasetest.Patience)
			defer cancel()
			o := *c.Driver().(*Options)
			o.Transport = transport
			conn, err := connect(c.Target())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			kv := pb.NewKVClient(conn)
			put := func(n int) int64 {
				resp, err := kv.Put(ctx, &pb.PutRequest{Key: []byte("compacted"), Value: fmt.Append(nil, n)})
				if err != nil {
					t.Fatal(err)
				}
				return resp.Header.Revision
			}
			first := put(1)
			put(2)
			left := put(3)
			last := put(4)
			if _, err := kv.Compact(ctx, &pb.CompactionRequest{Revision: left, Physical: true}); err != nil {
				t.Fatal(err)
			}
			heard := &databasetest.Heard{}
			on, err := o.DialWatches(ctx, c.Target(), database.WatchStream, heard)
			if err != nil {
				t.Fatal(err)
			}
			for watcher, after := range []int64{first, left - 1, last} {
				if err := on.(database.WatchResumer).Resume(ctx, int32(watcher), database.WatchRange{Key: []byte("compacted")}, after); err != nil {
					t.Fatalf("resume watcher %d: %v", watcher, err)
				}
			}
			if err := on.Barrier(ctx); err != nil {
				t.Fatal(err)
			}
			event := func(watcher int32, n int, revision int64) database.WatchEvent {
				return database.WatchEvent{Watcher: watcher, Key: []byte("compacted"), Value: fmt.Append(nil, n), Version: revision}
			}
			for watcher, want := range [][]database.WatchEvent{
				{{Watcher: 0, Gap: true, Version: left - 1}, event(0, 3, left), event(0, 4, last)},
				{event(1, 3, left), event(1, 4, last)},
				nil,
			} {
				events, _ := heard.Of(int32(watcher)) // the end is checked below
				if diff := cmp.Diff(want, events, cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("watcher %d (-want +got):\n%s", watcher, diff)
				}
			}
			err = on.Close()
			if _, broken := heard.Of(0); err != nil || broken != nil {
				t.Errorf("close watches: %v, broken %v", err, broken)
			}
		})
	}
}

// Releases that may report progress too early cannot resume.
func TestResumes(t *testing.T) {
	for version, want := range map[string]bool{"3.4.13": false, "3.4.30": false, "3.4.31": true, "3.5.0": false, "3.5.12": false, "3.5.13": true, "3.6.0": true, "3.7.3": true} {
		if resumes(version) != want {
			t.Errorf("%s resumes: %v, want %v", version, !want, want)
		}
	}
}
