package install

import (
	"fmt"
	"net/http"
	"strings"
	"time"
)

// Installer obtains releases into one cache directory. Its fields must not change after first use.
// Its methods are safe for concurrent use, also by several processes.
type Installer struct {
	// Cache is the cache directory, created on demand.
	Cache string
	// Progress, if set, is called with each progress line. Calls from one Get do not overlap, but
	// calls from several may.
	Progress func(line string)
	// Client makes requests. If it is nil, the installer uses its own, which gives up on a server
	// that does not answer within a minute.
	Client *http.Client
	// Lookup finds an executable on the machine by name; nil means the PATH.
	Lookup func(name string) (string, error)
	// MaxBytes limits the size of an archive, both packed and unpacked; 0 means 4 GiB.
	MaxBytes int64

	// retryAfter is the pause before the only retry of a download. stall is the time without a byte
	// after which a download has failed. 0 means the default.
	retryAfter, stall time.Duration
}

func (in *Installer) say(format string, args ...any) {
	if in.Progress == nil {
		return
	}
	line, _, _ := strings.Cut(fmt.Sprintf(format, args...), "\n")
	in.Progress(line)
}
