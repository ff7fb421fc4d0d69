// Package scrape asks database members for the metrics they report about themselves, once a second,
// and parses those that their driver needs.
//
// A member can neither delay nor overload the scraper: an answer is limited to half a second, or to
// a time its caller sets, and 1 MiB, redirects are not followed, and memory is reused.
package scrape

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/results"
)

const (
	patience = 500 * time.Millisecond
	// maxAnswer bounds the length of an answer in bytes; etcd sends 180 KB.
	maxAnswer = 1 << 20
	// maxError bounds the length of a recorded error in bytes.
	maxError = 200
)

// Scraper queries one member. It is safe for concurrent use; queries are sent one at a time.
type Scraper struct {
	source database.MetricsSource
	wanted wanted
	tls    *tls.Config
	http   *http.Client
	// patience limits the time for an answer.
	patience time.Duration

	mu     sync.Mutex
	answer bytes.Buffer // reused for each answer
}

// New returns a scraper for source. config is the TLS configuration for clients of the member, nil
// for plaintext. New sends no query.
func New(source database.MetricsSource, config *tls.Config) *Scraper {
	return &Scraper{
		source: source, wanted: newWanted(source.Metrics), tls: config, patience: patience,
		http: &http.Client{
			Transport: &http.Transport{
				TLSClientConfig: config, DisableCompression: true, MaxIdleConns: 1, MaxResponseHeaderBytes: 64 << 10,
			},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// Wait sets the time limit for an answer, half a second before. It is called before the first
// query.
func (s *Scraper) Wait(patience time.Duration) { s.patience = patience }

// Close closes the connection kept for the next query.
func (s *Scraper) Close() { s.http.CloseIdleConnections() }

// Scrape queries once. Even with an error, which the sample names, its time and cost are valid.
func (s *Scraper) Scrape(ctx context.Context) (results.DatabaseSample, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, s.patience)
	defer cancel()
	sample := results.NewDatabaseSample()
	s.answer.Reset()
	began := time.Now()
	sample.UnixNano = began.UnixNano()
	err := s.ask(ctx)
	sample.AskedNS, sample.Bytes = time.Since(began).Nanoseconds(), int64(s.answer.Len())
	if err != nil {
		err = fmt.Errorf("ask a member for its metrics: %w", err)
		sample.Error = short(err)
		return sample, err
	}
	if s.source.URL != "" {
		s.wanted.parsePrometheus(s.answer.Bytes(), &sample)
	} else {
		s.wanted.parsePairs(s.answer.Bytes(), &sample)
	}
	return sample, nil
}

// short shortens err to fit into a row of the file.
func short(err error) string {
	text := strings.ToValidUTF8(err.Error(), "?")
	if len(text) > maxError {
		text = strings.ToValidUTF8(text[:maxError], "")
	}
	return text
}

// ask stores an answer in the buffer.
func (s *Scraper) ask(ctx context.Context) error {
	if s.source.URL != "" {
		return s.get(ctx)
	}
	return s.command(ctx)
}

// get queries over HTTP.
func (s *Scraper) get(ctx context.Context) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.source.URL, nil)
	if err != nil {
		return err
	}
	for name, value := range s.source.Header {
		req.Header.Set(name, value)
	}
	resp, err := s.http.Do(req)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("the answer must be 200 OK, got %d", resp.StatusCode)
	} else {
		err = s.read(resp.Body)
	}
	return errors.Join(err, resp.Body.Close())
}

// command sends the command of the source on a new connection.
func (s *Scraper) command(ctx context.Context) (err error) {
	var conn net.Conn
	if s.tls != nil {
		conn, err = (&tls.Dialer{Config: s.tls}).DialContext(ctx, "tcp", s.source.Address)
	} else {
		conn, err = (&net.Dialer{}).DialContext(ctx, "tcp", s.source.Address)
	}
	if err != nil {
		return err
	}
	defer conn.Close()
	// When ctx ends, for any reason, the wait ends.
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if _, err := io.WriteString(conn, s.source.Command); err != nil {
		return err
	}
	return s.read(conn)
}

// read reads a whole answer.
func (s *Scraper) read(from io.Reader) error {
	n, err := s.answer.ReadFrom(io.LimitReader(from, maxAnswer+1))
	switch {
	case err != nil:
		return err
	case n > maxAnswer:
		return fmt.Errorf("the answer must be at most %d bytes", maxAnswer)
	case n == 0:
		return errors.New("the answer is empty")
	}
	return nil
}
