package realstore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// ZooKeeper is an installed release: a directory of jars.
type ZooKeeper struct{ Jars string }

func (ZooKeeper) Port() int { return 2181 }

func (z ZooKeeper) Command(dir string, member int, addresses []string) (*exec.Cmd, error) {
	config := fmt.Sprintf(`tickTime=2000
initLimit=10
syncLimit=5
dataDir=%s
clientPort=2181
clientPortAddress=%s
clientPortListenBacklog=4096
maxClientCnxns=0
admin.enableServer=false
4lw.commands.whitelist=mntr,srvr
`, filepath.Join(dir, "data"), addresses[member-1])
	for i, a := range addresses {
		config += fmt.Sprintf("server.%d=%s:2888:3888\n", i+1, a)
	}
	if err := os.MkdirAll(filepath.Join(dir, "data"), 0o755); err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "zoo.cfg")
	err := errors.Join(os.WriteFile(file, []byte(config), 0o600),
		os.WriteFile(filepath.Join(dir, "data", "myid"), []byte(fmt.Sprintln(member)), 0o600))
	return exec.Command("java", "-Xmx256m", "-XX:+UseSerialGC", "-cp", filepath.Join(z.Jars, "*"),
		"org.apache.zookeeper.server.quorum.QuorumPeerMain", file), err
}

func (z ZooKeeper) Ready(ctx context.Context, address string) error {
	state, err := z.monitor(ctx, address)
	if err == nil && state["zk_server_state"] == "" {
		err = errors.New("no quorum yet")
	}
	return err
}

func (z ZooKeeper) Leads(ctx context.Context, address string) (bool, error) {
	state, err := z.monitor(ctx, address)
	return state["zk_server_state"] == "leader", err
}

// Keys counts the nodes, and asks until the count stays the same: a follower applies commits
// slightly later than the leader.
func (z ZooKeeper) Keys(ctx context.Context, address string) (int64, error) {
	last := int64(-1)
	for {
		state, err := z.monitor(ctx, address)
		if err != nil {
			return 0, err
		}
		n, err := strconv.ParseInt(state["zk_znode_count"], 10, 64)
		if err != nil {
			return 0, err
		}
		if n == last {
			return n, nil
		}
		last = n
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-time.After(300 * time.Millisecond):
		}
	}
}

// monitor sends the command mntr.
func (ZooKeeper) monitor(ctx context.Context, address string) (map[string]string, error) {
	text, err := ask(ctx, address+":2181", "mntr")
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, line := range strings.Split(text, "\n") {
		name, value, _ := strings.Cut(line, "\t")
		out[name] = value
	}
	return out, nil
}
