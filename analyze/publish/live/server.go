package live

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coreos/dbtester/analyze/publish/page"
	"github.com/coreos/dbtester/pkg/load/exposition"
	"github.com/coreos/dbtester/pkg/trust/spectators"
)

// usualLinger is how long a server waits for viewers to fetch the report.
const usualLinger = 5 * time.Second

// Server serves a [Run].
type Server struct {
	run     *Run
	page    []byte
	metrics http.Handler
	http    *http.Server

	viewers viewers
	linger  time.Duration // how long Close waits for viewers to fetch the report
	frames  int
	size    int // room for the next frame, in bytes
	report  atomic.Pointer[report]
	cancel  context.CancelFunc
	tasks   sync.WaitGroup
}

// report replaces the live page once the run is finished.
type report struct {
	folder *os.Root
	page   string
}

// Serve serves a run on a listener from [spectators.Listen] until [Server.Close].
func Serve(l net.Listener, r *Run) (*Server, error) {
	var empty state
	var figures []page.Figure
	for _, p := range empty.plots() {
		figures = append(figures, page.Figure{Figure: p.Figure, Alt: p.Title + " by second of the load"})
	}
	markup, err := page.Live(r.title, figures)
	if err != nil {
		return nil, err
	}
	metrics, err := exposition.Handler(newCollector(r))
	if err != nil {
		return nil, err
	}
	s := &Server{run: r, page: markup, metrics: metrics, viewers: viewers{idle: make(chan struct{})}, linger: usualLinger}
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel = cancel
	s.http = spectators.New(ctx, l, s.routes())
	s.tasks.Go(func() { s.tick(ctx) })
	s.tasks.Go(func() { _ = s.http.Serve(l) }) // ends with Close
	return s, nil
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

// sendSecond sends the current content. Only tick calls it.
func (s *Server) sendSecond() {
	s.frames++
	if e, err := s.second(); err == nil { // else the page keeps its content
		s.viewers.send(e)
	}
}

// second encodes the current content once for all viewers. The next second takes about as much room.
func (s *Server) second() (event, error) {
	state := s.run.state()
	b, err := state.frame(beginEvent("second", s.size), s.frames)
	if err != nil {
		return nil, err
	}
	b = append(b, endEvent...)
	s.size = len(b) + len(b)/8
	return b, nil
}

// Finish turns the pages into the report with that page. After an error, or if Finish is not
// called, the pages stay as they are until Close.
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
	s.viewers.end(newEvent("report", string(address)), true)
	return nil
}

// Close ends the pages that did not become the report. It waits a few seconds at most for pages that
// are loading the report, and stops the server.
func (s *Server) Close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.linger)
	defer cancel()
	s.viewers.end(newEvent("over", "{}"), false)
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

// events serves the event stream for a page.
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	v := s.viewers.add()
	if v == nil {
		http.Error(w, fmt.Sprintf("the run is over, or %d pages are open, which is the most", mostViewers), http.StatusServiceUnavailable)
		return
	}
	defer s.viewers.remove(v)
	w.Header().Set("Content-Type", "text/event-stream")
	out := http.NewResponseController(w)
	_ = out.SetWriteDeadline(time.Now().Add(spectators.WriteTimeout))
	if err := out.Flush(); err != nil {
		return
	}
	write := func(e event) error {
		_ = out.SetWriteDeadline(time.Now().Add(spectators.WriteTimeout))
		if _, err := w.Write(e); err != nil {
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

// file serves a file in the report folder.
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
