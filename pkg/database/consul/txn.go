package consul

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/consul/api"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/workload"
)

var (
	_ database.Transactor = (*client)(nil)
	_ database.Transactor = (*lean)(nil)
	_ database.TxnLimiter = (*Options)(nil)
)

const (
	// maxTxnKeys is the maximum number of operations that Consul accepts in one transaction.
	maxTxnKeys = 64
	// maxTxnBody is the largest transaction in bytes (limits.txn_max_req_len, or
	// limits.kv_max_value_size if that is larger).
	maxTxnBody = 512 << 10
)

// MaxTxnValue returns the largest value in bytes for each key in a transaction of that many keys: a
// transaction is JSON with values in base64.
func (o *Options) MaxTxnValue(keySize, keys int) int {
	if keys > maxTxnKeys {
		return 0
	}
	const spare = 200 // bytes for field names, the index and the flags
	each := (max(maxTxnBody, o.KVMaxValueSize)-len("[]"))/keys - spare - keySize
	return max(0, min(o.MaxValue(keySize), each/4*3))
}

// txnAnswer is the needed part of the answer to a transaction.
type txnAnswer struct {
	Results []struct{ KV struct{ ModifyIndex int64 } }
	Errors  []struct {
		OpIndex int
		What    string
	}
}

// errStale is the Consul text for a key that has another index.
const errStale = "index is stale"

// settle takes the versions from an answer with status 200 or 409.
func (a *txnAnswer) settle(puts []database.GuardedPut) error {
	for _, e := range a.Errors {
		switch {
		case !strings.Contains(e.What, errStale):
			class := database.ClassOther
			if strings.Contains(e.What, "ermission denied") {
				class = database.ClassDenied
			}
			return database.NotApplied(class, errors.New(e.What))
		case e.OpIndex >= 0 && e.OpIndex < len(puts):
			puts[e.OpIndex].Version = database.UnknownVersion
		}
	}
	if len(a.Errors) > 0 {
		return conflict("a key has another index")
	}
	if len(a.Results) != len(puts) {
		return database.MaybeApplied(database.ClassConnection, fmt.Errorf("%w: %d results of a transaction of %d keys", errMalformed, len(a.Results), len(puts)))
	}
	for i := range puts {
		puts[i].Version = a.Results[i].KV.ModifyIndex
	}
	return nil
}

// withoutTxn returns [database.ErrNoTransactions] for the answer from a server that does not know
// the path: a cetcd executable redirects the client to "/v1/txn/".
func withoutTxn(err error) error {
	var status api.StatusError
	if errors.As(err, &status) && slices.Contains([]int{http.StatusMovedPermanently, http.StatusNotFound, http.StatusMethodNotAllowed}, status.Code) {
		return database.NotApplied(database.ClassOther, fmt.Errorf("%w: %w", database.ErrNoTransactions, err))
	}
	return err
}

// Txn makes all puts, as cas operations, if the keys have the expected indexes. The answer to a
// conflict lacks the key index.
func (c *client) Txn(ctx context.Context, puts []database.GuardedPut) error {
	var ops api.KVTxnOps
	for _, p := range puts {
		name, err := c.begin(ctx, p.Key)
		if err != nil {
			return err
		}
		ops = append(ops, &api.KVTxnOp{Verb: api.KVCAS, Key: name, Value: p.Value, Index: uint64(p.Version)})
	}
	_, resp, _, err := c.kv.Txn(ops, (&api.QueryOptions{}).WithContext(ctx))
	if err != nil {
		return withoutTxn(classify(ctx, err))
	}
	var a txnAnswer
	a.Results = make([]struct{ KV struct{ ModifyIndex int64 } }, len(resp.Results))
	for i, pair := range resp.Results {
		a.Results[i].KV.ModifyIndex = int64(pair.ModifyIndex)
	}
	for _, e := range resp.Errors {
		a.Errors = append(a.Errors, struct {
			OpIndex int
			What    string
		}{e.OpIndex, e.What})
	}
	return a.settle(puts)
}

// Version returns the index of key.
func (c *client) Version(ctx context.Context, key []byte) (int64, error) {
	name, err := c.begin(ctx, key)
	if err != nil {
		return 0, err
	}
	pair, err := c.read(ctx, name, workload.ReadLinearizable)
	switch {
	case errors.Is(err, database.ErrNotFound):
		return database.NoVersion, nil
	case err != nil:
		return 0, err
	}
	return int64(pair.ModifyIndex), nil
}

// Txn applies guarded puts like [client.Txn].
func (c *lean) Txn(ctx context.Context, puts []database.GuardedPut) error {
	if c.closed.Load() {
		return database.NotApplied(database.ClassConnection, errClosed)
	}
	if err := before(ctx); err != nil {
		return err
	}
	body, err := appendTxn(nil, puts)
	if err != nil {
		return database.NotApplied(database.ClassOther, err)
	}
	expect := len(body) > expectBytes
	request := append(c.begin(0), http.MethodPut+" "+pathTxn...)
	request = c.appendFields(request, http.MethodPut, "", len(body), expect)
	status, text, err := c.conn.exchange(ctx, request, body, expect, c.answer[:0])
	if err != nil {
		return classify(ctx, err)
	}
	if cap(text) <= keepBytes {
		c.answer = text
	}
	if status != http.StatusOK && status != http.StatusConflict {
		return withoutTxn(classify(ctx, api.StatusError{Code: status, Body: string(text)}))
	}
	var a txnAnswer
	if err := json.Unmarshal(text, &a); err != nil {
		return classify(ctx, fmt.Errorf("%w: %w", errMalformed, err))
	}
	return a.settle(puts)
}

// appendTxn appends a transaction in JSON. Key names are printable ASCII.
func appendTxn(b []byte, puts []database.GuardedPut) ([]byte, error) {
	b = append(b, '[')
	for i, p := range puts {
		name, err := encodeKey(p.Key)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"KV":{"Verb":"cas","Key":`...)
		b = strconv.AppendQuote(b, name)
		b = append(b, `,"Index":`...)
		b = strconv.AppendInt(b, p.Version, 10)
		b = append(b, `,"Value":"`...)
		b = base64.StdEncoding.AppendEncode(b, p.Value)
		b = append(b, `"}}`...)
	}
	return append(b, ']'), nil
}

// Version returns the index of key.
func (c *lean) Version(ctx context.Context, key []byte) (int64, error) {
	held, err := c.pair(ctx, key)
	switch {
	case errors.Is(err, database.ErrNotFound):
		return database.NoVersion, nil
	case err != nil:
		return 0, err
	}
	return int64(held.ModifyIndex), nil
}
