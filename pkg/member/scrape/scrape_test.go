package scrape

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/metric"
	"github.com/coreos/dbtester/pkg/results"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve answers at a URL until the test ends.
func serve(t testing.TB, handler http.HandlerFunc) *Scraper {
	t.Helper()
	server := httptest.NewServer(handler)
	s := New(database.MetricsSource{URL: server.URL + "/metrics", Metrics: etcdLike}, nil)
	s.patience = 2 * time.Minute // a busy machine may take long
	t.Cleanup(func() { s.Close(); server.CloseClientConnections(); server.Close() })
	return s
}

func TestScrape(t *testing.T) {
	text := fixture(t, "etcd-3.7.prom")
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/metrics" || r.Header.Get("Accept-Encoding") != "" {
			t.Errorf("want a plain question for /metrics, got %s with %v", r.URL, r.Header)
		}
		_, _ = w.Write(text)
	})
	before := time.Now().UnixNano()
	for range 2 {
		got, err := s.Scrape(t.Context())
		if err != nil {
			t.Fatalf("ask: %v", err)
		}
		if got.Bytes != int64(len(text)) || got.AskedNS <= 0 || got.UnixNano < before || got.Error != "" || got.Values.Get(metric.IsLeader) != 1 {
			t.Errorf("want an answer of %d bytes with its time and values, got %+v", len(text), got)
		}
	}
}

// The header of a source is sent with each query.
func TestHeader(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Consul-Token") != "let me in" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		_, _ = w.Write([]byte("etcd_server_is_leader 1\n"))
	}))
	defer server.Close()
	source := database.MetricsSource{URL: server.URL, Metrics: etcdLike}
	for _, token := range []string{"", "let me in"} {
		source.Header = map[string]string{"X-Consul-Token": token}
		s := New(source, nil)
		s.Wait(time.Minute)
		if _, err := s.Scrape(t.Context()); (err == nil) != (token != "") {
			t.Errorf("token %q: got %v", token, err)
		}
		s.Close()
	}
}

// TestMembersThatMisbehave must each give an error soon, and no values.
func TestMembersThatMisbehave(t *testing.T) {
	var followed atomic.Int64
	for name, test := range map[string]struct {
		handler http.HandlerFunc
		err     string
	}{
		"not found": {http.NotFound, "must be 200 OK, got 404"},
		"redirect": {func(w http.ResponseWriter, r *http.Request) {
			followed.Add(1)
			http.Redirect(w, r, "/other", http.StatusFound)
		}, "must be 200 OK, got 302"},
		"empty":      {func(http.ResponseWriter, *http.Request) {}, "is empty"},
		"no headers": {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, "deadline exceeded"},
		"no end": {func(w http.ResponseWriter, r *http.Request) {
			_, _ = w.Write([]byte("etcd_server_is_leader 1\n"))
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}, "deadline exceeded"},
		"too much": {func(w http.ResponseWriter, _ *http.Request) {
			for range 2 * maxAnswer / 1000 {
				if _, err := fmt.Fprintf(w, "etcd_server_is_leader %999d\n", 1); err != nil {
					return
				}
			}
		}, "must be at most 1048576 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, test.handler)
			if strings.Contains(test.err, "deadline") {
				s.patience = 50 * time.Millisecond
			}
			got, err := s.Scrape(t.Context())
			if err == nil || !strings.Contains(err.Error(), test.err) || got.Error == "" || got.Values.Get(metric.IsLeader) >= 0 {
				t.Errorf("want an error with %q and no values, got %v, %+v", test.err, err, got)
			}
		})
	}
	if n := followed.Load(); n != 1 {
		t.Errorf("a redirection must not be followed, got %d questions", n)
	}
}

// command listens for a command and answers.
func command(t *testing.T, answer func(net.Conn, string)) database.MetricsSource {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("listen: %v", err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			got := make([]byte, 4)
			if _, err := conn.Read(got); err == nil {
				answer(conn, string(got))
			}
			conn.Close()
		}
	}()
	return database.MetricsSource{Address: listener.Addr().String(), Command: "mntr", Metrics: []database.ReportedMetric{{Name: metric.Keys, Raw: "zk_znode_count"}}}
}

func TestCommand(t *testing.T) {
	text := fixture(t, "zookeeper-3.9.5.mntr")
	s := New(command(t, func(c net.Conn, got string) {
		if got != "mntr" {
			t.Errorf("the command must be mntr, got %q", got)
		}
		_, _ = c.Write(text)
	}), nil)
	s.patience = 2 * time.Minute
	if got, err := s.Scrape(t.Context()); err != nil || got.Values.Get(metric.Keys) != 5 || got.Bytes != int64(len(text)) {
		t.Errorf("want 5 keys in %d bytes, got %+v, %v", len(text), got, err)
	}
	hanging := New(command(t, func(c net.Conn, _ string) {
		_, _ = c.Write([]byte("zk_znode_count\t5\n"))
		_, _ = c.Read(make([]byte, 1)) // until the other side gives up
	}), nil)
	if got, err := hanging.Scrape(t.Context()); err == nil || got.Values.Get(metric.Keys) >= 0 {
		t.Errorf("an answer without an end must be an error, got %+v", got)
	}
	refused := New(database.MetricsSource{Address: "127.0.0.1:1", Command: "mntr"}, nil)
	if _, err := refused.Scrape(t.Context()); err == nil {
		t.Error("a member that does not listen must be an error")
	}
}

