package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/coreos/dbtester/tools/experiment"
)

// Where etcd and the proxy listen.
const (
	member = "127.0.88.1"
	front  = "127.0.88.2:2379"
)

// times are the measurements by one side in a run, in milliseconds.
type times struct {
	mean, p99 float64 // response times
	late      float64 // lateness p99; NaN without a rate
}

// sides holds the measurements by dbtester and by the proxy in a run.
type sides struct{ reported, observed times }

const text = `title: observer
results: %s
load: {operation: write, requests: %d, clients: %d, connections: %d, key_size: 256, value_size: 1024%s}
consistency: false
databases:
  etcd:
    endpoints: [%s]
    steps: {start: false, stop: false}
`

// run runs a load once on a separate member.
func run(ctx context.Context, program, parent string, l load, delay func() time.Duration) (s sides, err error) {
	dir, err := os.MkdirTemp(parent, "run-")
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	stop, err := startMember(ctx, program, dir)
	if err != nil {
		return s, err
	}
	defer stop()
	listener, err := net.Listen("tcp", front)
	if err != nil {
		return s, err
	}
	p := &proxy{listener: listener, back: member + ":2379", delay: delay}
	p.start()
	pace := ""
	if l.rate > 0 {
		pace = fmt.Sprintf(", rate: %d", l.rate)
	}
	file := filepath.Join(dir, "experiment.yaml")
	if err := os.WriteFile(file, fmt.Appendf(nil, text, filepath.Join(dir, "results"), l.requests, l.clients, l.connections, pace, front), 0o600); err != nil {
		p.stop()
		return s, err
	}
	said, err := experiment.Output(ctx, program, "control", "--full-speed", "--quiet", "--format", "json", "--config", file)
	log := p.stop() // control has ended, and its connections with it
	if err != nil {
		return s, err
	}
	reported, ok, err := read(said)
	if err != nil {
		return s, err
	}
	if int(ok) != l.requests || len(log) != l.requests {
		return s, fmt.Errorf("of %d puts dbtester reports %.0f and the proxy saw %d", l.requests, ok, len(log))
	}
	return sides{reported, observed(log, l.rate)}, nil
}

// startMember starts the etcd built into the program, alone, and returns the function that stops it.
func startMember(ctx context.Context, program, dir string) (stop func(), err error) {
	client, peer := "http://"+member+":2379", "http://"+member+":2380"
	cmd := exec.CommandContext(ctx, program, "serve", "etcd", "--name=observed", "--data-dir="+filepath.Join(dir, "data"),
		"--listen-client-urls="+client, "--advertise-client-urls="+client, "--listen-peer-urls="+peer, "--initial-advertise-peer-urls="+peer,
		"--initial-cluster=observed="+peer, "--logger=zap", "--log-outputs=stderr", "--log-level=error")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	stop = func() {
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()         // it was killed, so its status has no meaning
	}
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for !healthy(ctx, client) {
		select {
		case <-ctx.Done():
			stop()
			return nil, fmt.Errorf("etcd is not healthy: %w", ctx.Err())
		case <-tick.C:
		}
	}
	return stop, nil
}

func healthy(ctx context.Context, client string) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, client+"/health", nil)
	if err != nil {
		return false
	}
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	answer.Body.Close()
	return answer.StatusCode == http.StatusOK
}

// read returns the times in the JSON report on one run, and counts the ok requests.
func read(report string) (t times, ok float64, err error) {
	found, err := experiment.ReadReport(report, "AVG-LATENCY", "Latency p99", "OK")
	if err != nil {
		return t, 0, err
	}
	t = times{found["AVG-LATENCY"], found["Latency p99"], math.NaN()}
	if late, there := found["LATENESS p99"]; there {
		t.late = late
	}
	return t, found["OK"], nil
}

// observed returns the times by the stamps from the proxy. At a rate, requests are due evenly, from
// the latest start that is not after the arrival of any request.
func observed(log []stamps, rate int) times {
	slices.SortFunc(log, func(a, b stamps) int { return a.arrived.Compare(b.arrived) })
	due := func(i int) time.Time { return log[i].arrived }
	t := times{late: math.NaN()}
	if rate > 0 {
		after := func(i int) time.Duration { return time.Duration(float64(i) / float64(rate) * float64(time.Second)) }
		origin := log[0].arrived
		for i, s := range log {
			if start := s.arrived.Add(-after(i)); start.Before(origin) {
				origin = start
			}
		}
		due = func(i int) time.Time { return origin.Add(after(i)) }
	}
	var responses, late []float64
	for i, s := range log {
		responses = append(responses, milliseconds(s.answered.Sub(due(i))))
		late = append(late, milliseconds(s.arrived.Sub(due(i))))
		t.mean += responses[i] / float64(len(log))
	}
	t.p99 = percentile(responses, 0.99)
	if rate > 0 {
		t.late = percentile(late, 0.99)
	}
	return t
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// percentile returns the smallest value a share of all values does not exceed.
func percentile(values []float64, share float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[max(int(share*float64(len(sorted))+0.999999)-1, 0)]
}
