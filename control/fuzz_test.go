package control

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/results"
)

// FuzzStartReply gives control any answer to a Start. Whatever it records can be written.
func FuzzStartReply(f *testing.F) {
	add := func(plan, release, disk, env string) {
		data, err := proto.Marshal(&pb.StartResponse{
			Plan: []byte(plan), Children: []*pb.Child{{Name: "db", Argv: []string{"\x1b[2J"}}}, Release: []byte(release), Disk: []byte(disk), Environment: []byte(env),
		})
		if err != nil {
			f.Fatalf("encode an answer: %v", err)
		}
		f.Add(data)
	}
	add(`{"listen":["127.0.0.1:1"],"commands":[null],"log_rules":[{"event":"x","pattern":"("}]}`, `{"name":"etcd","sha256":{"":"x"}}`, `{"fdatasync_p50_ns":-1,"filesystem":"\u0000"}`, `[{"command":"db"},null]`)
	add(`[]`, `[]`, `1e999`, `{}`)
	add(`{}`, `{"notes":[null]}`, `{"apparent_bytes":-1}`, `null`)
	add(`{}`, `null`, `{"fdatasync_p50_ns":1e99}`, strings.Repeat(`[`, 100000))
	add(`null`, ``, ``, ``)
	f.Fuzz(func(t *testing.T, data []byte) {
		var reply pb.StartResponse
		if proto.Unmarshal(data, &reply) != nil {
			return
		}
		record := &results.DatabaseRun{Tag: "db", Members: make([]results.Member, 1)}
		c := &cluster{run: &run{record: record, db: &config.Database{}}, disks: make([]results.Disk, 1)}
		if err := c.recordStart(0, &reply); err != nil {
			return
		}
		folder, err := results.Create(t.TempDir(), "title", record.Started, "")
		if err != nil {
			t.Fatalf("make a folder: %v", err)
		}
		if err := folder.WriteManifest(&results.Manifest{Databases: []*results.DatabaseRun{record}}); err != nil {
			t.Errorf("write what was recorded: %v", err)
		}
		if _, err := folder.Manifest(); err != nil {
			t.Errorf("read what was recorded: %v", err)
		}
	})
}
