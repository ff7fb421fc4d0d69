package install

import (
	"context"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"net"
	"net/http"
	neturl "net/url"
	"os"
	"strings"
	"time"

	"github.com/coreos/dbtester/pkg/install/recipe"
	"github.com/coreos/dbtester/pkg/sleep"
)

// progressEvery is the number of bytes downloaded between two progress lines.
const progressEvery = 32 << 20

// dialTimeout limits looking up and connecting to a server, and then the handshake. It is long
// enough for lost packets, yet short enough that a machine without internet access soon tries the
// next recipe.
const dialTimeout = 10 * time.Second

// maxChecksumBytes limits the size of a checksum file.
const maxChecksumBytes = 1 << 20

// errStalled ends a download that received no byte for too long.
var errStalled = errors.New("the server stopped sending")

// statusError is a response with a status other than 200.
type statusError struct {
	code   int
	status string
}

func (e statusError) Error() string { return "the server answered " + e.status }

// fetcher downloads URLs for one recipe.
type fetcher struct {
	*stage
	client *http.Client
}

// newFetcher returns a fetcher, and a function that closes its connections.
func (s *stage) newFetcher() (fetcher, func()) {
	if s.in.Client != nil {
		return fetcher{s, s.in.Client}, func() {}
	}
	transport := &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: dialTimeout}).DialContext,
		TLSHandshakeTimeout:   dialTimeout,
		ResponseHeaderTimeout: time.Minute,
		ForceAttemptHTTP2:     true,
	}
	return fetcher{s, &http.Client{Transport: transport, CheckRedirect: checkRedirect}}, transport.CloseIdleConnections
}

// checkRedirect rejects redirects from https to http, and redirect loops.
func checkRedirect(to *http.Request, via []*http.Request) error {
	if len(via) >= 10 {
		return errors.New("stopped after 10 redirects")
	}
	if via[len(via)-1].URL.Scheme == "https" && to.URL.Scheme != "https" {
		return fmt.Errorf("refused a redirect from https to %s", to.URL.Redacted())
	}
	return nil
}

// text downloads a small text.
func (f fetcher) text(ctx context.Context, url string) (string, error) {
	var text strings.Builder
	err := f.twice(ctx, url, func(body io.Reader, _ int64) error {
		text.Reset()
		return copyBounded(&text, body, maxChecksumBytes)
	})
	return text.String(), err
}

// file downloads url into a new file, and hashes it.
func (f fetcher) file(ctx context.Context, url, path string, newHash func() hash.Hash) (h hash.Hash, err error) {
	limit := f.in.maxBytes()
	err = f.twice(ctx, url, func(body io.Reader, size int64) (err error) {
		if size > limit {
			return tooLarge(limit)
		}
		out, err := os.Create(path)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, out.Close()) }()
		h = newHash()
		counted := &meter{r: body, report: func(n int64) { f.say("%s: %s", url, amount(n, size)) }}
		return copyBounded(io.MultiWriter(out, h), counted, limit)
	})
	return h, err
}

// twice downloads url, and retries once after a failure that may be temporary.
func (f fetcher) twice(ctx context.Context, url string, use func(io.Reader, int64) error) error {
	err := f.once(ctx, url, use)
	if err != nil && temporary(err) && ctx.Err() == nil {
		f.say("%s: %v; trying once more", url, err)
		if !sleep.For(ctx, f.in.pause()) {
			return context.Cause(ctx)
		}
		if err = f.once(ctx, url, use); err != nil {
			err = fmt.Errorf("%w (tried twice)", err)
		}
	}
	if err != nil {
		return fmt.Errorf("fetch %s: %w", url, err)
	}
	return nil
}

// once opens url, a web address or a file, and passes its content to use.
func (f fetcher) once(ctx context.Context, url string, use func(io.Reader, int64) error) error {
	if !recipe.IsWeb(url) {
		file, err := os.Open(strings.TrimPrefix(url, "file://"))
		if err != nil {
			return err
		}
		defer file.Close()
		info, err := file.Stat()
		if err != nil {
			return err
		}
		return use(ctxReader{ctx, file}, info.Size())
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watch := time.AfterFunc(f.in.stallTime(), func() { cancel(errStalled) })
	defer watch.Stop()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	// The hashed bytes must be the published bytes.
	req.Header.Set("Accept-Encoding", "identity")
	resp, err := f.client.Do(req)
	if err != nil {
		var named *neturl.Error // the caller's error names the URL as well
		if errors.As(err, &named) {
			err = named.Err
		}
		return causeOf(ctx, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return statusError{resp.StatusCode, resp.Status}
	}
	alive := &meter{r: resp.Body, each: func() { watch.Reset(f.in.stallTime()) }}
	return causeOf(ctx, use(alive, resp.ContentLength))
}

// causeOf returns the reason why ctx ended, if it has ended and err is not nil.
func causeOf(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); err != nil && cause != nil {
		return cause
	}
	return err
}

// temporary reports whether the same request may soon succeed.
func temporary(err error) bool {
	var file *fs.PathError
	var status statusError
	var dns *net.DNSError
	var network net.Error
	var op *net.OpError
	switch {
	case errors.As(err, &file):
		return false
	case errors.As(err, &status):
		return status.code >= 500 || status.code == http.StatusTooManyRequests || status.code == http.StatusRequestTimeout
	case errors.As(err, &dns):
		return !dns.IsNotFound && !dns.IsTimeout
	case errors.As(err, &op) && op.Op == "dial" && op.Timeout():
		return false // the kernel and the resolver have already retried several times
	case errors.Is(err, errStalled), errors.Is(err, io.ErrUnexpectedEOF):
		return true
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return false
	default:
		return errors.As(err, &network)
	}
}

// copyBounded copies everything, and fails if there are more than limit bytes.
func copyBounded(to io.Writer, from io.Reader, limit int64) error {
	n, err := io.Copy(to, io.LimitReader(from, limit+1))
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("the connection was cut after %s: %w", amount(n, -1), err)
	}
	if err == nil && n > limit {
		return tooLarge(limit)
	}
	return err
}

func tooLarge(limit int64) error { return fmt.Errorf("it is larger than the limit of %d bytes", limit) }

// meter counts the bytes read.
type meter struct {
	r      io.Reader
	n      int64
	each   func()      // after every read
	report func(int64) // called after every progressEvery bytes
}

func (m *meter) Read(p []byte) (int, error) {
	n, err := m.r.Read(p)
	before := m.n / progressEvery
	m.n += int64(n)
	if m.each != nil {
		m.each()
	}
	if m.report != nil && m.n/progressEvery > before {
		m.report(m.n)
	}
	return n, err
}

// amount formats a byte count, with the total if it is known.
func amount(n, total int64) string {
	if total < 0 {
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	}
	return fmt.Sprintf("%.1f of %.1f MB", float64(n)/1e6, float64(total)/1e6)
}

func (in *Installer) maxBytes() int64 {
	if in.MaxBytes > 0 {
		return in.MaxBytes
	}
	return defaultMaxBytes
}

func (in *Installer) pause() time.Duration {
	if in.retryAfter > 0 {
		return in.retryAfter
	}
	return defaultRetryAfter
}

func (in *Installer) stallTime() time.Duration {
	if in.stall > 0 {
		return in.stall
	}
	return defaultStall
}

// Defaults for fields of the installer.
const (
	defaultMaxBytes   = 4 << 30
	defaultRetryAfter = time.Second
	defaultStall      = time.Minute
)
