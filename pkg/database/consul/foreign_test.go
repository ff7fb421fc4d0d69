package consul

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/coreos/dbtester/pkg/database"
)

// TestForeignNames: if a server lists a key outside the prefix, as a proxy that strips or
// caches prefixes may, the request fails and nothing is removed.
func TestForeignNames(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method != http.MethodGet:
			t.Errorf("a key outside the prefix must be left alone, got %s %s", r.Method, r.URL.Path)
		case r.URL.Query().Has("keys"):
			_, _ = w.Write([]byte(`["bench/00001","k"]`))
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	t.Cleanup(server.Close)
	target := database.Target{Endpoints: []string{strings.TrimPrefix(server.URL, "http://")}, Prefix: "bench"}
	const want = `begin with "bench/", and answered with the key "k"`
	if _, err := New().HighestKey(t.Context(), target, 5); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("the highest key: want an error with %q, got %v", want, err)
	}
	if _, err := New().CountKeys(t.Context(), target); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("the number of keys: want an error with %q, got %v", want, err)
	}
	target.Prefix = "" // everything is below it
	if n, err := New().HighestKey(t.Context(), target, 5); n != -1 || err != nil {
		t.Errorf("without a prefix neither name is a number: want -1, got %d, %v", n, err)
	}
}
