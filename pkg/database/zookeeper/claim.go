package zookeeper

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-zookeeper/zk"

	"github.com/coreos/dbtester/pkg/database"
)

// The claim on a prefix is a znode directly below it, next to the parents of keys: a client that
// wrote the claim as a key would create the parents.

// Claim returns the claim of the prefix, after a sync.
func (p Protocol) Claim(ctx context.Context, t database.Target) (text []byte, version int64, err error) {
	err = p.withClaim(ctx, t, func(s *session, path string) error {
		if err := s.sync(ctx, []byte(path)); err != nil {
			return err
		}
		found, at, err := s.get(ctx, nil, []byte(path))
		switch {
		case errors.Is(err, zk.ErrNoNode):
			return nil
		case err != nil:
			return err
		}
		text, version = found, int64(at)+1
		return nil
	})
	return text, version, err
}

// SetClaim creates the prefix znodes and the claim, or sets a claim that has that version.
func (p Protocol) SetClaim(ctx context.Context, t database.Target, text []byte, version int64) error {
	return p.withClaim(ctx, t, func(s *session, path string) (err error) {
		if version == database.NoVersion {
			if err := p.Keys.below(t).makeRoot(ctx, s); err != nil {
				return err
			}
			err = s.add(ctx, []byte(path), text)
		} else {
			err = s.set(ctx, []byte(path), text, int32(version-1))
		}
		if errors.Is(err, zk.ErrNodeExists) || errors.Is(err, zk.ErrBadVersion) || errors.Is(err, zk.ErrNoNode) {
			return database.NotApplied(database.ClassConflict, err)
		}
		return err
	})
}

// RemoveClaim removes the claim, and the last prefix znode if nothing else is below it.
func (p Protocol) RemoveClaim(ctx context.Context, t database.Target) error {
	return p.withClaim(ctx, t, func(s *session, path string) error {
		_, err := s.removeAll(ctx, []string{path})
		if err != nil {
			return err
		}
		_, err = s.removeAll(ctx, []string{p.Keys.below(t).root})
		return err
	})
}

// withClaim calls f with a session and the path of the claim on the target prefix.
func (p Protocol) withClaim(ctx context.Context, t database.Target, f func(s *session, path string) error) error {
	if t.Prefix == "" {
		return errors.New("claim: there is no prefix")
	}
	t.Prefer = -1
	s, err := open(ctx, t, p.bufferSize(database.MaxClaim))
	if err != nil {
		return fmt.Errorf("claim: %w", err)
	}
	defer s.close()
	if err := f(s, p.Keys.below(t).root+"/"+database.ClaimKey); err != nil {
		return fmt.Errorf("claim: %w", err)
	}
	return nil
}
