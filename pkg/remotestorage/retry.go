package remotestorage

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"slices"
	"syscall"
	"time"

	"github.com/minio/minio-go/v7"
	"gocloud.dev/gcerrors"
	"golang.org/x/oauth2"
	"google.golang.org/api/googleapi"

	"github.com/coreos/dbtester/pkg/sleep"
)

// attempts limits how often a file is sent or fetched. The pause before the second attempt is
// firstPause; it doubles for each further attempt.
const (
	attempts   = 3
	firstPause = time.Second
)

// again calls do until it succeeds, fails permanently, or has used up its attempts.
func again(ctx context.Context, do func() error) error {
	pause := firstPause
	for n := 1; ; n++ {
		err := do()
		if err == nil || n == attempts || !passing(err) || ctx.Err() != nil {
			return err
		}
		if !sleep.For(ctx, pause) {
			return errors.Join(err, context.Cause(ctx))
		}
		pause *= 2
	}
}

// errDiffers means that the stored object differs from the sent file.
var errDiffers = errors.New("its checksum in the store differs from the file's")

// errListed means that a listing is longer than any folder with records.
var errListed = errors.New("too long a list")

// passing reports whether the same request may succeed later: after a broken connection, an
// overloaded server or a damaged transfer, but not after a refusal or an error reading local files.
func passing(err error) bool {
	var file *fs.PathError
	var errno syscall.Errno
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, errListed), errors.Is(err, ErrBounds), errors.As(err, &file):
		return false
	case errors.Is(err, errDiffers):
		return true
	case errors.As(err, &errno) && slices.Contains([]syscall.Errno{syscall.ENOSPC, syscall.EROFS, syscall.EDQUOT, syscall.EACCES}, errno):
		return false
	}
	if status, code := statusOf(err); status != 0 {
		return status >= 500 || status == http.StatusRequestTimeout || status == http.StatusTooManyRequests ||
			slices.Contains([]string{"RequestTimeout", "BadDigest", "IncompleteBody", "SlowDown"}, code)
	}
	switch gcerrors.Code(err) {
	case gcerrors.NotFound, gcerrors.InvalidArgument, gcerrors.PermissionDenied, gcerrors.FailedPrecondition, gcerrors.Unimplemented:
		return false
	}
	return true
}

// missing reports whether err means that a bucket or an object does not exist. Refusals do not
// count.
func missing(err error) bool {
	status, _ := statusOf(err)
	return err != nil && (status == http.StatusNotFound || status == 0 && gcerrors.Code(err) == gcerrors.NotFound)
}

// statusOf returns the HTTP status in err and the error code of the service; 0 if there was no
// response.
func statusOf(err error) (status int, code string) {
	var google *googleapi.Error
	var s3 minio.ErrorResponse
	var token *oauth2.RetrieveError
	switch {
	case errors.As(err, &google):
		return google.Code, ""
	case errors.As(err, &s3) && s3.StatusCode != 0:
		return s3.StatusCode, s3.Code
	case errors.As(err, &token) && token.Response != nil:
		return token.Response.StatusCode, token.ErrorCode
	}
	return 0, ""
}

// ErrBounds means that a store has more than [Bounds] allow; nothing was fetched.
var ErrBounds = errors.New("too large")
