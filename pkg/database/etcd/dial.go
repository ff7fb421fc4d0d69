package etcd

import (
	"context"
	"errors"

	"github.com/coreos/dbtester/pkg/database"
)

func (o *Options) Dial(ctx context.Context, t database.Target) (database.Client, error) {
	return nil, errors.New("not yet")
}
func (o *Options) Ready(ctx context.Context, t database.Target, member int) error {
	return errors.New("not yet")
}
func (o *Options) Leader(ctx context.Context, t database.Target) (int, error) {
	return 0, errors.New("not yet")
}
func (o *Options) Version(ctx context.Context, t database.Target, member int) (string, error) {
	return "", errors.New("not yet")
}
func (o *Options) CountKeys(ctx context.Context, t database.Target) (int64, error) {
	return 0, errors.New("not yet")
}