// rows keeps the written rows.
type rows struct {
	all []results.DatabaseSample
	err error
}

func (r *rows) Write(s results.DatabaseSample) error {
	r.all = append(r.all, s)
	return r.err
}

// memberOf answers as the function does, by the clock of the test.
type memberOf func() (string, error)

func (m memberOf) RoundTrip(r *http.Request) (*http.Response, error) {
	text, err := m()
	if err != nil {
		return nil, err
	}
	w := httptest.NewRecorder()
	_, _ = w.WriteString(text)
	return w.Result(), r.Context().Err()
}

// TestRun queries each second, from the first answer of the member to its end.
func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		started := time.Now()
		s := New(database.MetricsSource{URL: "http://member/metrics", Metrics: etcdLike}, nil)
		s.http.Transport = memberOf(func() (string, error) {
			switch second := time.Since(started) / time.Second; {
			case second < 3:
				return "", errors.New("refused: it starts")
			case second == 5:
				time.Sleep(1300 * time.Millisecond)
				return "", errors.New("it was silent")
			}
			return fmt.Sprintf("etcd_server_is_leader 1\ngo_gc_duration_seconds_sum %g\n", time.Since(started).Seconds()), nil
		})
		ctx, cancel := context.WithTimeout(t.Context(), 8500*time.Millisecond)
		defer cancel()
		var got rows
		if err := s.Run(ctx, &got); err != nil {
			t.Errorf("run: %v", err)
		}
		var at []string
		for _, r := range got.all {
			word := "ok"
			if r.Error != "" {
				word = "error"
			}
			at = append(at, fmt.Sprintf("%d %s", time.Duration(r.UnixNano-started.UnixNano())/time.Millisecond, word))
		}
		if have, want := strings.Join(at, ", "), "3002 ok, 4002 ok, 5002 error, 7002 ok, 8002 ok, 8500 ok"; have != want {
			t.Errorf("want rows at %s, got %s", want, have)
		}
		if last := got.all[len(got.all)-1]; last.Values.Get(metric.PauseSeconds) != 8.5 {
			t.Errorf("the last row must be of the end, got %v", last.Values)
		}
	})
}

func TestRunEndsWithItsFile(t *testing.T) {
	full := errors.New("disk full")
	synctest.Test(t, func(t *testing.T) {
		s := New(database.MetricsSource{URL: "http://member/metrics", Metrics: etcdLike}, nil)
		s.http.Transport = memberOf(func() (string, error) { return "etcd_server_is_leader 1\n", nil })
		if err := s.Run(t.Context(), &rows{err: full}); !errors.Is(err, full) {
			t.Errorf("want the error of the file, got %v", err)
		}
	})
}

// TestFile writes the answers and reads them back.
func TestFile(t *testing.T) {
	s := parsed(etcdLike, fixture(t, "etcd-3.7.prom"))
	s.UnixNano, s.AskedNS, s.Bytes = 1795345871011123778, 9018172, 187672
	lost := results.NewDatabaseSample()
	lost.UnixNano, lost.Error = 1795345872011123778, `a "refused", connection`
	path := filepath.Join(t.TempDir(), results.DatabaseFile(1))
	w, err := results.NewDatabaseSampleWriter(path)
	if err != nil {
		t.Fatalf("make the file: %v", err)
	}
	for _, row := range []results.DatabaseSample{s, lost} {
		if err := w.Write(row); err != nil {
			t.Fatalf("write a row: %v", err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatalf("close the file: %v", err)
	}
	got, err := results.ReadDatabaseSamples(path)
	if err != nil || len(got) != 2 {
		t.Fatalf("want both rows, got %d, %v", len(got), err)
	}
	for i, want := range []results.DatabaseSample{s, lost} {
		if got[i].UnixNano != want.UnixNano || got[i].AskedNS != want.AskedNS || got[i].Bytes != want.Bytes || got[i].Error != want.Error || !got[i].Values.Equal(want.Values) {
			t.Errorf("row %d must be %+v, got %+v", i, want, got[i])
		}
		sound(t, got[i])
		if len(got[i].Histograms) != len(want.Histograms) {
			t.Errorf("row %d must have %d histograms, got %d", i, len(want.Histograms), len(got[i].Histograms))
		}
	}
	if none, err := results.ReadDatabaseSamples(path + "-none"); len(none) != 0 || err != nil {
		t.Errorf("a file that is not there must have no rows, got %v, %v", none, err)
	}
}
