package live

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/net/netutil"

	"github.com/coreos/dbtester/analyze/publish/page"
)

// Bounds on what callers can use.
const (
	mostConnections = 4 * mostViewers
	mostHeader      = 16 << 10 // bytes
	headerTimeout   = 5 * time.Second
	writeTimeout    = 10 * time.Second // for a second's event; three times as long for the report
	idleTimeout     = time.Minute
	// linger is how long the server waits for viewers to fetch the report.
	linger = 5 * time.Second
)

// Server serves a [Run].
type Server struct {
	run     *Run
	page    []byte
	metrics http.Handler
	http    http.Server
	loop    bool // listens on a loopback address

	viewers viewers
	frames  int
	report  atomic.Pointer[report]
	cancel  context.CancelFunc
	tasks   sync.WaitGroup
}

// report is the finished report: a page in a folder.
type report struct {
	folder *os.Root
	page   string
}

// Serve serves a run on a listener until [Server.Close]. On a loopback address it answers only
// requests to a loopback name, so no page of another site can read it. On other addresses the
// listener must admit only callers that may see the run.
func Serve(l net.Listener, r *Run) (*Server, error) {
	var empty state
	var figures []page.Figure
	for _, f := range empty.figures() {
		figures = append(figures, page.Figure{Figure: f, Alt: f.Title + " by second of the load"})
	}
	markup, err := page.Live(r.title, figures)
	if err != nil {
		return nil, err
	}
	metrics, err := metricsOf(r)
	if err != nil {
		return nil, err
	}
	s := &Server{run: r, page: markup, metrics: metrics, loop: isLoopback(l.Addr()), viewers: viewers{idle: make(chan struct{})}}
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel = cancel
	s.http = http.Server{
		Handler: s.guarded(s.routes()), ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: mostHeader,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	s.tasks.Go(func() { s.tick(ctx) })
	s.tasks.Go(func() { _ = s.http.Serve(netutil.LimitListener(l, mostConnections)) }) // ends with Close
	return s, nil
}

// isLoopback reports whether only this machine can reach an address.
func isLoopback(a net.Addr) bool {
	ip, err := netip.ParseAddrPort(a.String())
	return err == nil && ip.Addr().Unmap().IsLoopback()
}

// tick sends each second to the viewers, if there are any.
func (s *Server) tick(ctx context.Context) {
	t := time.NewTicker(time.Second)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			if s.viewers.any() {
				s.sendSecond()
			}
		case <-ctx.Done():
			return
		}
	}
}

// sendSecond sends the current content of the page. Only tick calls it.
func (s *Server) sendSecond() {
	state := s.run.state()
	s.frames++
	if b, err := state.frame(s.frames); err == nil { // else the page keeps its content
		s.viewers.send(event{"second", b})
	}
}

// Finish turns the run's pages into the report with that page. After an error, or without a call of
// Finish, the pages stay as they are until Close.
func (s *Server) Finish(reportPage string) error {
	folder, err := os.OpenRoot(filepath.Dir(reportPage))
	if err != nil {
		return fmt.Errorf("serve the report: %w", err)
	}
	name := filepath.Base(reportPage)
	s.report.Store(&report{folder, name})
	address, err := json.Marshal("report/" + url.PathEscape(name))
	if err != nil {
		return fmt.Errorf("serve the report: %w", err)
	}
	s.viewers.end(event{"report", address}, true)
	return nil
}

// Close ends the pages that did not become the report. It waits a few seconds at most for pages that
// are loading the report, and stops the server.
func (s *Server) Close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, linger)
	defer cancel()
	s.viewers.end(event{"over", []byte("{}")}, false)
	select {
	case <-s.viewers.idle:
	case <-ctx.Done():
	}
	s.cancel()
	err := s.http.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		err = s.http.Close()
	}
	s.tasks.Wait()
	if r := s.report.Load(); r != nil {
		err = errors.Join(err, r.folder.Close())
	}
	return err
}

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write(s.page)
	})
	mux.HandleFunc("GET /events", s.events)
	mux.Handle("GET /metrics", s.metrics)
	mux.HandleFunc("GET /report/{file}", s.file)
	mux.HandleFunc("GET /favicon.ico", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	return mux
}

// guarded refuses requests from pages of other sites, and bounds the time of an answer.
func (s *Server) guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		if s.loop && !loopbackName(r.Host) {
			http.Error(w, "this address is for this machine: call it by localhost or by a loopback address", http.StatusMisdirectedRequest)
			return
		}
		if site := r.Header.Get("Sec-Fetch-Site"); (site == "cross-site" || site == "same-site") && r.Header.Get("Sec-Fetch-Mode") != "navigate" {
			http.Error(w, "pages of other sites may not read this", http.StatusForbidden)
			return
		}
		// An error would mean a writer without deadlines, which net/http's has.
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(3 * writeTimeout))
		next.ServeHTTP(w, r)
	})
}

// loopbackName reports whether a request's host is a loopback name or address.
func loopbackName(hostport string) bool {
	host := hostport
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		host = h
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// events serves the event stream of a page.
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	v := s.viewers.add()
	if v == nil {
		http.Error(w, fmt.Sprintf("the run is over, or %d pages are open, which is the most", mostViewers), http.StatusServiceUnavailable)
		return
	}
	defer s.viewers.remove(v)
	w.Header().Set("Content-Type", "text/event-stream")
	out := http.NewResponseController(w)
	_ = out.SetWriteDeadline(time.Now().Add(writeTimeout))
	if err := out.Flush(); err != nil {
		return
	}
	write := func(e event) error {
		_ = out.SetWriteDeadline(time.Now().Add(writeTimeout))
		if _, err := fmt.Fprintf(w, "event: %s\ndata: %s\n\n", e.name, e.data); err != nil {
			return err
		}
		return out.Flush()
	}
	for {
		select {
		case e := <-v.events:
			if err := write(e); err != nil {
				return
			}
		case <-r.Context().Done():
			select {
			case e := <-v.events: // the last event
				_ = write(e)
			default:
			}
			return
		}
	}
}

// file serves a file of the report's folder.
func (s *Server) file(w http.ResponseWriter, r *http.Request) {
	report, name := s.report.Load(), r.PathValue("file")
	if report == nil {
		http.Error(w, "the run goes on: its report is not written yet", http.StatusNotFound)
		return
	}
	info, err := fs.Stat(report.folder.FS(), name)
	if err != nil || !info.Mode().IsRegular() {
		http.NotFound(w, r)
		return
	}
	http.ServeFileFS(w, r, report.folder.FS(), name)
	if name == report.page {
		s.viewers.came()
	}
}

// Listen listens on an address for a [Server]. Without TLS it must be a loopback address; with TLS
// only callers with a certificate are admitted.
func Listen(ctx context.Context, address string, secure *tls.Config) (net.Listener, error) {
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", address, err)
	}
	switch {
	case secure != nil:
		return tls.NewListener(l, secure), nil
	case isLoopback(l.Addr()):
		return l, nil
	default:
		return nil, errors.Join(fmt.Errorf("listen on %s: without certificates only this machine may look: the address must be of loopback, such as 127.0.0.1:8080", address), l.Close())
	}
}
