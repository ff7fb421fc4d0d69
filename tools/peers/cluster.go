package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// cluster has the members of a database on loopback addresses.
type cluster struct {
	version   string
	dir       string
	addrs     []string // the members', without ports
	endpoints []string
	// command makes the files for member i in its folder, and returns its command.
	command func(i int, dir string) ([]string, error)
	// healthy reports whether a member answers with a quorum.
	healthy func(ctx context.Context, endpoint string) bool

	members []*exec.Cmd
}

// newCluster returns a cluster of three members at 127.0.NET.1 to 3, which is not started.
func newCluster(o options, network, port int) *cluster {
	c := &cluster{dir: o.dir}
	for i := 1; i <= 3; i++ {
		addr := fmt.Sprintf("127.0.%d.%d", network, i)
		c.addrs, c.endpoints = append(c.addrs, addr), append(c.endpoints, fmt.Sprintf("%s:%d", addr, port))
	}
	return c
}

// newEtcd returns three members that run the etcd built into dbtester.
func newEtcd(ctx context.Context, o options) (*cluster, error) {
	c := newCluster(o, 81, 2379)
	text, err := exec.CommandContext(ctx, o.dbtester, "version").Output()
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		if v, ok := strings.CutPrefix(strings.TrimSpace(line), "embedded etcd "); ok {
			c.version = v
		}
	}
	var peers []string
	for i, addr := range c.addrs {
		peers = append(peers, fmt.Sprintf("etcd-%d=http://%s:2380", i+1, addr))
	}
	c.healthy = etcdHealthy
	c.command = func(i int, dir string) ([]string, error) {
		client, peer := "http://"+c.endpoints[i], fmt.Sprintf("http://%s:2380", c.addrs[i])
		return []string{o.dbtester, "serve", "etcd", fmt.Sprintf("--name=etcd-%d", i+1), "--data-dir=" + filepath.Join(dir, "data"),
			"--listen-client-urls=" + client, "--advertise-client-urls=" + client,
			"--listen-peer-urls=" + peer, "--initial-advertise-peer-urls=" + peer,
			"--initial-cluster=" + strings.Join(peers, ","), "--initial-cluster-token=peers", "--initial-cluster-state=new",
			"--quota-backend-bytes=8000000000", "--logger=zap", "--log-outputs=stderr", "--log-level=error"}, nil
	}
	return c, nil
}

func etcdHealthy(ctx context.Context, endpoint string) bool {
	return answers(ctx, "http://"+endpoint+"/health", http.StatusOK)
}

// The releases for the other databases, which dbtester installs.
const (
	zookeeperRelease = "3.9.5"
	consulRelease    = "1.21.0"
)

// installed has dbtester install a release, unless it has, and returns its folder.
func (o options) installed(ctx context.Context, name, version string) (string, error) {
	text, err := exec.CommandContext(ctx, o.dbtester, "install", name+"@"+version).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("install %s %s: %w\n%s", name, version, err, text)
	}
	cache, err := os.UserCacheDir()
	return filepath.Join(cache, "dbtester", name, version), err
}

// newZooKeeper returns three ZooKeeper members with 512 MB heaps.
func newZooKeeper(ctx context.Context, o options) (*cluster, error) {
	release, err := o.installed(ctx, "zookeeper", zookeeperRelease)
	if err != nil {
		return nil, err
	}
	c := newCluster(o, 85, 2181)
	c.version, c.healthy = zookeeperRelease, zookeeperHealthy
	c.command = func(i int, dir string) ([]string, error) {
		var config strings.Builder
		fmt.Fprintf(&config, "tickTime=2000\ninitLimit=10\nsyncLimit=5\ndataDir=%[1]s/data\ndataLogDir=%[1]s/log\nclientPort=2181\nclientPortAddress=%s\nmaxClientCnxns=0\nsnapCount=1000000\n", dir, c.addrs[i])
		config.WriteString("admin.enableServer=false\n4lw.commands.whitelist=ruok,srvr,mntr,conf,cons,stat\n")
		for n, addr := range c.addrs {
			fmt.Fprintf(&config, "server.%d=%s:2888:3888\n", n+1, addr)
		}
		return []string{"java", "-Xms512M", "-Xmx512M", "-cp", dir + ":" + filepath.Join(release, "*") + ":" + filepath.Join(release, "lib", "*"),
				"org.apache.zookeeper.server.quorum.QuorumPeerMain", filepath.Join(dir, "zoo.cfg")},
			errors.Join(write(dir, "zoo.cfg", config.String()), write(dir, "logback.xml", `<configuration><root level="OFF"/></configuration>`), write(dir, "data/myid", fmt.Sprint(i+1)))
	}
	return c, nil
}

