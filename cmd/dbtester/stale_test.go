package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	reading "github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/ability/consistency"
	"github.com/coreos/dbtester/pkg/mark"
	"github.com/coreos/dbtester/pkg/process/cgroup"
	"github.com/coreos/dbtester/pkg/process/resources"
)

// outside knows how stale the members of etcd are: it counts in a key of its own, by etcd's JSON over
// HTTP, and shares no code with dbtester.
type outside struct {
	client http.Client

	mu      sync.Mutex
	written []time.Time // when the write of each number ended
	// longest is for how long a value had been replaced that a member returned, and gap the longest
	// time between two reads of one member or two writes.
	longest, gap time.Duration
}

func (o *outside) call(host, verb string, request map[string]any) (answer struct {
	Kvs []struct{ Value []byte }
}, err error) {
	body, err := json.Marshal(request)
	if err != nil {
		return answer, err
	}
	resp, err := o.client.Post("http://"+host+":2379/v3/kv/"+verb, "application/json", bytes.NewReader(body))
	if err != nil {
		return answer, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err == nil {
		err = json.Unmarshal(data, &answer)
	}
	return answer, err
}

// write counts until stop is closed, over members in turn: one that is cut off answers nothing.
func (o *outside) write(hosts []string, stop <-chan struct{}) {
	host, last := 0, time.Now()
	for n := 0; !over(stop); time.Sleep(5 * time.Millisecond) {
		if _, err := o.call(hosts[host], "put", map[string]any{"key": []byte("outside"), "value": []byte(strconv.Itoa(n))}); err != nil {
			host = (host + 1) % len(hosts)
			continue // the number may have been written: it is written again
		}
		n++
		o.mu.Lock()
		o.written = append(o.written, time.Now())
		o.gap, last = max(o.gap, time.Since(last)), time.Now()
		o.mu.Unlock()
	}
}

// read reads a member's own copy until stop is closed.
func (o *outside) read(host string, stop <-chan struct{}) {
	last := time.Now()
	for ; !over(stop); time.Sleep(5 * time.Millisecond) {
		sent := time.Now()
		answer, err := o.call(host, "range", map[string]any{"key": []byte("outside"), "serializable": true})
		if err != nil || len(answer.Kvs) == 0 {
			continue
		}
		n, err := strconv.Atoi(string(answer.Kvs[0].Value))
		o.mu.Lock()
		if next := n + 1; err == nil && next < len(o.written) && sent.After(o.written[next]) {
			o.longest = max(o.longest, sent.Sub(o.written[next]))
		}
		o.gap, last = max(o.gap, time.Since(last)), time.Now()
		o.mu.Unlock()
	}
}

func over(stop <-chan struct{}) bool {
	select {
	case <-stop:
		return true
	default:
		return false
	}
}

// TestStaleFollower: a member of etcd is cut off from the others and answers reads from its own copy.
// Their staleness is measured, to within the time between two requests as somebody knows it who shares
// no code, and it is no violation.
func TestStaleFollower(t *testing.T) {
	notShort(t)
	needFaults(t, "partition")
	if p, err := cgroup.FindUnified(resources.Limits{}); err != nil {
		t.Skipf("needs control groups of version 2: %v", err)
	} else if err := p.Check("check", "partition", resources.Limits{}); err != nil {
		t.Skipf("needs control groups of version 2: %v", err)
	}
	t.Parallel()
	p, hosts := newPlace(t), freeHosts(t)
	c := p.start("control", "--local", "--config", p.file("stale.yaml", fmt.Sprintf(`
title: stale
results: %s
hosts: [%s]
load: {mix: {read: 60, update: 40}, read: stale, keys: 4, key_law: uniform, rate: 300, duration: 12s, clients: 180, connections: 3, key_size: 16, value_size: 32, timeout: 1s}
consistency: true
faults:
- {kind: partition, member: follower, at: 3s, for: 4s}
probe: 0s
plots: [AVG-THROUGHPUT]
databases:
  etcd: {options: {log_level: error}}
`, p.path("results"), strings.Join(hosts, ", "))))
	c.loading()
	o := &outside{client: http.Client{Timeout: 300 * time.Millisecond}}
	stop := make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() { o.write(hosts, stop) })
	for _, host := range hosts {
		all.Go(func() { o.read(host, stop) })
	}
	c.says("read back the written keys")
	close(stop)
	all.Wait()
	<-c.ended
	runs, err := reading.FromFolder(p.runs()[0].Dir())
	if err != nil || len(runs) != 1 {
		t.Fatalf("read the records: %d runs, %v\n%s", len(runs), err, c.err)
	}
	record := runs[0].Info.Record
	v, err := consistency.Record().Of(record.Records)
	if err != nil || v.Form != consistency.Measured || v.Violations() > 0 || v.Counts.StaleReads == 0 || v.Held == nil || v.Held.Lost() > 0 {
		t.Fatalf("the verdict is %+v, %v with keys %+v", v, err, v.Held)
	}
	for _, m := range record.Validity {
		if m.Code == mark.NotLinearizable || m.Code == mark.LostWrites || m.Code == mark.FaultFailed {
			t.Errorf("mark %s: %s", m.Code, m.Text)
		}
	}
	longest := time.Duration(v.Counts.Staleness)
	t.Logf("%d of %d reads were stale, for %v at most; outside it was %v, known to %v", v.Counts.StaleReads, v.Counts.Judged, longest, o.longest, o.gap)
	const betweenReads = 500 * time.Millisecond // of one key over one connection, some 60 a second less those that wait for a time-out
	if o.gap > betweenReads || c.cmd.ProcessState.ExitCode() != exitDone && busy(c.err.String()) {
		t.Log("this machine is too busy to compare")
		return
	}
	if (longest - o.longest).Abs() > betweenReads+o.gap {
		t.Errorf("reads were stale for %v at most, outside for %v", longest, o.longest)
	}
}
