package cetcd

import (
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strings"
	"unicode"
)

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
