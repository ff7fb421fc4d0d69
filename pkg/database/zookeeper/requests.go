package zookeeper

import "context"

// requests are the operations of a client within one session, one at a time. Errors are classified,
// and wrap the go-zookeeper error for the answer. Created znodes get the session ACL. Paths are not
// kept after a call.
type requests interface {
	add(ctx context.Context, path, value []byte) error
	set(ctx context.Context, path, value []byte, version int32) error
	// update is set, and returns the znode version after it.
	update(ctx context.Context, path, value []byte, version int32) (int32, error)
	// multi makes all requests of one transaction or no request. It sets their versions, or the
	// error for the request that failed.
	multi(ctx context.Context, sets []guardedSet) error
	remove(ctx context.Context, path []byte) error
	// stats reads the versions of znodes after a sync, with absent for missing znodes. It sends all
	// requests before it reads the first answer.
	stats(ctx context.Context, paths [][]byte, versions []int32) error
	// get appends a znode's value to a buffer, which it does not keep, and returns the version.
	get(ctx context.Context, to, path []byte) (value []byte, version int32, err error)
	// sync returns when the session's server has applied every previously committed write.
	sync(ctx context.Context, path []byte) error
	// close ends the session. It returns when the session goroutines have ended: after the server's
	// answer, or after a second without one.
	close()
}

var (
	_ requests = (*session)(nil)
	_ requests = (*lean)(nil)
)

// anyVersion makes a request unconditional.
const anyVersion = -1
