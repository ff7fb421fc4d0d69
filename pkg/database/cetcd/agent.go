package cetcd

import (
	"fmt"
	"net"
	"net/http"
	"net/url"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
)

// leader answers with the leader address as the etcd members know it, or an empty one.
func (p *proxy) leader(w http.ResponseWriter, r *request) error {
	status, members, err := p.members(r)
	if err != nil {
		return err
	}
	if status.Leader == 0 {
		return writeJSON(w, "")
	}
	addr, _, err := peerOf(members, status.Leader)
	if err != nil {
		return err
	}
	return writeJSON(w, addr)
}

// self answers with those parts of the agent description that apply here: the etcd version, and the
// address by which others know this member.
func (p *proxy) self(w http.ResponseWriter, r *request) error {
	status, members, err := p.members(r)
	if err != nil {
		return err
	}
	addr, name, err := peerOf(members, status.Header.MemberId)
	if err != nil {
		return err
	}
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("read address of etcd: %w", err)
	}
	return writeJSON(w, map[string]any{
		"Config": map[string]any{"NodeName": name, "Server": true, "Version": status.Version},
		"Member": map[string]any{"Name": name, "Addr": host, "Tags": map[string]string{"port": port}},
	})
}

// members asks etcd for its status and its members. Neither needs a leader.
func (p *proxy) members(r *request) (*pb.StatusResponse, []*pb.Member, error) {
	status, err := p.store.status.Status(r.Context(), &pb.StatusRequest{})
	if err != nil {
		return nil, nil, err
	}
	list, err := p.store.cluster.MemberList(r.Context(), &pb.MemberListRequest{})
	if err != nil {
		return nil, nil, err
	}
	return status, list.Members, nil
}

// peerOf returns the host:port and the name of a member.
func peerOf(members []*pb.Member, id uint64) (addr, name string, err error) {
	for _, m := range members {
		if m.ID != id || len(m.PeerURLs) == 0 {
			continue
		}
		peer, err := url.Parse(m.PeerURLs[0])
		if err != nil {
			return "", "", fmt.Errorf("read address of etcd: %w", err)
		}
		return peer.Host, m.Name, nil
	}
	return "", "", answer{http.StatusInternalServerError, fmt.Sprintf("etcd does not list its member %x", id)}
}
