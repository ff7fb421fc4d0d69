package control

import (
	"testing"

	"google.golang.org/protobuf/proto"

	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/results"
)

// FuzzStartReply gives control any answer to a Start. What it records can be written.
func FuzzStartReply(f *testing.F) {
	add := func(plan string) {
		data, err := proto.Marshal(&pb.StartResponse{
			Plan: []byte(plan), Children: []*pb.Child{{Name: "db", Argv: []string{"\x1b[2J"}}}, Release: &pb.Release{Name: "etcd"}, FdatasyncP50Ns: -1,
		})
		if err != nil {
			f.Fatalf("encode an answer: %v", err)
		}
		f.Add(data)
	}
	add(`{"listen":["127.0.0.1:1"],"commands":[null],"log_rules":[{"event":"x","pattern":"("}]}`)
	add(`[]`)
	add(`null`)
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
