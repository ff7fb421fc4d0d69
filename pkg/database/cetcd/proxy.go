package cetcd

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strings"
	"sync/atomic"
	"time"
	"unicode"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
)

// proxy serves Consul's HTTP interface from etcd: keys and values, and the part of the
// agent's interface that names the leader. It has no sessions, datacenters, namespaces or
// tokens. Indexes are etcd's revisions.
type proxy struct {
	store *store
	// stopping ends when the proxy shall stop: blocking queries end with it.
	stopping context.Context
	// knowsLeader means that etcd had a leader according to its last answer.
	knowsLeader atomic.Bool
}

// handler routes as Consul does: a path with unprintable runes is refused, and a path
// that is not clean is redirected.
func (p *proxy) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/v1/kv/", respond(p.kv))
	mux.HandleFunc("PUT /v1/txn", respond(p.txn))
	mux.HandleFunc("GET /v1/status/leader", respond(p.leader))
	mux.HandleFunc("GET /v1/agent/self", respond(p.self))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.ContainsFunc(r.URL.Path, func(c rune) bool { return !unicode.IsPrint(c) }) {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		if clean := cleanPath(r.URL.Path); clean != r.URL.Path {
			to := url.URL{Path: clean, RawQuery: r.URL.RawQuery}
			http.Redirect(w, r, to.String(), http.StatusMovedPermanently)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// cleanPath returns a path without empty, "." and ".." elements; a slash at its
// end stays.
func cleanPath(p string) string {
	clean := path.Clean("/" + p)
	if strings.HasSuffix(p, "/") && clean != "/" {
		clean += "/"
	}
	return clean
}

// request adds to an HTTP request its query, parsed once.
type request struct {
	*http.Request
	key    string
	params url.Values
	woken  bool // by an event that the request waited for
}

// has reports whether a parameter is present, with or without a value.
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

// respond turns a function's error into the answer, if the function has written none.
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
	_, _ = w.Write(data) // an error means that the client is gone
	return nil
}

func (p *proxy) kv(w http.ResponseWriter, r *request) error {
	switch r.Method {
	case http.MethodGet:
		return p.get(w, r)
	case http.MethodPut:
		return p.put(w, r)
	case http.MethodDelete:
		return p.delete(w, r)
	}
	w.Header().Set("Allow", "GET,PUT,DELETE")
	return answer{http.StatusMethodNotAllowed, fmt.Sprintf("method %s not allowed", r.Method)}
}

// followEvery is the interval between queries for etcd's leader.
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
