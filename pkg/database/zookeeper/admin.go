package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/coreos/dbtester/pkg/database"
)

var (
	_ database.Snapshotter     = (*Options)(nil)
	_ database.SnapshotPlanner = (*Options)(nil)
)

// The admin server speaks HTTP. It is the only way to request a snapshot: the client port
// has no such request, and signals have no handler.
const (
	// defaultAdminPort is the default in ZooKeeper.
	defaultAdminPort = 8080
	// snapshotVersion is the first release with the command "snapshot".
	snapshotVersion = "3.9.0"
)

// errSecret is why a cluster with TLS and credentials makes no snapshots.
var errSecret = errors.New("the admin server of zookeeper is asked without TLS, and a snapshot needs the credentials, which must not be sent so")

// PlanSnapshots makes members start their admin server.
func (o *Options) PlanSnapshots(s database.SnapshotTarget) error {
	switch {
	case s.Version != "" && !database.Since(s.Version, snapshotVersion):
		return fmt.Errorf("zookeeper %s makes no snapshot when it is asked (from %s on it does)", s.Version, snapshotVersion)
	case s.Secret:
		return errSecret
	case o.AdminPort > 0:
	case s.Running:
		return errors.New("the admin server of a running zookeeper is asked for snapshots, so options must have its admin_port")
	default:
		o.AdminPort = defaultAdminPort
	}
	return nil
}

// setAdmin sets the keys for the admin server; by default it binds every address and lets anyone
// replace the data.
func (o *Options) setAdmin(set func(string, any), m database.Member) {
	set("admin.enableServer", o.AdminPort > 0)
	if o.AdminPort > 0 {
		set("admin.serverAddress", m.Self().Addr)
		set("admin.serverPort", o.AdminPort)
		set("admin.restore.enabled", false)
		set("admin.rateLimiterIntervalInMS", 1) // by default a second snapshot must wait for minutes
	}
}

// admin calls a member's admin server. With port 0 there is no such server.
type admin struct {
	port   int
	target database.Target
	member int
}

// url returns the address of a command.
func (a admin) url(command string) (string, error) {
	if a.member < 0 || a.member >= len(a.target.Endpoints) {
		return "", fmt.Errorf("the zookeeper member must be from 0 to %d, got %d", len(a.target.Endpoints)-1, a.member)
	}
	host, _, err := net.SplitHostPort(a.target.Endpoints[a.member])
	if err != nil {
		return "", err
	}
	return "http://" + net.JoinHostPort(host, strconv.Itoa(a.port)) + "/commands/" + command, nil
}

// answers returns why the server does not answer, if the member has an admin server.
func (a admin) answers(ctx context.Context) error {
	if a.port == 0 {
		return nil
	}
	if _, err := a.ask(ctx, "ruok", ""); err != nil {
		return fmt.Errorf("the admin server of zookeeper member %d does not answer (a release without Jetty's jars has none): %w", a.member, err)
	}
	return nil
}

// Snapshot makes a member write a snapshot to its data directory, where it stays. It needs
// all permissions on the root znode, which everyone has by default. Credentials that require
// TLS are never sent: Snapshot then returns an error.
func (o *Options) Snapshot(ctx context.Context, t database.Target, member int) (int64, error) {
	// A name is required; it matters only for znodes with restricted access.
	user := "dbtester:dbtester"
	switch {
	case t.Auth == nil:
	case t.TLS != nil:
		return 0, fmt.Errorf("snapshot of zookeeper member %d: %w", member, errSecret)
	default:
		user = string(credentials(t.Auth))
	}
	header, err := admin{o.AdminPort, t, member}.ask(ctx, "snapshot?streaming=false", user)
	if err != nil {
		return 0, fmt.Errorf("snapshot of zookeeper member %d: %w", member, err)
	}
	size, err := strconv.ParseInt(header.Get("snapshot_size"), 10, 64)
	if err != nil || size <= 0 {
		return 0, fmt.Errorf("snapshot of zookeeper member %d: the answer must have its size, got %q", member, header.Get("snapshot_size"))
	}
	return size, nil
}

// ask sends a command, for a digest user, NAME:PASSWORD, unless that is "", and returns the header
// of an answer with status 200.
func (a admin) ask(ctx context.Context, command, user string) (header http.Header, err error) {
	url, err := a.url(command)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	if user != "" {
		r.Header.Set("Authorization", digestScheme+" "+user)
	}
	transport := &http.Transport{DisableKeepAlives: true, DialContext: (&net.Dialer{Timeout: 5 * time.Second}).DialContext}
	defer transport.CloseIdleConnections()
	resp, err := transport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, resp.Body.Close()) }()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxStatus))
	switch {
	case err != nil:
		return nil, err
	case resp.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("status %s: %.200q", resp.Status, strings.Join(strings.Fields(string(text)), " "))
	}
	return resp.Header, nil
}
