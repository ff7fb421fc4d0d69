package shared

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/workload"
)

// claimStore reads and writes the claim for the target's prefix. It is not safe for concurrent use.
// The caller closes it.
type claimStore struct {
	driver database.Driver
	target database.Target
	// client is kept between calls: nil before the first call and after an error. It stays nil for
	// drivers that do not keep claims as keys.
	client database.Client
}

// claimWithin bounds each call to a claimStore, and dialWithin a connection to one member. A claim
// whose client lost its member is renewed through another member before the claim expires.
const (
	claimWithin = 15 * time.Second
	dialWithin  = 10 * time.Second
)

// counted returns the number of keys that the claim adds to a count below the prefix.
func (s *claimStore) counted() int64 {
	if _, ok := s.driver.(database.Claimer); ok {
		return 0
	}
	return 1
}

// read returns the claim and its version, or nil without a claim.
func (s *claimStore) read(ctx context.Context) (c *Claim, version int64, err error) {
	var text []byte
	if own, ok := s.driver.(database.Claimer); ok {
		ctx, cancel := context.WithTimeout(ctx, claimWithin)
		defer cancel()
		text, version, err = own.Claim(ctx, s.target)
	} else {
		read := func(ctx context.Context, client database.Client) (err error) {
			text, version, err = readKey(ctx, client)
			return err
		}
		kept := s.client != nil
		if err = s.call(ctx, read); err != nil && kept {
			err = s.call(ctx, read) // its member may have been lost meanwhile
		}
	}
	if err != nil || version == database.NoVersion {
		return nil, database.NoVersion, err
	}
	c, err = decodeClaim(text)
	return c, version, err
}

// readKey returns the version and then the value of the claim: if it changes in between, it has
// another version when it is written.
func readKey(ctx context.Context, client database.Client) (text []byte, version int64, err error) {
	if t, ok := client.(database.Transactor); ok {
		if version, err = t.Version(ctx, []byte(database.ClaimKey)); err != nil {
			return nil, 0, err
		}
	}
	text, err = client.Get(ctx, []byte(database.ClaimKey), workload.ReadLinearizable)
	switch {
	case errors.Is(err, database.ErrNotFound):
		return nil, database.NoVersion, nil
	case err == nil && version == database.NoVersion:
		version = database.UnknownVersion
	}
	return text, version, err
}

// write replaces the claim with the given version. Another version is a conflict.
func (s *claimStore) write(ctx context.Context, c *Claim, version int64) error {
	text, err := c.encode()
	if err != nil {
		return err
	}
	if own, ok := s.driver.(database.Claimer); ok {
		ctx, cancel := context.WithTimeout(ctx, claimWithin)
		defer cancel()
		return own.SetClaim(ctx, s.target, text, version)
	}
	return s.call(ctx, func(ctx context.Context, client database.Client) error { return writeKey(ctx, client, text, version) })
}

// writeKey writes the claim in a transaction. A proxy may not support transactions: then the
// claim is put, and must be read back equal. After any other error nothing is put: another run
// may have claimed the prefix meanwhile.
func writeKey(ctx context.Context, client database.Client, text []byte, version int64) error {
	if t, ok := client.(database.Transactor); ok {
		err := t.Txn(ctx, []database.GuardedPut{{Key: []byte(database.ClaimKey), Value: text, Version: version}})
		if !errors.Is(err, database.ErrNoTransactions) {
			return err
		}
	}
	if err := client.Put(ctx, []byte(database.ClaimKey), text); err != nil {
		return err
	}
	held, err := client.Get(ctx, []byte(database.ClaimKey), workload.ReadLinearizable)
	if err == nil && string(held) != string(text) {
		err = database.NotApplied(database.ClassConflict, errors.New("another run wrote its claim at the same time"))
	}
	return err
}

// remove removes the claim.
func (s *claimStore) remove(ctx context.Context) error {
	if own, ok := s.driver.(database.Claimer); ok {
		ctx, cancel := context.WithTimeout(ctx, claimWithin)
		defer cancel()
		return own.RemoveClaim(ctx, s.target)
	}
	return s.call(ctx, func(ctx context.Context, client database.Client) error {
		d, ok := client.(database.Deleter)
		if !ok {
			return errors.New("the client cannot delete a key")
		}
		return d.Delete(ctx, []byte(database.ClaimKey))
	})
}

// call calls f with the client. The client is kept unless f fails.
func (s *claimStore) call(ctx context.Context, f func(context.Context, database.Client) error) error {
	if s.client == nil {
		var err error
		if s.client, err = s.dial(ctx); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, claimWithin)
	defer cancel()
	if err := f(ctx, s.client); err != nil {
		return errors.Join(err, s.close())
	}
	return nil
}

// dial connects to the first member that can be dialed.
func (s *claimStore) dial(ctx context.Context) (database.Client, error) {
	var errs []error
	for member := range s.target.Endpoints {
		t := s.target
		t.Prefer = member
		one, cancel := context.WithTimeout(ctx, dialWithin)
		client, err := s.driver.Dial(one, t)
		cancel()
		if err == nil {
			return client, nil
		}
		errs = append(errs, fmt.Errorf("dial member %d: %w", member, err))
	}
	return nil, errors.Join(errs...)
}

// close closes the client, if there is one.
func (s *claimStore) close() error {
	if s.client == nil {
		return nil
	}
	client := s.client
	s.client = nil
	return client.Close()
}
