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
)

// lean applies operations over one connection, one at a time, with requests and
// answers of its own making: neither Consul's library nor net/http carries them.
// It starts no goroutines.
type lean struct {
	// extra and fields are what the library adds to every request: parameters, as
	// "name=value&", and header lines, Host among them.
	extra  string
	fields string

	closed  atomic.Bool
	conn    leanConn
	request []byte // the buffer of the next request
	answer  []byte // the buffer of answers that nobody keeps
}

var (
	_ database.Client  = (*lean)(nil)
	_ database.Deleter = (*lean)(nil)
	_ database.Swapper = (*lean)(nil)
)

// keepBytes bounds the buffers that a lean client keeps for its next request; a
// larger value is written from where it is.
const keepBytes = 16 << 10

// openLean makes a lean client without sending anything.
func (o *Options) openLean(t database.Target, member int) (*lean, error) {
	tls, err := t.TLS.Config()
	if err != nil {
		return nil, err
	}
	sample := &captured{}
	library, config, err := library(t, member, sample)
	if err != nil {
		return nil, err
	}
	// What the library would send holds what the environment adds: a token, a
	// namespace and the like.
	if _, _, err = library.KV().Get(probeKey, nil); sample.request == nil {
		return nil, err
	}
	c := &lean{conn: leanConn{addr: config.Address, tls: tls}}
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
				return "", database.NotApplied(database.ClassDenied, errors.New("the token can't be part of a header"))
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
	_, err := c.write(ctx, http.MethodPut, key, "", value)
	return err
}

// Get returns the value of key.
func (c *lean) Get(ctx context.Context, key []byte, mode database.ReadMode) ([]byte, error) {
	parameters := "raw"
	switch mode {
	case database.ReadStale:
		parameters = "raw&stale"
	case database.ReadLinearizable:
		parameters = "raw&consistent"
	}
	return c.read(ctx, key, parameters)
}

// Delete removes key.
func (c *lean) Delete(ctx context.Context, key []byte) error {
	_, err := c.write(ctx, http.MethodDelete, key, "", nil)
	return err
}

// Swap does what [client.Swap] does: two requests.
func (c *lean) Swap(ctx context.Context, key, old, value []byte) error {
	text, err := c.read(ctx, key, "consistent")
	var pairs []struct { // one, in JSON: the raw value comes without flags
		Value              []byte
		Flags, ModifyIndex uint64
	}
	if err == nil {
		if err = json.Unmarshal(text, &pairs); err == nil && len(pairs) != 1 {
			err = errMalformed
		}
		err = classify(ctx, err)
	}
	switch {
	case errors.Is(err, database.ErrNotFound):
		return conflict("the key does not exist")
	case err != nil:
		// Only a read was sent.
		_, class := database.Classify(err)
		return database.NotApplied(class, err)
	case !bytes.Equal(pairs[0].Value, old):
		return conflict("the key holds another value")
	}
	parameters := "cas=" + strconv.FormatUint(pairs[0].ModifyIndex, 10)
	if flags := pairs[0].Flags; flags != 0 {
		parameters += "&flags=" + strconv.FormatUint(flags, 10)
	}
	swapped, err := c.write(ctx, http.MethodPut, key, parameters, value)
	if err == nil && !swapped {
		return conflict("the key was written meanwhile")
	}
	return err
}

// Close closes the connection.
func (c *lean) Close() error {
	c.closed.Store(true)
	c.conn.Close()
	return nil
}

// read returns what a GET is answered with; it belongs to the caller.
func (c *lean) read(ctx context.Context, key []byte, parameters string) ([]byte, error) {
	status, text, err := c.do(ctx, http.MethodGet, key, parameters, nil, nil)
	switch {
	case err != nil:
		return nil, err
	case status == http.StatusNotFound:
		return nil, database.ErrNotFound
	case status != http.StatusOK:
		return nil, classify(ctx, api.StatusError{Code: status, Body: string(text)})
	}
	return text, nil
}

// write makes a change and says whether the answer is that it was made.
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
	return bytes.Contains(text, []byte("true")), nil
}

// do sends one request and appends the body of its answer to out. The error is
// classed.
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
	asks := len(value) > askBytes
	c.request = c.appendHead(c.request[:0], method, key, parameters, len(value), asks)
	if !asks && len(value) <= keepBytes {
		c.request, value = append(c.request, value...), nil
	}
	status, out, err := c.conn.exchange(ctx, c.request, value, asks, out)
	if cap(c.request) > 2*keepBytes {
		c.request = nil
	}
	return status, out, classify(ctx, err)
}

// appendHead appends the head of a request.
func (c *lean) appendHead(b []byte, method string, key []byte, parameters string, length int, asks bool) []byte {
	b = append(b, method...)
	b = append(b, " /v1/kv/"...)
	b = appendPath(b, key)
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
	if asks {
		b = append(b, "Expect: 100-continue\r\n"...)
	}
	return append(b, "\r\n"...)
}

// appendPath appends the name under which a key is stored as the path of a URL.
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

// plain says whether a byte may stand for itself in the path of a URL.
func plain(c byte) bool {
	switch {
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		return true
	}
	return strings.IndexByte("-_.~$&+,/:;=@", c) >= 0
}
