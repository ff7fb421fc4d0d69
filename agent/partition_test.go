package agent_test

import (
	"fmt"
	"net"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/database/fake"
	"github.com/coreos/dbtester/pkg/fault"
	"github.com/coreos/dbtester/pkg/fault/nft"
	"github.com/coreos/dbtester/pkg/process/namespacetest"
)

// cut is a fault that cuts clients off from a member.
func cut(direction string) *pb.FaultKind {
	return &pb.FaultKind{Kind: "partition", Parameters: fault.Parameters{From: "clients", Direction: direction}.Encoded()}
}

// ownTables returns the tables for this test's faults.
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

// inOwnNetwork reports whether this process is in a separate network namespace that supports a
// fault kind.
func inOwnNetwork(t *testing.T, kind string) bool {
	t.Helper()
	if !namespacetest.Again(t, syscall.CLONE_NEWNET, 0) {
		return false
	}
	if k, err := fault.Find(kind); err != nil {
		t.Fatal(err)
	} else if err := k.Possible(); err != nil {
		t.Skipf("needs the fault %s: %v", kind, err)
	}
	return true
}

// Two partitions on one member end in any order, with the session, and with a lease. Neither leaves
// a table.
func TestFaultPartition(t *testing.T) {
	if !inOwnNetwork(t, "partition") {
		return
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
	c, err := net.DialTimeout("tcp", addr, patience)
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

// Packets of a member's clients are delayed while a fault lasts, and pass at once when the session
// ends, which leaves no table.
func TestFaultDelay(t *testing.T) {
	if !inOwnNetwork(t, "delay") {
		return
	}
	h := serve(t, allowed)
	ask := func(id string, p fault.Parameters) {
		t.Helper()
		p.From = "clients"
		got, err := h.Fault(t.Context(), &pb.FaultRequest{RunId: h.run, Id: id, Fault: &pb.FaultKind{Kind: "delay", Parameters: p.Encoded()}, ForNs: forever})
		if err != nil || got.GetFailed() != "" || got.Saw != "2 rules hold packets" {
			t.Fatalf("fault %s: %v, %v", id, got, err)
		}
	}
	h.open("run1")
	req := request(t, "run1", "")
	req.Database = fake.Name
	h.start(req)
	h.awaitReady()
	addr := net.JoinHostPort(req.Hosts[0].Addr, strconv.Itoa(int(req.Hosts[0].Ports["client"])))
	dial := func() time.Duration {
		t.Helper()
		began := time.Now()
		c, err := net.DialTimeout("tcp", addr, patience)
		if err != nil {
			t.Fatal(err)
		}
		c.Close()
		return time.Since(began)
	}
	const by = 50 * time.Millisecond
	ask("1", fault.Parameters{By: by.String()})
	if took := dial(); took < 2*by {
		t.Errorf("a connection was open after %v, want %v later, there and back", took, 2*by)
	}
	if over := h.heal("1"); !strings.Contains(over.SawOver, "packets were held for ") || !strings.HasSuffix(over.SawOver, "(asked: by 50ms)") {
		t.Errorf("the fault is %v", over)
	}
	for try := 1; ; try++ { // the connection's last packets may still come
		id := fmt.Sprint("2-", try)
		ask(id, fault.Parameters{Rate: "1Mbit"})
		got, err := h.Heal(t.Context(), &pb.HealRequest{RunId: h.run, Id: id})
		if err == nil && strings.Contains(got.GetFailed(), "none of 0 packets was held") {
			break
		}
		if err != nil || try == 20 {
			t.Fatalf("over: %v, %v; want a fault without an effect", got, err)
		}
	}
	ask("3", fault.Parameters{By: "10s"})
	h.stopped("run1")
	if left := ownTables(t); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}
