package agent_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/coreos/dbtester/agent"
	pb "github.com/coreos/dbtester/dbtesterpb"
)

// verbs are the messages on the wire, by the first byte of an input.
func verbs() []proto.Message {
	return []proto.Message{
		&pb.OpenRequest{}, &pb.InstallRequest{}, &pb.StartRequest{}, &pb.HeartbeatRequest{}, &pb.StopRequest{},
		&pb.StatusRequest{}, &pb.CollectRequest{}, &pb.CloseRequest{},
	}
}

// sink is a stream that discards answers.
type sink[T any] struct{ deaf[T] }

func (s *sink[T]) Send(*T) error { return nil }

// FuzzWire sends any messages to an agent, some from its run. No verb panics, nothing is written
// outside a session directory, and the agent is free after a Close. Starts are dry: they plan and
// check like all others.
func FuzzWire(f *testing.F) {
	add := func(verb int, m proto.Message) {
		data, err := proto.Marshal(m)
		if err != nil {
			f.Fatalf("encode a message: %v", err)
		}
		f.Add(append([]byte{byte(verb)}, data...))
	}
	start := &pb.StartRequest{
		RunId: "run1", Database: "toy", Tag: "toy-v1", Options: []byte("{proxy: true}"), Clients: 7,
		Hosts: []*pb.MemberHost{{Addr: "127.0.0.1", Ports: map[string]int32{"client": 7379}}},
	}
	add(0, &pb.OpenRequest{RunId: "run1", Owner: "me", TakeOver: start})
	add(1, &pb.InstallRequest{RunId: "run1", Database: "toy", Version: "v1.0.0"})
	add(2, start)
	zone := proto.CloneOf(start)
	zone.Hosts[0].Addr, zone.Tag, zone.Version, zone.Binary = "::1%lo\nx=y", "../up", "../../v1", "/bin/sh"
	add(2, zone)
	fake := proto.CloneOf(start)
	fake.Database, fake.Options, fake.TlsCa = "fake", []byte("{delay: 1ms, delay: 2ms}"), "/etc/ca.pem"
	add(2, fake)
	add(3, &pb.HeartbeatRequest{RunId: "run1", Clients: 1 << 30, Leaving: true})
	add(4, &pb.StopRequest{RunId: "run1"})
	add(5, &pb.StatusRequest{RunId: "run1", Probe: true})
	add(6, &pb.CollectRequest{RunId: "run1", Index: 1 << 30})
	add(7, &pb.CloseRequest{RunId: "run1"})
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) == 0 {
			return
		}
		list := verbs()
		m := list[int(data[0])%len(list)]
		if proto.Unmarshal(data[1:], m) != nil {
			return
		}
		dir := filepath.Join(t.TempDir(), "work")
		a, err := agent.New(agent.Options{
			Registry: registry(), WorkDir: dir, Self: []string{os.Args[0], "serve"}, Interface: "lo", Grace: time.Minute,
		})
		if err != nil {
			t.Fatalf("make the agent: %v", err)
		}
		var direct capture
		a.Register(&direct)
		s, ctx := direct.service, t.Context()
		if _, err := s.Open(ctx, &pb.OpenRequest{RunId: "run1"}); err != nil {
			t.Fatalf("open the session: %v", err)
		}
		err = send(ctx, s, m)
		if err != nil && strings.Contains(err.Error(), "panicked") && !strings.Contains(err.Error(), "the toy broke") {
			t.Errorf("%T: %v", m, err)
		}
		if _, err := s.Close(ctx, &pb.CloseRequest{RunId: "run1"}); err != nil {
			t.Errorf("close the session: %v", err)
		}
		if got, err := s.Status(ctx, &pb.StatusRequest{}); err != nil || got.State != pb.State_STATE_IDLE && got.State != pb.State_STATE_OPEN {
			t.Errorf("after the Close: %v, %v", got, err)
		}
		for _, path := range tree(t, filepath.Dir(dir)) {
			if path != filepath.Dir(dir) && path != dir && filepath.Base(path) != ".lock" {
				t.Errorf("%s is left", path)
			}
		}
		if err := a.Close(context.Background()); err != nil {
			t.Errorf("close the agent: %v", err)
		}
	})
}

// send calls the verb for m.
func send(ctx context.Context, s pb.AgentServer, m proto.Message) (err error) {
	switch m := m.(type) {
	case *pb.OpenRequest:
		_, err = s.Open(ctx, m)
	case *pb.InstallRequest:
		err = s.Install(m, &sink[pb.InstallProgress]{deaf[pb.InstallProgress]{ctx: ctx}})
	case *pb.StartRequest:
		m.DryRun = true
		_, err = s.Start(ctx, m)
	case *pb.HeartbeatRequest:
		_, err = s.Heartbeat(ctx, m)
	case *pb.StopRequest:
		_, err = s.Stop(ctx, m)
	case *pb.StatusRequest:
		_, err = s.Status(ctx, m)
	case *pb.CollectRequest:
		err = s.Collect(m, &sink[pb.CollectChunk]{deaf[pb.CollectChunk]{ctx: ctx}})
	case *pb.CloseRequest:
		_, err = s.Close(ctx, m)
	}
	return err
}

// FuzzRecord gives an agent any session record. The agent starts, and kills no process.
func FuzzRecord(f *testing.F) {
	f.Add(`{"format":1,"run_id":"run1","tag":"toy-v1","state":"running","opened":"2026-01-02T15:04:05Z","boot_id":"x","children":[{"name":"s","pid":1,"start_ticks":5}],"files":["session.json","../../secret"]}`)
	f.Add(`{"format":1,"children":[null],"files":[null]}`)
	f.Add(`{"format":2}`)
	f.Add(`[]`)
	f.Add("{gar")
	f.Fuzz(func(t *testing.T, record string) {
		dir := t.TempDir()
		if err := os.Mkdir(filepath.Join(dir, "toy-v1-run1"), 0o755); err != nil {
			t.Fatalf("make the folder: %v", err)
		}
		if err := os.WriteFile(filepath.Join(dir, "toy-v1-run1", "session.json"), []byte(record), 0o600); err != nil {
			t.Fatalf("write the record: %v", err)
		}
		secret := filepath.Join(filepath.Dir(dir), "secret")
		if err := os.WriteFile(secret, []byte("s"), 0o600); err != nil {
			t.Fatalf("write a file for the test: %v", err)
		}
		a, err := agent.New(agent.Options{Registry: registry(), WorkDir: dir})
		if err != nil {
			t.Fatalf("make the agent: %v", err)
		}
		var direct capture
		a.Register(&direct)
		if _, err := direct.service.Open(t.Context(), &pb.OpenRequest{RunId: "run2"}); err != nil {
			t.Errorf("open a session after it: %v", err)
		}
		if _, err := os.Stat(secret); err != nil {
			t.Errorf("a file outside: %v", err)
		}
		if err := a.Close(t.Context()); err != nil {
			t.Errorf("close the agent: %v", err)
		}
	})
}
