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
	options   options
	endpoints []string
	version   string
	members   []*exec.Cmd
}

// newCluster is a cluster that is not started.
func newCluster(ctx context.Context, o options) (*cluster, error) {
	c := &cluster{options: o}
	for i := 1; i <= 3; i++ {
		c.endpoints = append(c.endpoints, fmt.Sprintf("127.0.81.%d:2379", i))
	}
	text, err := exec.CommandContext(ctx, o.dbtester, "version").Output()
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		if v, ok := strings.CutPrefix(strings.TrimSpace(line), "embedded etcd "); ok {
			c.version = v
		}
	}
	return c, nil
}

// renew ends the members, if they run, and starts them without data.
func (c *cluster) renew(ctx context.Context) error {
	if err := c.stop(); err != nil {
		return err
	}
	for i := range c.endpoints {
		if err := os.RemoveAll(c.data(i)); err != nil {
			return err
		}
	}
	for i := range c.endpoints {
		if err := c.start(i); err != nil {
			return err
		}
	}
	return c.ready(ctx)
}

func (c *cluster) data(i int) string {
	return filepath.Join(c.options.dir, fmt.Sprintf("etcd-%d", i+1))
}

// start starts member i.
func (c *cluster) start(i int) error {
	var peers []string
	for n := range c.endpoints {
		peers = append(peers, fmt.Sprintf("etcd-%d=%s", n+1, peerURL(n)))
	}
	client := "http://" + c.endpoints[i]
	cmd := exec.Command(c.options.dbtester, "serve", "etcd", fmt.Sprintf("--name=etcd-%d", i+1), "--data-dir="+c.data(i),
		"--listen-client-urls="+client, "--advertise-client-urls="+client,
		"--listen-peer-urls="+peerURL(i), "--initial-advertise-peer-urls="+peerURL(i),
		"--initial-cluster="+strings.Join(peers, ","), "--initial-cluster-token=peers", "--initial-cluster-state=new",
		"--quota-backend-bytes=8000000000", "--logger=zap", "--log-outputs=stderr", "--log-level=error")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	log, err := os.Create(c.data(i) + ".log")
	if err != nil {
		return err
	}
	defer log.Close()
	cmd.Stderr = log
	if err := cmd.Start(); err != nil {
		return err
	}
	c.members = append(c.members, cmd)
	return nil
}

func peerURL(i int) string { return fmt.Sprintf("http://127.0.81.%d:2380", i+1) }

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

// stop ends the members that run.
func (c *cluster) stop() error {
	var errs []error
	for _, m := range c.members {
		errs = append(errs, m.Process.Kill())
		_ = m.Wait() // it was killed, so its status has no meaning
	}
	c.members = nil
	return errors.Join(errs...)
}
