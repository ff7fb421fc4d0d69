package main

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
)

// peerVersions names the versions that go.mod has for the etcd tools, which need not be the
// members'.
func peerVersions(ctx context.Context) (string, error) {
	text, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Version}}", "go.etcd.io/etcd/v3", "go.etcd.io/etcd/client/v3").Output()
	if err != nil {
		return "", fmt.Errorf("list the versions of etcd's tools: %w", err)
	}
	versions := strings.Fields(string(text))
	if len(versions) != 2 {
		return "", fmt.Errorf("etcd's tools must have 2 versions, got %q", text)
	}
	return fmt.Sprintf("etcd's benchmark %s, clientv3 %s", versions[0], versions[1]), nil
}
