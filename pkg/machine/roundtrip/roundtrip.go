// Package roundtrip measures the round trip time to other machines: the time to open a TCP
// connection, which a kernel accepts without involving its programs.
package roundtrip

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/coreos/dbtester/pkg/files/address"
	"github.com/coreos/dbtester/pkg/results/histogram"
)

// Count is the number of connections to measure per address, and Timeout the limit for each.
const (
	Count   = 20
	Timeout = 3 * time.Second
)

// Times summarizes the time that N connections took to open. It is zero if Error is not "".
type Times struct {
	Address string        `json:"address"`
	N       int           `json:"n"`
	Min     time.Duration `json:"min_ns"`
	Median  time.Duration `json:"median_ns"`
	Max     time.Duration `json:"max_ns"`
	// Error says why a connection could not be opened.
	Error string `json:"error,omitempty"`
}

// Dial opens a TCP connection, like [net.Dialer.DialContext].
type Dial func(ctx context.Context, network, address string) (net.Conn, error)

// Measure opens [Count] connections to each address, one at a time, and closes each at once. An
// additional first connection is not measured: it resolves the name and the neighbour's hardware
// address. An address is not tried again after a failure. The times are in address order. If the
// context ends, Measure returns its cause with the times so far.
func Measure(ctx context.Context, dial Dial, addresses []string) ([]Times, error) {
	var all []Times
	for _, a := range addresses {
		t := Times{Address: a}
		times, err := measureOne(ctx, dial, a)
		switch {
		case ctx.Err() != nil:
			return all, context.Cause(ctx)
		case err != nil:
			t.Error = reason(err)
		default:
			slices.Sort(times)
			t.N, t.Min, t.Max = len(times), times[0], times[len(times)-1]
			t.Median = times[histogram.Rank(.5, int64(len(times)))-1]
		}
		all = append(all, t)
	}
	return all, nil
}

func measureOne(ctx context.Context, dial Dial, to string) ([]time.Duration, error) {
	// Later connections go to the address that the first one reached.
	to, _, err := open(ctx, dial, to)
	if err != nil {
		return nil, err
	}
	times := make([]time.Duration, Count)
	for i := range times {
		if _, times[i], err = open(ctx, dial, to); err != nil {
			return nil, err
		}
	}
	return times, nil
}

// open opens and closes a connection. It returns the remote address and the time that opening took.
func open(ctx context.Context, dial Dial, to string) (remote string, took time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	begin := time.Now()
	conn, err := dial(ctx, "tcp", to)
	if err != nil {
		return "", 0, err
	}
	took = time.Since(begin)
	return conn.RemoteAddr().String(), took, conn.Close()
}

// reason formats an error without the address, which the caller prints.
func reason(err error) string {
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Sprintf("no answer within %v", Timeout)
	}
	var op *net.OpError
	if errors.As(err, &op) {
		if op.Timeout() {
			return fmt.Sprintf("no answer within %v", Timeout)
		}
		return op.Err.Error()
	}
	return err.Error()
}

// Addresses returns each HOST or HOST:PORT as HOST:PORT, adding port where it is missing. The error
// names every invalid entry.
func Addresses(list []string, port string) (all []string, err error) {
	var errs []error
	for _, one := range list {
		a, err := withPort(one, port)
		if err != nil {
			errs = append(errs, err)
		}
		all = append(all, a)
	}
	return all, errors.Join(errs...)
}

func withPort(s, port string) (string, error) {
	if host, ok := strings.CutPrefix(s, "["); ok && strings.HasSuffix(host, "]") {
		s = strings.TrimSuffix(host, "]")
	}
	if address.Check(s) == nil {
		return net.JoinHostPort(s, port), nil
	}
	host, own, err := net.SplitHostPort(s)
	if err == nil {
		err = address.Check(host)
	}
	if err != nil {
		return "", fmt.Errorf("address must be HOST or HOST:PORT, got %q", s)
	}
	if n, err := strconv.ParseUint(own, 10, 16); err != nil || n == 0 {
		return "", fmt.Errorf("port must be from 1 to 65535, got %q", s)
	}
	return net.JoinHostPort(host, own), nil
}

// Describe formats the times without the address.
func (t Times) Describe(text func(time.Duration) string) string {
	if t.Error != "" {
		return "unreachable: " + t.Error
	}
	return fmt.Sprintf("min %s, median %s, max %s of %d TCP connects", text(t.Min), text(t.Median), text(t.Max), t.N)
}

// Unreachable returns an error that names every address without times, or nil.
func Unreachable(all []Times) error {
	var errs []error
	for _, t := range all {
		if t.Error != "" {
			errs = append(errs, fmt.Errorf("%s is unreachable: %s", t.Address, t.Error))
		}
	}
	return errors.Join(errs...)
}
