package consul

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/hashicorp/consul/api"

	"github.com/coreos/dbtester/pkg/database"
)

// Requests with a body above expectBytes wait for "100 Continue" before they send it.
// A server that refuses a large body closes the connection during the transfer, and its
// answer is lost. No value a server accepts by default is that large.
const (
	expectBytes  = maxValue
	expectWithin = time.Second
)

// maxBody bounds the body of an answer about one key, in bytes: it leaves room for the largest
// value in base64, and for the other fields.
func maxBody(value int) int64 {
	const fields = 64 << 10
	return 2*int64(value) + fields
}

// errFalse is the error for an unconditional write the server answered with false.
var errFalse = errors.New("the server answered false: it did not make the change")

// parseBool parses the body of the answer to a write.
func parseBool(body []byte) (bool, error) {
	switch text := string(bytes.TrimSpace(body)); text {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, fmt.Errorf("%w: a write must be answered true or false, got %d bytes", errMalformed, len(body))
}

// unconditional returns the error from an unconditional write.
func unconditional(done bool, err error) error {
	if err == nil && !done {
		return database.NotApplied(database.ClassConflict, errFalse)
	}
	return err
}

// kvTransport adds to the net/http transport four rules that the Consul library lacks. Large bodies
// wait for "100 Continue", answers about one key are bounded, the answer to a write is checked, and
// so is the status of the answer to a transaction.
type kvTransport struct {
	*http.Transport
	maxBody int64
}

func (k *kvTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.ContentLength > expectBytes {
		r = r.Clone(r.Context())
		r.Header.Set("Expect", "100-continue")
	}
	resp, err := k.Transport.RoundTrip(r)
	if err == nil && r.URL.Path == pathTxn {
		return checkTxn(resp)
	}
	if err != nil || !strings.HasPrefix(r.URL.Path, "/v1/kv/") || r.URL.Query().Has("keys") {
		return resp, err
	}
	most := k.maxBody
	if r.URL.Query().Has("recurse") {
		most += 2 * pageBytes
	}
	resp.Body = &boundedBody{resp.Body, most, most}
	if r.Method == http.MethodGet || resp.StatusCode != http.StatusOK {
		return resp, nil
	}
	return checkWrite(r, resp)
}

// checkWrite reads the answer to a write. The Consul library ignores it, except for
// compare-and-set.
func checkWrite(r *http.Request, resp *http.Response) (*http.Response, error) {
	body, err := io.ReadAll(resp.Body)
	done := false
	if err == nil {
		done, err = parseBool(body)
	}
	if err == nil && !done && !r.URL.Query().Has("cas") {
		err = errFalse
	}
	if err = errors.Join(err, resp.Body.Close()); err != nil {
		return nil, err
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, nil
}

// checkTxn returns an error for a transaction that was neither made nor refused for its own
// reasons. The Consul library drops the status of such an answer.
func checkTxn(resp *http.Response) (*http.Response, error) {
	if resp.StatusCode == http.StatusOK || resp.StatusCode == http.StatusConflict {
		return resp, nil
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxHead))
	return nil, errors.Join(api.StatusError{Code: resp.StatusCode, Body: string(body)}, err, resp.Body.Close())
}

// boundedBody fails once more than most bytes have come.
type boundedBody struct {
	io.ReadCloser
	left, most int64
}

func (b *boundedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, tooLong(b.most)
	}
	return n, err
}

// pathTxn accepts transactions. A put with "?cas=" would suffice for one key, but its answer
// lacks the index the next transaction must name.
const pathTxn = "/v1/txn"

const (
	// pageBytes bounds an answer with many keys: Consul has no listing with indexes but
	// without values.
	pageBytes = 8 << 20
	// pageFields is the size per key in such an answer in addition to its name and its value in
	// base64: field names and numbers.
	pageFields = 256
	// pageDigits bounds the digits in which the numbers of a page differ.
	pageDigits = 3
)
