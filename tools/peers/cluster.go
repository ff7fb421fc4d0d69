package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// cluster is three members of the etcd built into dbtester.
type cluster struct {
	endpoints []string
	version   string
	members   []*exec.Cmd
}

func startEtcd(ctx context.Context, o options) (*cluster, error) {
	c := &cluster{}
	var peers []string
	for i := 1; i <= 3; i++ {
		c.endpoints = append(c.endpoints, fmt.Sprintf("127.0.81.%d:2379", i))
		peers = append(peers, fmt.Sprintf("etcd-%d=http://127.0.81.%d:2380", i, i))
	}
	for i := 1; i <= 3; i++ {
		client, peer := "http://"+c.endpoints[i-1], fmt.Sprintf("http://127.0.81.%d:2380", i)
		cmd := exec.Command(o.dbtester, "serve", "etcd", fmt.Sprintf("--name=etcd-%d", i),
			"--data-dir="+filepath.Join(o.dir, fmt.Sprintf("etcd-%d", i)),
			"--listen-client-urls="+client, "--advertise-client-urls="+client,
			"--listen-peer-urls="+peer, "--initial-advertise-peer-urls="+peer,
			"--initial-cluster="+strings.Join(peers, ","), "--initial-cluster-token=peers", "--initial-cluster-state=new",
			"--quota-backend-bytes=8000000000", "--logger=zap", "--log-outputs=stderr", "--log-level=error")
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		log, err := os.Create(filepath.Join(o.dir, fmt.Sprintf("etcd-%d.log", i)))
		if err != nil {
			return nil, err
		}
		cmd.Stderr = log
		if err := cmd.Start(); err != nil {
			return nil, errors.Join(err, c.stop())
		}
		c.members = append(c.members, cmd)
	}
	if err := c.ready(ctx); err != nil {
		return nil, errors.Join(err, c.stop())
	}
	text, err := exec.CommandContext(ctx, o.dbtester, "version").Output()
	if err != nil {
		return nil, errors.Join(err, c.stop())
	}
	for line := range strings.Lines(string(text)) {
		if v, ok := strings.CutPrefix(strings.TrimSpace(line), "embedded etcd "); ok {
			c.version = v
		}
	}
	return c, nil
}

// ready waits until every member is healthy.
func (c *cluster) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for _, e := range c.endpoints {
		for !healthy(ctx, e) {
			select {
			case <-ctx.Done():
				return fmt.Errorf("member %s is not healthy: %w", e, ctx.Err())
			case <-tick.C:
			}
		}
	}
	return nil
}

func healthy(ctx context.Context, endpoint string) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+endpoint+"/health", nil)
	if err != nil {
		return false
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	res.Body.Close()
	return res.StatusCode == http.StatusOK
}

func (c *cluster) stop() error {
	var errs []error
	for _, m := range c.members {
		errs = append(errs, m.Process.Kill())
		_ = m.Wait() // it was killed, so its status has no meaning
	}
	return errors.Join(errs...)
}
