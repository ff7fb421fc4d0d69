package fake

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/coreos/dbtester/pkg/database"
)

var _ database.Transactor = (*client)(nil)

// Txn makes a put if the key has the expected version. There are no transactions of several keys.
func (c *client) Txn(ctx context.Context, puts []database.GuardedPut) error {
	if len(puts) != 1 {
		return database.NotApplied(database.ClassOther, fmt.Errorf("a transaction must have one key, got %d", len(puts)))
	}
	p := &puts[0]
	value := append(binary.BigEndian.AppendUint64(make([]byte, 0, versionSize+len(p.Value)), uint64(p.Version)), p.Value...)
	answer, err := c.roundTrip(ctx, opTxn, c.below(p.Key), value)
	if err != nil {
		return err
	}
	if answer.code != codeOK && answer.code != codeConflict {
		_, err := answer.result()
		return err
	}
	if p.Version, err = answer.version(); err == nil && answer.code == codeConflict {
		err = database.NotApplied(database.ClassConflict, errors.New("the key has another version"))
	}
	return err
}

// Version returns the version of key.
func (c *client) Version(ctx context.Context, key []byte) (int64, error) {
	answer, err := c.roundTrip(ctx, opRevision, c.below(key), nil)
	if err != nil {
		return 0, err
	}
	if _, err := answer.result(); err != nil {
		return 0, err
	}
	return answer.version()
}

func (r *reply) version() (int64, error) {
	if len(r.data) != versionSize {
		return 0, database.MaybeApplied(database.ClassConnection, errFrame)
	}
	return int64(binary.BigEndian.Uint64(r.data)), nil
}
