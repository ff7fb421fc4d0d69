package salvage

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/coreos/dbtester/control/fleet/fleettest"
	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/process/resources"
	"github.com/coreos/dbtester/pkg/results"
)

// The run id and the tag in these tests.
const (
	ofRun = "secret"
	tag   = "fake"
)

// stopped serves the stopped session from a run whose control was lost.
type stopped struct {
	fleettest.Agent
	free   bool  // the session was closed
	refuse error // the answer to a close
}

// newStopped returns an agent with one log.
func newStopped(log string) *stopped {
	a := &stopped{}
	a.OnStatus = func(context.Context, *pb.StatusRequest) (*pb.StatusResponse, error) {
		if a.free {
			return &pb.StatusResponse{}, nil
		}
		return &pb.StatusResponse{Owner: &pb.Owner{RunHash: pb.RunHash(ofRun)}, Files: []*pb.FileInfo{{Name: "logs/fake.log"}}}, nil
	}
	a.OnStop = func(context.Context, *pb.StopRequest) (*pb.StopResponse, error) {
		exit := []*pb.Child{{Name: "fake", Exit: "exit 0 after interrupt"}}
		return &pb.StopResponse{Children: exit, ApparentBytes: 10, AllocatedBytes: 4096, Reason: "lease expired"}, nil
	}
	a.OnCollect = func(context.Context, *pb.CollectRequest) (grpc.ServerStreamingClient[pb.CollectChunk], error) {
		sum := sha256.Sum256([]byte(log))
		return &fleettest.Chunks{List: []*pb.CollectChunk{{Data: []byte(log)}, {Sha256: sum[:]}}, Err: io.EOF}, nil
	}
	a.OnClose = func(context.Context, *pb.CloseRequest) (*pb.CloseResponse, error) {
		a.free = true
		return &pb.CloseResponse{}, a.refuse
	}
	return a
}

// lost is the result folder from a run whose control was lost.
type lost struct {
	t      *testing.T
	folder *results.Folder
	agents map[string]*stopped
	said   []string
}

// newLost returns a run with one member on each agent.
func newLost(t *testing.T, agents ...*stopped) *lost {
	t.Helper()
	began := time.Date(2027, 1, 15, 8, 0, 0, 0, time.UTC)
	folder, err := results.Create(t.TempDir(), "lost", began, "")
	if err != nil {
		t.Fatalf("make the result folder: %v", err)
	}
	dir, err := folder.MakeTag(tag)
	if err != nil {
		t.Fatalf("make the folder of a tag: %v", err)
	}
	l := &lost{t: t, folder: folder, agents: map[string]*stopped{}}
	db := &results.DatabaseRun{Tag: tag, Database: "fake", State: results.StateRunning}
	var addrs []string
	for i, a := range agents {
		addr := string(rune('a'+i)) + ":3500"
		l.agents[addr] = a
		addrs = append(addrs, addr)
		db.Members = append(db.Members, results.Member{Index: i, Agent: addr})
	}
	if err := folder.WriteManifest(&results.Manifest{Title: "lost", State: results.StateRunning, Started: began, Databases: []*results.DatabaseRun{db}}); err != nil {
		t.Fatalf("write the manifest: %v", err)
	}
	mark, err := Write(dir, ofRun, addrs)
	if err == nil {
		err = mark.Close(false)
	}
	if err != nil {
		t.Fatalf("leave a note: %v", err)
	}
	return l
}

// collect fetches the records from the agents.
func (l *lost) collect() error {
	l.said = nil
	connect := func(_ context.Context, addr string) (pb.AgentClient, io.Closer, error) {
		return l.agents[addr], io.NopCloser(nil), nil
	}
	return Run(l.t.Context(), Options{Folder: l.folder, Connect: connect, Report: func(text string) { l.said = append(l.said, text) }})
}

// record returns the database record of the run.
func (l *lost) record() *results.DatabaseRun {
	l.t.Helper()
	m, err := l.folder.Manifest()
	if err != nil {
		l.t.Fatalf("read the manifest: %v", err)
	}
	return m.Databases[0]
}

// edit changes the record of the run, which has ended like its database.
func (l *lost) edit(change func(*results.DatabaseRun)) {
	l.t.Helper()
	m, err := l.folder.Manifest()
	if err != nil {
		l.t.Fatalf("read the manifest: %v", err)
	}
	change(m.Databases[0])
	m.State = m.Databases[0].State
	if err := l.folder.WriteManifest(m); err != nil {
		l.t.Fatalf("write the manifest: %v", err)
	}
}

