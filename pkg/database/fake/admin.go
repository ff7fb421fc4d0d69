package fake

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/coreos/dbtester/pkg/database"
)

// Ready asks the member whether it is ready and reaches the leader.
func (o *Options) Ready(ctx context.Context, t database.Target, member int) error {
	_, err := ask(ctx, t, member, opReady)
	return err
}

// Version asks the member for its version.
func (o *Options) Version(ctx context.Context, t database.Target, member int) (string, error) {
	version, err := ask(ctx, t, member, opVersion)
	return string(version), err
}

// Leader asks the members in turn which one leads.
func (o *Options) Leader(ctx context.Context, t database.Target) (int, error) {
	var errs []error
	for member := range t.Endpoints {
		_, err := ask(ctx, t, member, opLead)
		if err == nil {
			return member, nil
		}
		errs = append(errs, err)
	}
	return 0, fmt.Errorf("find the leader of fake: %w", errors.Join(errs...))
}

// CountKeys asks the leader, through the first member that answers.
func (o *Options) CountKeys(ctx context.Context, t database.Target) (int64, error) {
	n, err := askNumber(ctx, t, opCount, nil, t.KeyPrefix())
	if err != nil {
		return 0, fmt.Errorf("count fake keys: %w", err)
	}
	return n, nil
}

// HighestKey asks the leader, through the first member that answers.
func (o *Options) HighestKey(ctx context.Context, t database.Target, keySize int) (int64, error) {
	n, err := askNumber(ctx, t, opHighest, strconv.AppendInt(nil, int64(keySize), 10), t.KeyPrefix())
	if err != nil {
		return 0, fmt.Errorf("find the highest fake key: %w", err)
	}
	return n, nil
}

// Clean removes keys below the prefix, at most cleanBatch per request.
func (o *Options) Clean(ctx context.Context, t database.Target, which database.Removable, removed func(int64)) error {
	if t.Prefix == "" {
		return errors.New("clean fake: there is no prefix")
	}
	asked, err := json.Marshal(which)
	if err != nil {
		return fmt.Errorf("clean fake: %w", err)
	}
	for sum := int64(0); ; removed(sum) {
		n, err := askNumber(ctx, t, opClean, asked, t.KeyPrefix())
		if err != nil {
			return fmt.Errorf("clean fake: %w", err)
		}
		if n == 0 {
			return nil
		}
		sum += n
	}
}

const cleanBatch = 100

// askNumber sends one request about the keys below a prefix to the members in turn until one
// answers with a number.
func askNumber(ctx context.Context, t database.Target, op opcode, key []byte, prefix string) (int64, error) {
	var errs []error
	for member := range t.Endpoints {
		number, err := askFor(ctx, t, member, op, key, []byte(prefix))
		if err == nil {
			return strconv.ParseInt(string(number), 10, 64)
		}
		errs = append(errs, err)
	}
	return 0, errors.Join(errs...)
}

// ask sends one request without key or value to one member.
func ask(ctx context.Context, t database.Target, member int, op opcode) ([]byte, error) {
	return askFor(ctx, t, member, op, nil, nil)
}

// askFor sends one request to one member.
func askFor(ctx context.Context, t database.Target, member int, op opcode, key, value []byte) ([]byte, error) {
	if member < 0 || member >= len(t.Endpoints) {
		return nil, fmt.Errorf("the fake member must be from 0 to %d, got %d", len(t.Endpoints)-1, member)
	}
	c := &client{endpoint: t.Endpoints[member]}
	answer, err := c.do(ctx, op, key, value)
	if err = errors.Join(err, c.Close()); err != nil {
		return nil, fmt.Errorf("ask fake member %d: %w", member, err)
	}
	return answer, nil
}
