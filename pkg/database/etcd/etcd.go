// Package etcd drives etcd: the one built into this binary, or an etcd
// executable from 3.4 to 3.7.
package etcd

import (
	"errors"
	"fmt"
	"net"
	neturl "net/url"
	"strconv"
	"time"

	"github.com/coreos/dbtester/pkg/database"
)

// Name identifies the database in experiment files and in the registry.
const Name = "etcd"

// Options are the settings for the etcd server and client.
type Options struct {
	Server    `yaml:",inline"`
	Transport database.Transport `yaml:"transport" doc:"client implementation: lean is dbtester's own gRPC client, for less client CPU; standard (or grpc) is grpc-go, on which etcd's own client is built; clientv3 is that client, which sends some requests again"`
	Pings     string             `yaml:"pings" doc:"when lean acknowledges the PINGs that members send to measure their bandwidth, about one for each request: at-once, or with-requests, for less client CPU: with the next request on the connection, which also saves members work"`
}

// When PINGs are acknowledged.
const (
	pingsAtOnce       = "at-once"
	pingsWithRequests = "with-requests"
)

const (
	// transportGRPC is another name for [database.Standard], from older experiment files.
	transportGRPC database.Transport = "grpc"
	// transportLibrary is the etcd client library with its retries and its balancer.
	transportLibrary database.Transport = "clientv3"
)

// New returns options with every default.
func New() *Options {
	return &Options{Server: *NewServer(), Transport: database.Lean, Pings: pingsAtOnce}
}

var (
	_ database.Driver        = (*Options)(nil)
	_ database.Validator     = (*Options)(nil)
	_ database.Embedded      = (*Options)(nil)
	_ database.Installer     = (*Options)(nil)
	_ database.Leader        = (*Options)(nil)
	_ database.LeaderWatcher = (*Options)(nil)
	_ database.Versioner     = (*Options)(nil)
	_ database.Counter       = (*Options)(nil)
	_ database.KeyFinder     = (*Options)(nil)
	_ database.Cleaner       = (*Options)(nil)
	_ database.FillReporter  = (*Options)(nil)
	_ database.Limiter       = (*Options)(nil)
	_ database.Fsyncer       = (*Options)(nil)
	_ database.ExtraFlags    = (*Options)(nil)
)

// Validate reports every option the server or the client would refuse.
func (o *Options) Validate(h database.HostFacts) error {
	return errors.Join(o.Server.Validate(h), o.validTransport(), o.validPings())
}

func (o *Options) validPings() error {
	switch {
	case o.Pings == pingsAtOnce, o.Pings == pingsWithRequests && o.Transport == database.Lean:
		return nil
	case o.Pings == pingsWithRequests:
		return fmt.Errorf("pings: %s needs transport %s, got %q", pingsWithRequests, database.Lean, string(o.Transport))
	}
	return fmt.Errorf("pings must be %s or %s, got %q", pingsAtOnce, pingsWithRequests, o.Pings)
}

func (o *Options) validTransport() error {
	switch o.Transport {
	case database.Lean, database.Standard, transportGRPC, transportLibrary:
		return nil
	}
	return fmt.Errorf("transport must be %s, %s or %s, got %q", database.Lean, database.Standard, transportLibrary, string(o.Transport))
}

// dialTimeout bounds a dial whose context has no deadline.
const dialTimeout = 5 * time.Second

func address(h database.Host, role string) string {
	return net.JoinHostPort(h.Addr, strconv.Itoa(h.Ports[role]))
}

// memberName counts members from 1, as the classic tool did.
func memberName(index int) string { return fmt.Sprintf("etcd-%d", index+1) }

// url returns the URL at which a role listens, with the zone of the address escaped.
func url(m database.Member, h database.Host, role string) string {
	u := neturl.URL{Scheme: "http", Host: address(h, role)}
	if m.TLS != nil {
		u.Scheme = "https"
	}
	return u.String()
}