// zookeeperHealthy reports whether a member leads or follows.
func zookeeperHealthy(ctx context.Context, endpoint string) bool {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", endpoint)
	if err != nil {
		return false
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "srvr"); err != nil {
		return false
	}
	text, err := io.ReadAll(conn)
	return err == nil && (strings.Contains(string(text), "Mode: leader") || strings.Contains(string(text), "Mode: follower"))
}

// newConsul returns three Consul servers.
func newConsul(ctx context.Context, o options) (*cluster, error) {
	release, err := o.installed(ctx, "consul", consulRelease)
	if err != nil {
		return nil, err
	}
	c := newCluster(o, 86, 8500)
	c.version, c.healthy = consulRelease, consulHealthy
	const off = -1
	config, err := json.Marshal(map[string]any{
		"performance": map[string]int{"raft_multiplier": 1},
		"limits":      map[string]int{"http_max_conns_per_client": 5_000, "rpc_max_conns_per_client": 5_000},
		"ports":       map[string]int{"https": off, "serf_wan": off, "dns": off, "grpc": off, "grpc_tls": off},
		"log_level":   "error", "retry_interval": "1s", "disable_update_check": true, "ui_config": map[string]bool{"enabled": false},
	})
	if err != nil {
		return nil, err
	}
	c.command = func(i int, dir string) ([]string, error) {
		argv := []string{filepath.Join(release, "consul"), "agent", "-server", "-bootstrap-expect=3", fmt.Sprintf("-node=consul-%d", i+1),
			"-bind=" + c.addrs[i], "-client=" + c.addrs[i], "-data-dir=" + filepath.Join(dir, "data"), "-config-file=" + filepath.Join(dir, "consul.json")}
		for n, addr := range c.addrs {
			if n != i {
				argv = append(argv, "-retry-join="+addr)
			}
		}
		return argv, write(dir, "consul.json", string(config))
	}
	return c, nil
}

// consulHealthy reports whether the leader behind a member answers a consistent read of a key that
// is missing.
func consulHealthy(ctx context.Context, endpoint string) bool {
	return answers(ctx, "http://"+endpoint+"/v1/kv/missing?consistent", http.StatusNotFound)
}

// answers reports whether a GET of url is answered with status.
func answers(ctx context.Context, url string, status int) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	res.Body.Close()
	return res.StatusCode == status
}

// write makes the file name in dir.
func write(dir, name, text string) error {
	file := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, []byte(text), 0o644)
}

// renew ends the members, if they run, and starts them without data.
func (c *cluster) renew(ctx context.Context) error {
	if err := c.stop(); err != nil {
		return err
	}
	for i := range c.endpoints {
		if err := c.start(i); err != nil {
			return err
		}
	}
	return c.ready(ctx)
}

// start starts member i without data.
func (c *cluster) start(i int) error {
	dir := filepath.Join(c.dir, fmt.Sprintf("member-%d", i+1))
	if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o755)); err != nil {
		return err
	}
	argv, err := c.command(i, dir)
	if err != nil {
		return err
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	log, err := os.Create(dir + ".log")
	if err != nil {
		return err
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return err
	}
	c.members = append(c.members, cmd)
	return nil
}

// ready waits until every member is healthy.
func (c *cluster) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for i, e := range c.endpoints {
		for !c.healthy(ctx, e) {
			select {
			case <-ctx.Done():
				log, _ := os.ReadFile(filepath.Join(c.dir, fmt.Sprintf("member-%d.log", i+1))) // it is only a hint
				return fmt.Errorf("member %s is not healthy: %w\n%s", e, ctx.Err(), log)
			case <-tick.C:
			}
		}
	}
	return nil
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
