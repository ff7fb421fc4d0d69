package cetcd

import (
	"errors"
	"fmt"
	"net"
	"strconv"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/workload"
)

// The roles of the etcd ports; "client" is the proxy port.
const (
	roleEtcdClient = "etcd_client"
	roleEtcdPeer   = "etcd_peer"
)

// Plan returns two commands: "etcd", and "cetcd", the proxy, once etcd listens.
// Each proxy has one endpoint: the etcd on its own host.
func (o *Options) Plan(m database.Member) (database.Plan, error) {
	if m.Index < 0 || m.Index >= len(m.Hosts) {
		return database.Plan{}, fmt.Errorf("plan cetcd: member %d of %d", m.Index, len(m.Hosts))
	}
	proxy, err := proxyCommand(m)
	if err != nil {
		return database.Plan{}, fmt.Errorf("plan cetcd: %w", err)
	}
	plan, err := o.Server.Plan(etcdMember(m)) // metrics come from etcd, not from the proxy
	if err != nil {
		return database.Plan{}, fmt.Errorf("plan cetcd: %w", err)
	}
	last := &plan.Commands[len(plan.Commands)-1]
	last.WaitListen = append(last.WaitListen, address(m.Self(), roleEtcdClient))
	plan.Commands = append(plan.Commands, proxy)
	plan.Listen = append(plan.Listen, address(m.Self(), "client"))
	if !proxy.Self {
		plan.Mute, plan.Operations = true, toolOperations()
	}
	return plan, nil
}

// toolOperations returns the operations of a cetcd executable. According to its documentation it
// deletes another key than it put, and it has no transactions.
func toolOperations() []workload.Op {
	return []workload.Op{workload.OpWrite, workload.OpUpdate, workload.OpRead, workload.OpReadOneshot}
}

// etcdMember returns the member as the etcd driver sees it.
func etcdMember(m database.Member) database.Member {
	hosts := make([]database.Host, len(m.Hosts))
	for i, h := range m.Hosts {
		hosts[i] = database.Host{Addr: h.Addr, Ports: map[string]int{
			"client": h.Ports[roleEtcdClient], "peer": h.Ports[roleEtcdPeer],
		}}
	}
	m.Hosts = hosts
	return m
}

// proxyCommand returns the tool "cetcd" if the member has it, else the proxy in this binary. Both
// take the same two flags for their addresses.
func proxyCommand(m database.Member) (database.Command, error) {
	scheme := "http"
	if m.TLS != nil {
		scheme = "https"
	}
	args := []string{
		"-etcd", scheme + "://" + address(m.Self(), roleEtcdClient),
		"-consuladdr", address(m.Self(), "client"),
	}
	if path := m.Tools[Name]; path != "" {
		if m.TLS != nil {
			return database.Command{}, errors.New("the cetcd executable speaks no TLS")
		}
		return database.Command{Name: Name, Path: path, Args: args}, nil
	}
	if t := m.TLS; t != nil {
		args = append(args, "-ca", t.CA, "-cert", t.Cert, "-key", t.Key)
	}
	return database.Command{Name: Name, Self: true, Args: append([]string{Name}, args...)}, nil
}

// address returns the host:port of a role.
func address(h database.Host, role string) string {
	return net.JoinHostPort(h.Addr, strconv.Itoa(h.Ports[role]))
}
