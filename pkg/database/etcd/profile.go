package etcd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/coreos/dbtester/pkg/database"
)

var _ database.Profiler = (*Options)(nil)

// CPUProfile fetches a profile from a member's client port, which serves it with the option pprof,
// or with the etcd flag --enable-pprof.
func (o *Options) CPUProfile(ctx context.Context, t database.Target, member int, length time.Duration, w io.Writer) error {
	if member < 0 || member >= len(t.Endpoints) {
		return fmt.Errorf("profile etcd: the member must be from 0 to %d, got %d", len(t.Endpoints)-1, member)
	}
	if err := fetch(ctx, t, t.Endpoints[member]+database.ProfilePath(length), w); err != nil {
		if !o.Pprof {
			err = fmt.Errorf("%w (the option pprof is off)", err)
		}
		return fmt.Errorf("profile etcd: %w", err)
	}
	return nil
}

// fetch copies the answer to a GET of an address without its scheme.
func fetch(ctx context.Context, t database.Target, address string, w io.Writer) (err error) {
	scheme := "http://"
	transport := &http.Transport{DisableCompression: true} // profiles are compressed already
	if t.TLS != nil {
		scheme = "https://"
		if transport.TLSClientConfig, err = t.TLS.Config(); err != nil {
			return err
		}
	}
	defer transport.CloseIdleConnections()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, scheme+address, nil)
	if err != nil {
		return err
	}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("the member answered %s", resp.Status)
	} else {
		_, err = io.Copy(w, resp.Body)
	}
	return errors.Join(err, resp.Body.Close())
}
