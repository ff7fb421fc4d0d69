package main

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	reading "github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/ability/consistency"
)

// TestJudgedWhileStopped: the process that issues and judges a load has one processor and is
// stopped for 300 ms every 1.2 s, wherever its clients are at that moment. Every request is judged,
// no request comes too late for that, and an honest store has no violation.
func TestJudgedWhileStopped(t *testing.T) {
	notShort(t)
	t.Parallel()
	p := newPlace(t)
	c := p.launch("env", "GOMAXPROCS=1", "dbtester", "control", "--local", "--config", p.file("stopped.yaml", fmt.Sprintf(`
title: stopped
results: %s
hosts: [%s]
load: {mix: {read: 45, update: 45, swap: 10}, keys: 40, key_law: uniform, duration: 14s, clients: 60, connections: 6, key_size: 16, value_size: 32, timeout: 60s}
consistency: true
plots: [AVG-THROUGHPUT]
databases: {etcd: {options: {log_level: error}}}
`, p.path("results"), freeHosts(t)[0])))
	c.says(`60 clients, [0-9]`) // maybe before the first answer, which a busy disk delays
	stops := 0
	for over := false; !over; stops++ {
		for _, s := range []struct {
			signal syscall.Signal
			then   time.Duration
		}{{syscall.SIGSTOP, 300 * time.Millisecond}, {syscall.SIGCONT, 900 * time.Millisecond}} {
			_ = c.cmd.Process.Signal(s.signal) // the process may have ended
			select {
			case <-c.ended:
				over = true
			case <-time.After(s.then):
			}
		}
	}
	runs, err := reading.FromFolder(p.runs()[0].Dir())
	if err != nil || len(runs) != 1 {
		t.Fatalf("read the records: %d runs, %v\n%s", len(runs), err, c.err)
	}
	v, err := consistency.Record().Of(runs[0].Info.Record.Records)
	if n := v.Counts; err != nil || v.Form != consistency.Judged || n.Operations < 100 || n.Judged != n.Operations || n.Late > 0 || v.Violations() > 0 {
		t.Errorf("the verdict is %+v, %v, want every request judged without a violation", v, err)
	}
	if v.Held == nil || v.Held.Read != v.Held.Keys || v.Held.Lost() > 0 || stops < 8 {
		t.Errorf("after %d stops, the keys after the load are %+v", stops, v.Held)
	}
}
