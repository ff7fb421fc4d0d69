package install

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/url"
	"os"
	"syscall"
	"testing"
)

// Some failures deserve a retry. For others, a retry would only make a machine without internet
// access wait twice.
func TestTemporary(t *testing.T) {
	wrapped := func(err error) error { return fmt.Errorf("get: %w", &url.Error{Op: "Get", URL: "https://x", Err: err}) }
	dial := func(err error) error { return wrapped(&net.OpError{Op: "dial", Net: "tcp", Err: err}) }
	for _, tt := range []struct {
		name string
		err  error
		want bool
	}{
		{"no such host", dial(&net.DNSError{IsNotFound: true}), false},
		{"no answer of the resolver", dial(&net.DNSError{IsTimeout: true, IsTemporary: true}), false},
		{"trouble of the resolver", dial(&net.DNSError{IsTemporary: true}), true},
		{"no answer of the server", dial(os.ErrDeadlineExceeded), false},
		{"refused", dial(syscall.ECONNREFUSED), true},
		{"cut while reading", wrapped(&net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}), true},
		{"cut before the end", wrapped(io.ErrUnexpectedEOF), true},
		{"stalled", wrapped(errStalled), true},
		{"cancelled", wrapped(context.Canceled), false},
		{"busy", statusError{503, "503"}, true},
		{"absent", statusError{404, "404"}, false},
		{"no file", &fs.PathError{Op: "open", Path: "x", Err: fs.ErrNotExist}, false},
		{"anything else", errors.New("else"), false},
	} {
		if got := temporary(tt.err); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}
