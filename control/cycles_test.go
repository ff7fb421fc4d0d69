package control

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	pb "github.com/coreos/dbtester/dbtesterpb"
)

// cyclesEnv runs fifty etcd cycles: make cycles.
const cyclesEnv = "DBTESTER_CYCLES_ETCD"

// An agent that repeatedly starts and stops members retains nothing from them: no goroutine, open
// file, process or file.
func TestCycles(t *testing.T) {
	if os.Getenv(cyclesEnv) == "" {
		cycles(t, "fake", "", 8)
		return
	}
	cycles(t, "etcd", "log_level: error", 50)
}

func cycles(t *testing.T, database, options string, n int) {
	r := newRigOf(t, played())
	a := r.agents[0]
	cycle := func(run string) {
		if _, err := a.client.Open(t.Context(), &pb.OpenRequest{RunId: run}); err != nil {
			t.Fatalf("open the session: %v", err)
		}
		ports := map[string]int32{"client": int32(a.port)}
		if database == "etcd" {
			ports["peer"] = int32(freePort(t, a.host))
		}
		req := &pb.StartRequest{
			RunId: run, Database: database, Tag: "cycle", Options: []byte(options),
			Hosts: []*pb.MemberHost{{Addr: a.host, Ports: ports}},
		}
		if _, err := a.client.Start(t.Context(), req); err != nil {
			t.Fatalf("start the member: %v", err)
		}
		stopped, err := a.client.Stop(t.Context(), &pb.StopRequest{RunId: run})
		if err != nil || stopped.Reason != "asked" || len(stopped.Problems) > 0 {
			t.Fatalf("stop the member: %v, %v", stopped, err)
		}
		if _, err := a.client.Close(t.Context(), &pb.CloseRequest{RunId: run}); err != nil {
			t.Fatalf("close the session: %v", err)
		}
	}
	count := func() [3]int {
		fds, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatalf("list the open files: %v", err)
		}
		lists, err := filepath.Glob("/proc/self/task/*/children")
		if err != nil {
			t.Fatalf("list the threads: %v", err)
		}
		children := 0
		for _, list := range lists {
			pids, _ := os.ReadFile(list) // for a thread that has ended
			children += len(strings.Fields(string(pids)))
		}
		return [3]int{runtime.NumGoroutine(), len(fds), children}
	}
	for range 3 { // makes the objects that are made once
		cycle("warm")
	}
	before := count()
	for range n {
		cycle("run")
	}
	after := count()
	more := func() bool { return after[0] > before[0] || after[1] > before[1] || after[2] > before[2] }
	for deadline := time.Now().Add(patience); more() && time.Now().Before(deadline); after = count() {
		time.Sleep(10 * time.Millisecond) // goroutines end a little after they signal it
	}
	if more() {
		t.Errorf("after %d cycles %v goroutines, open files and processes, before them %v", n, after, before)
	}
	r.mustBeIdle()
}
