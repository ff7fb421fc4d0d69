package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	staticAddr = "127.0.82.1:8500"
	behindAddr = "127.0.82.2:8500"
)

// static is nginx, which serves keys as files, and behind it a handler for all requests except GETs
// for a key: it stores put values as such files, and describes itself as a Consul server does.
type static struct {
	version string
	root    string
	nginx   *exec.Cmd
	behind  *http.Server

	mu  sync.Mutex
	put string // the path that was put last
}

// nginxConfig runs one worker on processor 0 in the foreground.
const nginxConfig = `daemon off; master_process off; worker_cpu_affinity 1; error_log stderr error; pid %[1]s/nginx.pid;
events { worker_connections 4096; }
http {
	access_log off; sendfile off; tcp_nodelay on; keepalive_requests 1000000000; open_file_cache max=10; open_file_cache_valid 1h;
	client_body_temp_path %[1]s/body; proxy_temp_path %[1]s/proxy;
	server {
		listen %[2]s;
		location / { proxy_pass http://%[3]s; }
		location /v1/kv/peers/dbtester/ { proxy_pass http://%[3]s; }
		location /v1/kv/ {
			root %[1]s;
			if ($request_method = PUT) { proxy_pass http://%[3]s; }
		}
	}
}
`

func startStatic(dir string) (*static, error) {
	s := &static{root: dir, version: strings.TrimPrefix(toolVersion("nginx", "-v"), "nginx version: ")}
	listener, err := net.Listen("tcp", behindAddr)
	if err != nil {
		return nil, err
	}
	s.behind = &http.Server{Handler: s}
	go func() { _ = s.behind.Serve(listener) }() // until stop
	config := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(config, fmt.Appendf(nil, nginxConfig, dir, staticAddr, behindAddr), 0o644); err != nil {
		return nil, errors.Join(err, s.stop())
	}
	// Without a master nginx sets no affinity.
	s.nginx = exec.Command("taskset", "-c", "0", "nginx", "-p", dir, "-c", config)
	s.nginx.Stderr = os.Stderr
	s.nginx.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := s.nginx.Start(); err != nil {
		s.nginx = nil
		return nil, errors.Join(fmt.Errorf("start nginx (apt-get install nginx-light wrk): %w", err), s.stop())
	}
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		conn, err := net.Dial("tcp", staticAddr)
		if err == nil {
			return s, conn.Close()
		}
		if time.Now().After(deadline) {
			return nil, errors.Join(err, s.stop())
		}
	}
}

// path returns the path to the last key that was put, "" before.
func (s *static) path() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.put
}

// ServeHTTP answers the requests that precede and follow a load.
func (s *static) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Consul-KnownLeader", "true")
	w.Header().Set("X-Consul-Index", "1")
	w.Header().Set("X-Consul-LastContact", "0")
	var err error
	switch {
	case r.Method == http.MethodPut:
		if err = s.store(r); err == nil {
			_, err = io.WriteString(w, "true")
		}
	case r.URL.Path == "/v1/status/leader":
		_, err = io.WriteString(w, `"127.0.0.1:8300"`)
	case r.URL.Path == "/v1/agent/self":
		_, err = io.WriteString(w, `{"Config": {"Version": "static"}, "Member": {"Addr": "127.0.0.1", "Tags": {"port": "8300"}}}`)
	default:
		w.WriteHeader(http.StatusNotFound)
	}
	if err != nil {
		panic(err) // the client sees a broken connection
	}
}

// store writes a value where nginx finds it.
func (s *static) store(r *http.Request) error {
	value, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	file := filepath.Join(s.root, filepath.Clean(r.URL.Path))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.put = r.URL.Path
	return os.WriteFile(file, value, 0o644)
}

func (s *static) stop() error {
	err := s.behind.Shutdown(context.Background())
	if s.nginx != nil {
		err = errors.Join(err, s.nginx.Process.Kill())
		_ = s.nginx.Wait() // it was killed, so its status has no meaning
	}
	return err
}
