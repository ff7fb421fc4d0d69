package consul

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/hashicorp/consul/api"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/wire/exchange"
	"github.com/coreos/dbtester/pkg/workload"
)

// lean applies operations over one connection, one at a time. It encodes requests and
// parses answers itself, without the Consul library and net/http, and starts no goroutines.
type lean struct {
	// extra and fields are added by the library to every request: parameters, as "name=value&", and
	// header lines, including Host.
	extra  string
	fields string

	closed atomic.Bool
	conn   leanConn
	answer []byte // the buffer for answers to writes
	perKey int    // bounds a key and its value, in bytes
}

var (
	_ database.AppendGetter = (*lean)(nil)
	_ database.Client       = (*lean)(nil)
	_ database.Deleter      = (*lean)(nil)
	_ database.Swapper      = (*lean)(nil)
	_ database.Continuer    = (*lean)(nil)
)

// keepBytes bounds the buffers for requests, and those that a lean client keeps for answers. A
// larger value is written without a copy.
const keepBytes = 16 << 10

// openLean returns a lean client, which is not connected yet.
func (m members) openLean(member int) (*lean, error) {
	tls, err := m.target.TLS.Config()
	if err != nil {
		return nil, err
	}
	sample := &captured{}
	library, config, err := library(m.target, member, sample)
	if err != nil {
		return nil, err
	}
	// A library request shows the additions from the environment, such as a token or a namespace.
	if _, _, err = library.KV().Get(probeKey, nil); sample.request == nil {
		return nil, err
	}
	c := &lean{conn: leanConn{addr: config.Address, tls: tls, maxBody: m.maxBody}, perKey: m.perKey()}
	if c.extra = sample.request.URL.RawQuery; c.extra != "" {
		c.extra += "&"
	}
	c.conn.In.Expect(headBytes)
	c.fields, err = headerLines(config.Address, sample.request.Header)
	return c, err
}

// captured keeps a request instead of sending it.
type captured struct{ request *http.Request }

var errCaptured = errors.New("not sent")

func (c *captured) RoundTrip(r *http.Request) (*http.Response, error) {
	c.request = r
	return nil, errCaptured
}

// headerLines returns the header lines of every request to a host.
func headerLines(host string, header http.Header) (string, error) {
	for _, values := range header {
		for _, v := range values {
			if strings.ContainsFunc(v, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
				return "", database.NotApplied(database.ClassDenied, errors.New("the token has characters that a header must not have"))
			}
		}
	}
	var b strings.Builder
	b.WriteString("Host: " + host + "\r\n")
	err := header.Write(&b)
	return b.String(), err
}

// Put creates or overwrites key.
func (c *lean) Put(ctx context.Context, key, value []byte) error {
	return unconditional(c.write(ctx, http.MethodPut, key, "", value))
}

// Get returns the value of key.
func (c *lean) Get(ctx context.Context, key []byte, mode workload.ReadMode) ([]byte, error) {
	return c.AppendGet(ctx, nil, key, mode)
}

// AppendGet appends the value of key to a buffer.
func (c *lean) AppendGet(ctx context.Context, to, key []byte, mode workload.ReadMode) ([]byte, error) {
	parameters := "raw"
	switch mode {
	case workload.ReadStale:
		parameters = "raw&stale"
	case workload.ReadLinearizable:
		parameters = "raw&consistent"
	}
	return c.read(ctx, to, key, parameters)
}

// Delete removes key.
func (c *lean) Delete(ctx context.Context, key []byte) error {
	return unconditional(c.write(ctx, http.MethodDelete, key, "", nil))
}

// Swap makes two requests, as [client.Swap] does.
func (c *lean) Swap(ctx context.Context, key, old, value []byte) error {
	held, err := c.pair(ctx, key)
	switch {
	case errors.Is(err, database.ErrNotFound):
		return conflict("the key does not exist")
	case err != nil:
		// Only a read was sent.
		_, class := database.Classify(err)
		return database.NotApplied(class, err)
	case !bytes.Equal(held.Value, old):
		return conflict("the key holds another value")
	}
	parameters := "cas=" + strconv.FormatUint(held.ModifyIndex, 10)
	if flags := held.Flags; flags != 0 {
		parameters += "&flags=" + strconv.FormatUint(flags, 10)
	}
	swapped, err := c.write(ctx, http.MethodPut, key, parameters, value)
	if err == nil && !swapped {
		return conflict("the key was written meanwhile")
	}
	return err
}

// Continues reports whether calls wait as fibers, which they do without TLS.
func (c *lean) Continues() bool { return exchange.Continues(c.conn.tls) }

