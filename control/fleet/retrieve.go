package fleet

import (
	"context"
	"errors"
)

// Retrieved has the files and the end of one member, as kept by its agent.
type Retrieved struct {
	Stopped
	// Files names the files that were fetched whole.
	Files []string
	// Unreleased is why the agent was not released after all files had arrived, nil if it was.
	Unreleased error
}

// Resume returns a fleet for sessions opened by another process.
func Resume(o Options) *Fleet {
	f := New(o)
	f.resumed = true
	return f
}

// Retrieve connects to one agent of a resumed fleet, ends its session, fetches its files into
// dir, and releases the agent if all files arrived. An error means that some did not. It is a
// [*GoneError] if there is no session, and trying again is useless.
func (f *Fleet) Retrieve(ctx context.Context, member int, dir string) (got Retrieved, err error) {
	s := f.newSession(member)
	if err := s.Dial(ctx, f.opts.Connect); err != nil {
		return got, err
	}
	if _, err := s.files(ctx); err != nil {
		return got, errors.Join(err, s.Disconnect())
	}
	if got.Stopped, err = f.stop(ctx, s, false); err != nil {
		return got, errors.Join(err, s.Disconnect())
	}
	files, err := s.collect(ctx, dir)
	if err != nil {
		return got, errors.Join(err, s.Disconnect())
	}
	got.Files = files
	got.Unreleased = errors.Join(s.close(ctx), s.Disconnect())
	return got, nil
}
