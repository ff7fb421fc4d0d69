package main

import (
	"bytes"
	"encoding/json"
	"errors"
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
	"github.com/coreos/dbtester/pkg/database/consul"
	"github.com/coreos/dbtester/pkg/databasetest"
	"github.com/coreos/dbtester/pkg/mark"
	"github.com/coreos/dbtester/pkg/process/cgroup"
	"github.com/coreos/dbtester/pkg/process/resources"
)

// outside measures how stale the members of a cluster are: it counts in its own key, and shares no
// code with dbtester.
type outside struct {
	// put writes a number, and get returns the number in the copy on one member.
	put func(host string, n int) error
	get func(host string) (int, error)

	mu      sync.Mutex
	written []time.Time // when the write of each number ended
	// longest is the longest time for which a returned value had been replaced, and gap the longest
	// time between two reads from one member or two writes.
	longest, gap time.Duration
}

// ask returns the body of an answer if its status is 200.
func ask(verb, url string, body []byte) ([]byte, error) {
	req, err := http.NewRequest(verb, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	client := http.Client{Timeout: 300 * time.Millisecond}
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = errors.New(resp.Status)
	}
	return data, err
}

// outsideEtcd uses the etcd API with JSON over HTTP.
func outsideEtcd() *outside {
	call := func(host, verb string, request map[string]any) (data []byte, err error) {
		body, err := json.Marshal(request)
		if err != nil {
			return nil, err
		}
		return ask(http.MethodPost, "http://"+host+":2379/v3/kv/"+verb, body)
	}
	return &outside{
		put: func(host string, n int) error {
			_, err := call(host, "put", map[string]any{"key": []byte("outside"), "value": []byte(strconv.Itoa(n))})
			return err
		},
		get: func(host string) (int, error) {
			data, err := call(host, "range", map[string]any{"key": []byte("outside"), "serializable": true})
			var answer struct{ Kvs []struct{ Value []byte } }
			if err == nil {
				err = json.Unmarshal(data, &answer)
			}
			if err != nil || len(answer.Kvs) == 0 {
				return 0, errors.Join(err, errors.New("no value"))
			}
			return strconv.Atoi(string(answer.Kvs[0].Value))
		},
	}
}

// outsideConsul uses the HTTP API of Consul.
func outsideConsul() *outside {
	const key = ":8500/v1/kv/outside"
	return &outside{
		put: func(host string, n int) error {
			_, err := ask(http.MethodPut, "http://"+host+key, []byte(strconv.Itoa(n)))
			return err
		},
		get: func(host string) (int, error) {
			data, err := ask(http.MethodGet, "http://"+host+key+"?stale&raw", nil)
			if err != nil {
				return 0, err
			}
			return strconv.Atoi(string(data))
		},
	}
}

// write counts until stop is closed, over members in turn: one that is cut off answers nothing.
func (o *outside) write(hosts []string, stop <-chan struct{}) {
	host, last := 0, time.Now()
	for n := 0; !over(stop); time.Sleep(5 * time.Millisecond) {
		if o.put(hosts[host], n) != nil {
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

// read reads the copy on one member until stop is closed.
func (o *outside) read(host string, stop <-chan struct{}) {
	last := time.Now()
	for ; !over(stop); time.Sleep(5 * time.Millisecond) {
		sent := time.Now()
		n, err := o.get(host)
		if err != nil {
			continue
		}
		o.mu.Lock()
		if next := n + 1; next < len(o.written) && sent.After(o.written[next]) {
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

// An etcd member that is cut off from the others answers serializable reads from its own copy.
func TestStaleFollower(t *testing.T) {
	staleFollower(t, "etcd: {options: {log_level: error}, load: {connections: 3}}", outsideEtcd())
}

// So does a Consul member with stale reads.
func TestStaleFollowerOfConsul(t *testing.T) {
	notShort(t)
	databasetest.Release(t, consul.Database(), releases["consul"])
	staleFollower(t, "consul: {version: "+releases["consul"]+", install: true}", outsideConsul())
}

// staleFollower cuts a member off. The measured staleness of its reads equals that by independent
// code, to within the time between two requests, and it is no violation.
func staleFollower(t *testing.T, database string, o *outside) {
	t.Helper()
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
load: {mix: {read: 60, update: 40}, read: stale, keys: 4, key_law: uniform, rate: 300, duration: 22s, clients: 180, key_size: 16, value_size: 32, timeout: 1s}
consistency: true
faults:
- {kind: partition, member: follower, at: 3s, for: 4s}
probe: 0s
plots: [AVG-THROUGHPUT]
databases:
  %s
`, p.path("results"), strings.Join(hosts, ", "), database)))
	c.loading()
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
	if record.Stops != nil {
		o.gap += record.Stops.Longest.Length // dbtester did not read meanwhile
	}
	const betweenReads = 500 * time.Millisecond // on one key over one connection, some 60 a second, fewer during time-outs
	if o.gap > betweenReads || c.cmd.ProcessState.ExitCode() != exitDone && busy(c.err.String()) {
		t.Log("on this machine that is not known well enough to compare")
		return
	}
	if (longest - o.longest).Abs() > betweenReads+o.gap {
		t.Errorf("reads were stale for %v at most, outside for %v", longest, o.longest)
	}
}
