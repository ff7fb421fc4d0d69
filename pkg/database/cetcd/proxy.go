package cetcd

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
)

// proxy serves the Consul HTTP interface from etcd: keys and values, and the part of the agent
// interface that names the leader. It has no sessions, datacenters, namespaces or tokens. Indexes
// are etcd revisions.
type proxy struct {
	store *store
	// stopping ends when the proxy shall stop: blocking queries end with it.
	stopping context.Context
	// knowsLeader means that etcd had a leader according to its last answer.
	knowsLeader atomic.Bool
}

// request adds to an HTTP request its query, parsed once.
type request struct {
	*http.Request
	key    string
	params url.Values
	woken  bool // by an event the request waited for
}

// has reports whether a parameter is present, even if it has no value.
func (r *request) has(name string) bool { return r.params.Has(name) }

// atMostOne refuses parameters that exclude each other.
func (r *request) atMostOne(names ...string) error {
	found := 0
	for _, name := range names {
		if r.has(name) {
			found++
		}
	}
	if found > 1 {
		return badRequest("Conflicting flags: %s", r.params.Encode())
	}
	return nil
}

// respond turns an error from a function into the answer, unless the function has written one.
func respond(f func(http.ResponseWriter, *request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		params, err := url.ParseQuery(r.URL.RawQuery)
		if err == nil {
			err = f(w, &request{Request: r, params: params, key: strings.TrimPrefix(r.URL.Path, "/v1/kv/")})
		} else {
			err = badRequest("%v", err)
		}
		if err != nil {
			a := answerOf(err, true)
			http.Error(w, a.text, a.code)
		}
	}
}

// writeJSON answers with v.
func writeJSON(w http.ResponseWriter, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode answer: %w", err)
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(data) // an error means the client is gone
	return nil
}

// followEvery is the interval between queries for the etcd leader.
const followEvery = time.Second

// followLeader polls etcd for whether it knows a leader, until ctx ends.
func (p *proxy) followLeader(ctx context.Context) {
	tick := time.NewTicker(followEvery)
	defer tick.Stop()
	for {
		try, cancel := context.WithTimeout(ctx, followEvery)
		status, err := p.store.status.Status(try, &pb.StatusRequest{})
		cancel()
		p.knowsLeader.Store(err == nil && status.Leader != 0)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
