package etcd

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/coreos/dbtester/pkg/database"
)

// Fill returns the size and quota of the fullest store.
func (o *Options) Fill(ctx context.Context, t database.Target) (size, limit int64, err error) {
	type store struct{ size, limit int64 }
	stores, err := database.AskMembers(ctx, len(t.Endpoints), func(ctx context.Context, member int) (s store, err error) {
		status, err := statusOf(ctx, t, member)
		if err != nil {
			return s, err
		}
		s = store{status.DbSize, status.DbSizeQuota}
		if s.limit == 0 { // before 3.6
			s.limit, err = quota(ctx, t, t.Endpoints[member])
		}
		return s, err
	}, func([]store) bool { return false })
	for _, s := range stores {
		if s.limit > 0 && (limit == 0 || float64(s.size)/float64(s.limit) > float64(size)/float64(limit)) {
			size, limit = s.size, s.limit
		}
	}
	if limit == 0 {
		return 0, 0, fmt.Errorf("size of etcd's stores: %w", errors.Join(errors.New("no member reports its quota"), err))
	}
	return size, limit, nil
}

// quotaMetric is the metric for a member's quota in bytes.
const quotaMetric = "etcd_server_quota_backend_bytes "

// quota reads a member's quota from its metrics.
func quota(ctx context.Context, t database.Target, endpoint string) (int64, error) {
	var text bytes.Buffer
	if err := fetch(ctx, t, endpoint+"/metrics", &text); err != nil {
		return 0, err
	}
	for lines := bufio.NewScanner(&text); lines.Scan(); {
		if value, ok := strings.CutPrefix(lines.Text(), quotaMetric); ok {
			bytes, err := strconv.ParseFloat(value, 64)
			return int64(bytes), err
		}
	}
	return 0, errors.New("the metrics have no quota")
}
