package main

import (
	"encoding/json"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/workload"
)

// TestAllowLoad: an agent issues loads only if its flags allow it, and can end during a
// load.
func TestAllowLoad(t *testing.T) {
	t.Parallel()
	p, hosts := newPlace(t), freeHosts(t)
	agents := append(p.startAgents(hosts[:1], "--insecure", "--allow-load"), p.startAgents(hosts[1:2], "--insecure")...)
	load, err := json.Marshal(workload.Load{Content: workload.Content{Operation: workload.OpWrite}, Sizing: workload.Sizing{KeySize: 8, ValueSize: 8}, Limits: workload.Limits{Timeout: time.Second}})
	if err != nil {
		t.Fatalf("encode the load: %v", err)
	}
	for i, host := range hosts[:2] {
		conn, err := grpc.NewClient("passthrough:///"+net.JoinHostPort(host, "3500"), grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			t.Fatalf("make the client: %v", err)
		}
		defer conn.Close()
		resp, err := pb.NewGeneratorClient(conn).Prepare(t.Context(), &pb.PrepareRequest{
			RunId: "run1", Owner: "test", Version: tool().Version, Database: "etcd", Load: load, Parts: 1, Endpoints: []string{host + ":2379"}, Reserved: []string{host},
		})
		switch {
		case i == 0 && (err != nil || resp.GetMember() || !strings.Contains(string(resp.GetHost()), `"boot_id":`)):
			t.Errorf("an agent with --allow-load answers %v, error %v", resp, err)
		case i == 1 && (status.Code(err) != codes.PermissionDenied || !strings.Contains(err.Error(), "--allow-load")):
			t.Errorf("an agent without --allow-load answers %v, error %v, want a refusal that names the flag", resp, err)
		}
	}
	for _, a := range agents {
		a.signal(syscall.SIGTERM)
	}
	for _, a := range agents {
		a.exits(exitDone, patience)
	}
}
