package consul

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/hashicorp/consul/api"

	"github.com/coreos/dbtester/pkg/database"
)

var _ database.Bulker = (*Options)(nil)

// The bounds that Consul sets for a transaction: its operations, up to 1.16, and the bytes of its
// JSON.
const (
	maxTxnOps   = 64
	maxTxnBytes = 512 << 10
)

// BulkSize returns the number of sets that fit into a transaction. A value is written in base64.
func (o *Options) BulkSize(keySize, valueSize int) int {
	const perSet, request = 250, 1 << 10
	// An escape in a key takes up to six bytes in JSON; the keys of a load have no escapes.
	return max(1, min(maxTxnOps, (maxTxnBytes-request)/(keySize+(valueSize+2)/3*4+perSet)))
}

// bulk writes with transactions through the Consul library.
type bulk struct {
	txn    *api.Txn
	http   *http.Client
	prefix string
}

// maxTxnAnswer bounds an answer, which has the keys and no values, in bytes.
const maxTxnAnswer = 4 << 20

// DialBulk makes a client for one member, the preferred or else the first. Only the first request
// shows whether the client works.
func (o *Options) DialBulk(_ context.Context, t database.Target) (database.Bulk, error) {
	library, config, err := openLibrary(t, max(t.Prefer, 0), maxTxnAnswer, 1)
	if err != nil {
		return nil, err
	}
	return &bulk{library.Txn(), config.HttpClient, t.KeyPrefix()}, nil
}

// PutAll writes all pairs in one transaction.
func (b *bulk) PutAll(ctx context.Context, pairs []database.Pair) error {
	ops := make(api.TxnOps, len(pairs))
	for i, p := range pairs {
		ops[i] = &api.TxnOp{KV: &api.KVTxnOp{Verb: api.KVSet, Key: b.prefix + string(p.Key), Value: p.Value}}
	}
	ok, answer, _, err := b.txn.Txn(ops, (&api.QueryOptions{}).WithContext(ctx))
	switch {
	case err != nil:
		return classify(ctx, err)
	case !ok && len(answer.Errors) > 0:
		return database.NotApplied(database.ClassOther, fmt.Errorf("the transaction was refused: %s", answer.Errors[0].What))
	case !ok:
		return database.NotApplied(database.ClassOther, errors.New("the transaction was refused"))
	}
	return nil
}

func (b *bulk) Close() error {
	b.http.CloseIdleConnections()
	return nil
}
