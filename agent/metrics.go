package agent

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"

	"github.com/coreos/dbtester/pkg/member/scrape"
	"github.com/coreos/dbtester/pkg/results"
)

// scrape starts to fetch the member metrics and to write them into the session directory. The
// returned function fetches them a last time and ends the scraping. It may be called more than
// once.
func (l life) scrape() (stop func(), err error) {
	s, p := l.s, l.p
	if p.metrics == nil {
		return func() {}, nil
	}
	config, err := p.target.TLS.Config()
	if err != nil {
		return nil, fmt.Errorf("ask the member for its metrics: %w", err)
	}
	w, err := results.NewDatabaseSampleWriter(filepath.Join(s.agent.opts.WorkDir, p.dir, results.FileDatabase))
	if err != nil {
		return nil, fmt.Errorf("write the member's metrics: %w", err)
	}
	// Not s.ctx: the member is scraped until it is stopped.
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- scrape.New(*p.metrics, config).Run(ctx, w) }()
	return sync.OnceFunc(func() {
		cancel()
		if err := errors.Join(<-done, w.Close()); err != nil {
			s.log.Warn("some of the member's metrics are missing", "error", err)
		}
	}), nil
}