// Complete files are recorded, also from a member whose agent is not released.
func TestUnreleased(t *testing.T) {
	bad := newStopped("member 1\n")
	bad.refuse = errors.New("the disk failed")
	l := newLost(t, bad, newStopped("member 2\n"))
	err := l.collect()
	if err == nil || !strings.Contains(err.Error(), "member 1: its records were fetched, but its agent was not released: agent a:3500: the disk failed") {
		t.Errorf("want an error about the release alone, got %v", err)
	}
	for again := range 2 {
		db := l.record()
		for i, name := range []string{"logs/1-fake.log", "logs/2-fake.log"} {
			m := db.Members[i]
			if !slices.Equal(m.Files, []string{name}) || len(m.Exit) != 1 || m.Error != "lease expired" || m.Disk == nil || m.Disk.ApparentBytes != 10 {
				t.Errorf("after collection %d, member %d is recorded as %+v; want the file %s, an exit, its reason and 10 bytes", again+1, i+1, m, name)
			}
		}
		if db.State != results.StateInterrupted {
			t.Errorf("after collection %d the run is %s, want it interrupted", again+1, db.State)
		}
		if _, err := Read(l.folder.Path(tag)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("after collection %d there is a note, %v, want none", again+1, err)
		}
		if err := l.collect(); err != nil {
			t.Errorf("collect again: %v", err)
		}
	}
}

// The member's use of its limits is recorded, and records that the agent could not write are
// reported and recorded with the run error, unless control has recorded the end of the member.
func TestUseAndProblems(t *testing.T) {
	used, err := pb.Record("the use of the limits", &resources.Use{Throttled: 3, PeakBytes: 1 << 20, OOMKills: 1})
	if err != nil {
		t.Fatal(err)
	}
	const problem = "some samples are missing: the disk is full"
	for _, known := range []bool{false, true} {
		a := newStopped("member 1\n")
		a.OnStop = func(context.Context, *pb.StopRequest) (*pb.StopResponse, error) {
			exit := []*pb.Child{{Name: "fake", Exit: "killed by SIGKILL"}}
			return &pb.StopResponse{Children: exit, ApparentBytes: -1, Use: used, Problems: []string{problem}}, nil
		}
		l := newLost(t, newStopped("member 1\n"), a)
		if known {
			l.edit(func(db *results.DatabaseRun) {
				db.State, db.Error, db.Members[1].Exit = results.StateFailed, "no space left on device", []string{"fake: exit 3"}
			})
		}
		err := l.collect()
		db := l.record()
		use := db.Members[1].Use
		if known {
			if err != nil || db.Error != "no space left on device" || use != nil {
				t.Errorf("%v; the run has the error %q and the member the use %+v, want both as they were", err, db.Error, use)
			}
			continue
		}
		if want := interrupted + "; member 2: " + problem; db.Error != want || err == nil || !strings.Contains(err.Error(), "member 2: "+problem) {
			t.Errorf("the run has the error %q, want %q, and it is reported: %v", db.Error, want, err)
		}
		if use == nil || use.Throttled != 3 || use.PeakBytes != 1<<20 || use.OOMKills != 1 || db.Members[0].Use != nil {
			t.Errorf("the members' uses are %+v and %+v, want none and what the agent had", db.Members[0].Use, use)
		}
		if _, err := Read(l.folder.Path(tag)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("there is a note, %v, want none: everything was fetched", err)
		}
	}
}

// Control's record about the end of a member stays, and files that it could not write are added.
func TestUnwritten(t *testing.T) {
	l := newLost(t, newStopped("member 1\n"))
	l.edit(func(db *results.DatabaseRun) {
		db.State, db.Error = results.StateFailed, "no space left on device"
		db.Members[0].Exit, db.Members[0].Disk = []string{"fake: exit 3"}, &results.Disk{ApparentBytes: 7, Filesystem: "ext4"}
	})
	if err := l.collect(); err != nil {
		t.Errorf("collect: %v", err)
	}
	db := l.record()
	m := db.Members[0]
	if db.State != results.StateFailed || len(m.Files) != 1 || !slices.Equal(m.Exit, []string{"fake: exit 3"}) || m.Disk.ApparentBytes != 7 || m.Disk.Filesystem != "ext4" {
		t.Errorf("the run is %s and its member %+v, want it failed, with one file and what was recorded before", db.State, m)
	}
}

// A failed run from which nothing can be fetched is reported with its error, which names the loss.
func TestNothingToFetch(t *testing.T) {
	l := newLost(t)
	l.edit(func(db *results.DatabaseRun) {
		db.State, db.Error = results.StateFailed, "an agent no longer has the records"
	})
	if err := os.Remove(filepath.Join(l.folder.Path(tag), fileNote)); err != nil {
		t.Fatalf("remove the note: %v", err)
	}
	if err := l.collect(); err != nil {
		t.Errorf("collect: %v", err)
	}
	want := []string{"nothing of the run is to be fetched: it is failed", "fake: an agent no longer has the records"}
	if !slices.Equal(l.said, want) {
		t.Errorf("reported %q, want %q", l.said, want)
	}
}
