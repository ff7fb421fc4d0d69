package shared

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/workload"
)

// claimStore reads and writes the claim of the target's prefix.
type claimStore struct {
	driver database.Driver
	target database.Target
}

// claimWithin bounds each call of a claimStore.
const claimWithin = 15 * time.Second

// counted is how many keys a claim adds to a count of those below the prefix.
func (s claimStore) counted() int64 {
	if _, ok := s.driver.(database.Claimer); ok {
		return 0
	}
	return 1
}

// read returns the claim and its version, nil if there is none.
func (s claimStore) read(ctx context.Context) (c *Claim, version int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, claimWithin)
	defer cancel()
	var text []byte
	if own, ok := s.driver.(database.Claimer); ok {
		text, version, err = own.Claim(ctx, s.target)
	} else {
		err = s.dial(ctx, func(client database.Client) error {
			text, version, err = readKey(ctx, client)
			return err
		})
	}
	if err != nil || version == database.NoVersion {
		return nil, database.NoVersion, err
	}
	c, err = decodeClaim(text)
	return c, version, err
}

// readKey returns the version and then the value of the claim, so that a claim that changes
// in between has another version when it is written.
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

// write replaces the claim that has a version; another one is a conflict.
func (s claimStore) write(ctx context.Context, c *Claim, version int64) error {
	ctx, cancel := context.WithTimeout(ctx, claimWithin)
	defer cancel()
	text, err := c.encode()
	if err != nil {
		return err
	}
	if own, ok := s.driver.(database.Claimer); ok {
		return own.SetClaim(ctx, s.target, text, version)
	}
	return s.dial(ctx, func(client database.Client) error { return writeKey(ctx, client, text, version) })
}

// writeKey writes the claim in a transaction. A proxy may know none: then it is put, and
// must be what is read.
func writeKey(ctx context.Context, client database.Client, text []byte, version int64) error {
	var refused error
	if t, ok := client.(database.Transactor); ok {
		refused = t.Txn(ctx, []database.GuardedPut{{Key: []byte(database.ClaimKey), Value: text, Version: version}})
		_, class := database.Classify(refused)
		if refused == nil || ctx.Err() != nil || slices.Contains([]database.Class{database.ClassConflict, database.ClassDenied}, class) {
			return refused
		}
	}
	if err := client.Put(ctx, []byte(database.ClaimKey), text); err != nil {
		return errors.Join(refused, err)
	}
	held, err := client.Get(ctx, []byte(database.ClaimKey), workload.ReadLinearizable)
	if err == nil && string(held) != string(text) {
		err = database.NotApplied(database.ClassConflict, errors.New("another run wrote its claim at the same time"))
	}
	return err
}

// remove removes the claim.
func (s claimStore) remove(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, claimWithin)
	defer cancel()
	if own, ok := s.driver.(database.Claimer); ok {
		return own.RemoveClaim(ctx, s.target)
	}
	return s.dial(ctx, func(client database.Client) error {
		d, ok := client.(database.Deleter)
		if !ok {
			return errors.New("the client cannot delete a key")
		}
		return d.Delete(ctx, []byte(database.ClaimKey))
	})
}

// dial calls f with a connection to the first member that can be dialed.
func (s claimStore) dial(ctx context.Context, f func(database.Client) error) error {
	var errs []error
	for member := range s.target.Endpoints {
		t := s.target
		t.Prefer = member
		client, err := s.driver.Dial(ctx, t)
		if err == nil {
			return errors.Join(f(client), client.Close())
		}
		errs = append(errs, fmt.Errorf("dial member %d: %w", member, err))
	}
	return errors.Join(errs...)
}
