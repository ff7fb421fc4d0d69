package agent_test

import (
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/database/fake"
	"github.com/coreos/dbtester/pkg/fault"
	"github.com/coreos/dbtester/pkg/fault/nft"
)

// cut is a fault that keeps clients from a member.
func cut(direction string) *pb.FaultKind {
	return &pb.FaultKind{Kind: "partition", Parameters: fault.Parameters{From: "clients", Direction: direction}.Encoded()}
}

// ownTables are the tables of this test's faults.
func ownTables(t *testing.T) (own []string) {
	t.Helper()
	names, err := nft.Names()
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		if strings.Contains(n, "toy-v1-1-") {
			own = append(own, n)
		}
	}
	return own
}

// Two partitions of one member end in any order, with the session, and with a lease; none
// leaves a table.
func TestFaultPartition(t *testing.T) {
	if err := nft.Check(); err != nil {
		t.Skipf("needs tables of nftables: %v", err)
	}
	h := serve(t, allowed)
	ask := func(id, direction string) *pb.FaultResponse {
		t.Helper()
		got, err := h.Fault(t.Context(), &pb.FaultRequest{RunId: h.run, Id: id, Fault: cut(direction), ForNs: forever})
		if err != nil || got.GetFailed() != "" || !strings.Contains(got.Saw, "rules drop packets") {
			t.Fatalf("fault %s: %v, %v", id, got, err)
		}
		return got
	}
	h.open("run1")
	req := request(t, "run1", "")
	req.Database = fake.Name
	h.start(req)
	h.awaitReady()
	addr := net.JoinHostPort(req.Hosts[0].Addr, strconv.Itoa(int(req.Hosts[0].Ports["client"])))
	ask("1", "in")
	ask("2", "out")
	if c, err := net.DialTimeout("tcp", addr, 200*time.Millisecond); err == nil {
		c.Close()
		t.Error("a client got through")
	}
	if n := len(ownTables(t)); n != 2 {
		t.Errorf("%d tables", n)
	}
	if over := h.heal("1"); !strings.HasSuffix(over.SawOver, "packets were dropped") {
		t.Errorf("the fault is %v", over)
	}
	got, err := h.Heal(t.Context(), &pb.HealRequest{RunId: h.run, Id: "2"})
	if err != nil || !strings.Contains(got.GetFailed(), "none of") { // the first let nothing reach the member
		t.Errorf("over: %v, %v; want a fault without an effect", got, err)
	}
	c, err := net.DialTimeout("tcp", addr, time.Minute)
	if err != nil {
		t.Fatalf("afterwards: %v", err)
	}
	c.Close()
	ask("3", "both")
	h.stopped("run1")
	if left := ownTables(t); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}
