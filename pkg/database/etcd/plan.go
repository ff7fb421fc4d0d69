package etcd

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/coreos/dbtester/pkg/database"
)

// dataDir holds a member's log and store, below its directory.
const dataDir = "data"

// Plan returns one command, named "etcd": the tool "etcd" if there is one, else the
// server in this binary. Both get the same arguments, which every etcd from 3.4 to 3.7
// accepts.
func (s *Server) Plan(m database.Member) (database.Plan, error) {
	if m.Index < 0 || m.Index >= len(m.Hosts) {
		return database.Plan{}, fmt.Errorf("plan etcd: the member must be from 0 to %d, got %d", len(m.Hosts)-1, m.Index)
	}
	self := m.Self()
	cmd := database.Command{Name: Name, Args: s.args(m)}
	if path := m.Tools[Name]; path != "" {
		cmd.Path = path
	} else {
		cmd.Self = true
		cmd.Args = append([]string{Name}, cmd.Args...)
	}
	return database.Plan{
		Commands: []database.Command{cmd},
		DataDirs: []string{dataDir},
		Listen:   []string{address(self, "client"), address(self, "peer")},
		LogRules: logRules(), LogTimes: logTimes(),
		Metrics: metrics(m),
		Streams: address(self, "peer"),
	}, nil
}

// args returns the server arguments.
func (s *Server) args(m database.Member) []string {
	self := m.Self()
	client, peer := url(m, self, "client"), url(m, self, "peer")
	cluster := make([]string, len(m.Hosts))
	for i, h := range m.Hosts {
		cluster[i] = memberName(i) + "=" + url(m, h, "peer")
	}
	args := []string{
		"--name=" + memberName(m.Index),
		"--data-dir=" + filepath.Join(m.Dir, dataDir),
		"--listen-client-urls=" + client,
		"--advertise-client-urls=" + client,
		"--listen-peer-urls=" + peer,
		"--initial-advertise-peer-urls=" + peer,
		"--initial-cluster=" + strings.Join(cluster, ","),
		"--initial-cluster-token=dbtester",
		"--initial-cluster-state=new",
		"--snapshot-count=" + strconv.FormatInt(s.SnapshotCount, 10),
		"--quota-backend-bytes=" + strconv.FormatInt(s.QuotaBackendBytes, 10),
		"--heartbeat-interval=" + strconv.FormatInt(s.HeartbeatInterval.Milliseconds(), 10),
		"--election-timeout=" + strconv.FormatInt(s.ElectionTimeout.Milliseconds(), 10),
		// The default of 3.4 is capnslog.
		"--logger=zap",
		"--log-outputs=stderr",
		"--log-level=" + s.LogLevel,
	}
	if s.UnsafeNoFsync {
		args = append(args, "--unsafe-no-fsync")
	}
	if s.Pprof {
		args = append(args, "--enable-pprof")
	}
	if t := m.TLS; t != nil {
		args = append(args,
			"--cert-file="+t.Cert, "--key-file="+t.Key, "--trusted-ca-file="+t.CA, "--client-cert-auth",
			"--peer-cert-file="+t.Cert, "--peer-key-file="+t.Key, "--peer-trusted-ca-file="+t.CA, "--peer-client-cert-auth",
		)
	}
	return append(args, s.Flags...)
}
