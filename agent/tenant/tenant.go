// Package tenant names the run that holds an agent or its generator, checks the names it gives,
// refuses other runs, and waits until its lease ends.
package tenant

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/coreos/dbtester/dbtesterpb"

	"github.com/coreos/dbtester/pkg/files/pattern"
)

// DefaultLease is the time a session lives without a call from its run.
const DefaultLease = 15 * time.Second

// MaxName bounds the text that names an owner, in bytes.
const MaxName = 256

var validRun = pattern.New(`^[0-9A-Za-z][0-9A-Za-z_-]{0,63}$`)

// CheckRun refuses an id that cannot be a run's.
func CheckRun(id string) error {
	if !validRun().MatchString(id) {
		return fmt.Errorf("run id %q is not 1 to 64 letters, digits, - and _", id)
	}
	return nil
}

// CheckName refuses a text that is not printable or longer than [MaxName]. what names it in the
// error.
func CheckName(what, text string) error {
	if !Printable(text, MaxName) {
		return fmt.Errorf("%s is not printable or longer than %d bytes", what, MaxName)
	}
	return nil
}

// Printable reports whether text is at most limit bytes of printable UTF-8.
func Printable(text string, limit int) bool {
	return len(text) <= limit && utf8.ValidString(text) &&
		!strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) })
}

// Tenant is the run that has a session. The caller guards it.
type Tenant struct {
	Run, Owner string
	Since      time.Time
	Alive      time.Time // its control's last call
}

// Left returns the rest of a lease.
func (t *Tenant) Left(lease time.Duration) time.Duration { return lease - time.Since(t.Alive) }

// Message returns the tenant as a message, which names the run by its hash: whoever knows the id
// has the rights of its control.
func (t *Tenant) Message() *pb.Owner {
	return &pb.Owner{RunHash: pb.RunHash(t.Run), Name: t.Owner, SinceUnixNs: t.Since.UnixNano(), LastHeartbeatUnixNs: t.Alive.UnixNano()}
}

// Refusal returns the error for a call by another run to an agent or a generator, the callee. more
// ends its text. The error carries owner, by which control knows that another run is the reason.
func (t *Tenant) Refusal(code codes.Code, callee, more string, owner *pb.Owner) error {
	text := fmt.Sprintf("the %s belongs to %s (run %s) since %s, last heard from %s ago%s",
		callee, t.Owner, pb.RunHash(t.Run), t.Since.UTC().Format(time.RFC3339), time.Since(t.Alive).Round(time.Millisecond), more)
	st, err := status.New(code, text).WithDetails(owner)
	if err != nil {
		return status.Error(code, text)
	}
	return st.Err()
}

// Await waits until a lease ends and reports true, or false if ctx ends first. left returns the
// rest of the lease, which calls renew meanwhile.
func Await(ctx context.Context, lease time.Duration, left func() time.Duration) bool {
	timer := time.NewTimer(lease)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-timer.C:
		}
		rest := left()
		if rest <= 0 {
			return true
		}
		timer.Reset(rest)
	}
}
