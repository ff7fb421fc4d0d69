package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"

	"github.com/coreos/dbtester/agent/metrics"
	"github.com/coreos/dbtester/pkg/trust/spectators"
)

// metricsServer serves agent metrics. If nil, it serves nothing.
type metricsServer struct {
	http   *http.Server
	cancel context.CancelFunc
	tasks  sync.WaitGroup
}

// serveMetrics begins to serve agent metrics at f.address. Without an address it returns nil.
func (a *app) serveMetrics(ctx context.Context, f lookers, o metrics.Options, log *slog.Logger) (*metricsServer, error) {
	if f.address == "" {
		return nil, nil
	}
	handler, err := metrics.Handler(o)
	if err != nil {
		return nil, err
	}
	l, at, err := f.listen(ctx, a, log)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", handler)
	serving, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s := &metricsServer{http: spectators.New(serving, l, mux), cancel: cancel}
	s.tasks.Go(func() {
		if err := s.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			log.Warn("metrics are not served any more", "error", err)
		}
	})
	fmt.Fprintf(a.out, "agent exposes its metrics at %smetrics\n", at)
	log.Info("agent exposes its metrics", "address", at+"metrics")
	return s, nil
}

// close ends the server and its answers.
func (s *metricsServer) close() error {
	if s == nil {
		return nil
	}
	s.cancel()
	err := s.http.Close()
	s.tasks.Wait()
	if err != nil {
		return fmt.Errorf("close the server of metrics: %w", err)
	}
	return nil
}