// Close closes the connection.
func (c *lean) Close() error {
	c.closed.Store(true)
	c.conn.Close()
	return nil
}

// read appends the answer to a GET to a buffer. After an error it returns the buffer as it was.
func (c *lean) read(ctx context.Context, to, key []byte, parameters string) ([]byte, error) {
	status, text, err := c.do(ctx, http.MethodGet, key, parameters, nil, to)
	switch {
	case err != nil:
		return to, err
	case status == http.StatusNotFound:
		return to, database.ErrNotFound
	case status != http.StatusOK:
		return to, classify(ctx, api.StatusError{Code: status, Body: string(text[len(to):])})
	}
	return text, nil
}

// pair is a key in JSON. A raw value has no flags.
type pair struct {
	Value              []byte
	Flags, ModifyIndex uint64
}

// pair reads a key. It misses no write answered before the call.
func (c *lean) pair(ctx context.Context, key []byte) (pair, error) {
	text, err := c.read(ctx, nil, key, "consistent")
	if err != nil {
		return pair{}, err
	}
	var pairs []pair
	if err = json.Unmarshal(text, &pairs); err == nil && len(pairs) != 1 {
		err = errMalformed
	}
	if err != nil {
		return pair{}, classify(ctx, err)
	}
	return pairs[0], nil
}

// write requests a change, and returns whether the server made it.
func (c *lean) write(ctx context.Context, method string, key []byte, parameters string, value []byte) (bool, error) {
	status, text, err := c.do(ctx, method, key, parameters, value, c.answer[:0])
	if err != nil {
		return false, err
	}
	if cap(text) <= keepBytes {
		c.answer = text
	}
	if status != http.StatusOK {
		return false, classify(ctx, api.StatusError{Code: status, Body: string(text)})
	}
	done, err := parseBool(text)
	return done, classify(ctx, err)
}

// do sends one request and appends the body of its answer to out. Errors are classified.
func (c *lean) do(ctx context.Context, method string, key []byte, parameters string, value, out []byte) (int, []byte, error) {
	switch {
	case c.closed.Load():
		return 0, nil, database.NotApplied(database.ClassConnection, errClosed)
	case len(key) == 0:
		return 0, nil, database.NotApplied(database.ClassOther, errEmptyKey)
	}
	if err := before(ctx); err != nil {
		return 0, nil, err
	}
	expect := len(value) > expectBytes
	request := c.appendHead(c.begin(len(key)+min(len(value), keepBytes)), method, key, parameters, len(value), expect)
	if !expect && len(value) <= keepBytes {
		request, value = append(request, value...), nil
	}
	status, out, err := c.conn.exchange(ctx, request, value, expect, out)
	return status, out, classify(ctx, err)
}

// begin returns empty memory for a request, of which n bytes differ between requests.
func (c *lean) begin(n int) []byte {
	const others = 128 // bytes, for the first line and the length
	return c.conn.draft.Begin(n + len(c.extra) + len(c.fields) + others)
}

// appendHead appends the head of a request.
func (c *lean) appendHead(b []byte, method string, key []byte, parameters string, length int, expect bool) []byte {
	b = append(b, method...)
	b = append(b, " /v1/kv/"...)
	b = appendPath(b, key)
	return c.appendFields(b, method, parameters, length, expect)
}

// appendFields appends the rest of a head, after the path.
func (c *lean) appendFields(b []byte, method string, parameters string, length int, expect bool) []byte {
	if c.extra != "" || parameters != "" {
		b = append(b, '?')
		b = append(b, c.extra...)
		b = append(b, parameters...)
	}
	b = append(b, " HTTP/1.1\r\n"...)
	b = append(b, c.fields...)
	if method == http.MethodPut {
		b = append(b, "Content-Length: "...)
		b = strconv.AppendInt(b, int64(length), 10)
		b = append(b, "\r\n"...)
	}
	if expect {
		b = append(b, "Expect: 100-continue\r\n"...)
	}
	return append(b, "\r\n"...)
}

// appendPath appends the name of a key, escaped for the path of a URL.
func appendPath(b, key []byte) []byte {
	const digits = "0123456789ABCDEF"
	for i, c := range key {
		switch {
		case escaped(key, i): // %XX in the name, whose % is %25 in the path
			b = append(b, '%', '2', '5', digits[c>>4], digits[c&15])
		case plain(c):
			b = append(b, c)
		default:
			b = append(b, '%', digits[c>>4], digits[c&15])
		}
	}
	return b
}

// plain reports whether a byte needs no escape in the path of a URL.
func plain(c byte) bool {
	switch {
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		return true
	}
	return strings.IndexByte("-_.~$&+,/:;=@", c) >= 0
}
