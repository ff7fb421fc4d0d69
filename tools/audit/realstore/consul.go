package realstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Consul is an installed release.
type Consul struct{ Binary string }

func (Consul) Port() int { return 8500 }

func (c Consul) Command(dir string, member int, addresses []string) (*exec.Cmd, error) {
	config := `{"performance": {"raft_multiplier": 1}, "limits": {"http_max_conns_per_client": 8000},
 "ports": {"serf_wan": -1, "dns": -1, "grpc": -1, "grpc_tls": -1}, "leave_on_terminate": false,
 "disable_update_check": true, "retry_interval": "1s", "ui_config": {"enabled": false}}`
	file := filepath.Join(dir, "consul.json")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		return nil, err
	}
	own := addresses[member-1]
	args := []string{"agent", "-server", "-bootstrap-expect=3", fmt.Sprintf("-node=m%d", member), "-bind=" + own, "-client=" + own,
		"-data-dir=" + filepath.Join(dir, "data"), "-config-file=" + file}
	for _, a := range addresses {
		if a != own {
			args = append(args, "-retry-join="+a)
		}
	}
	return exec.Command(c.Binary, args...), nil
}

func (Consul) Ready(ctx context.Context, address string) error {
	_, err := get(ctx, "http://"+address+":8500/v1/kv/none?consistent")
	if errors.Is(err, errMissing) {
		return nil
	}
	return err
}

// Leads compares the leader address with the member address.
func (Consul) Leads(ctx context.Context, address string) (bool, error) {
	body, err := get(ctx, "http://"+address+":8500/v1/status/leader")
	return strings.Contains(string(body), `"`+address+`:`), err
}

// Keys counts a consistent listing.
func (Consul) Keys(ctx context.Context, address string) (int64, error) {
	body, err := get(ctx, "http://"+address+":8500/v1/kv/?keys&consistent")
	if errors.Is(err, errMissing) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	var keys []string
	err = json.Unmarshal(body, &keys)
	return int64(len(keys)), err
}
