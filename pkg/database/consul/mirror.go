package consul

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"

	"github.com/hashicorp/consul/api"

	"github.com/coreos/dbtester/pkg/database"
)

var _ database.Mirror = (*Options)(nil)

// mirror answers PUT and GET for one key below kvPath.
type mirror struct {
	values database.MirrorValues
	hold   func()
}

// kvPath precedes a key in the path of a URL.
const kvPath = "/v1/kv/"

// ServeMirror implements [database.Mirror] on net/http, as the Consul server does.
func (o *Options) ServeMirror(ctx context.Context, l net.Listener, hold func()) error {
	server := &http.Server{Handler: &mirror{hold: hold}}
	// Serve and Close do not wait for handlers.
	var open sync.WaitGroup
	defer open.Wait()
	server.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew: // before Serve accepts the next one
			open.Add(1)
		case http.StateClosed: // after the last handler
			open.Done()
		}
	}
	defer context.AfterFunc(ctx, func() { server.Close() })()
	if err := server.Serve(l); err != nil && !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve the mirror of Consul: %w", err)
	}
	return nil
}

func (m *mirror) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	key, found := strings.CutPrefix(r.URL.Path, kvPath)
	if !found {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("X-Consul-Index", "1")
	w.Header().Set("X-Consul-LastContact", "0")
	w.Header().Set("X-Consul-KnownLeader", "true")
	switch r.Method {
	case http.MethodPut:
		value, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		m.hold()
		m.values.Put(key, value)
		fmt.Fprintln(w, "true")
	case http.MethodGet:
		m.get(w, r, key)
	default:
		http.Error(w, "only PUT and GET are served", http.StatusMethodNotAllowed)
	}
}

func (m *mirror) get(w http.ResponseWriter, r *http.Request, key string) {
	value, exists := m.values.Get(key)
	if !exists {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	m.hold()
	if r.URL.Query().Has("raw") {
		w.Header().Set("Content-Type", "application/octet-stream")
		_, _ = w.Write(value) // a vanished client needs no answer
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode([]api.KVPair{{Key: key, Value: value, CreateIndex: 1, ModifyIndex: 1}}) // as above
}
