package results

import (
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/coreos/dbtester/pkg/results/clocks"
)

// Tracks returns the clocks for the members, by member, from the heartbeats in the folder of a
// database. A run without that file has the one offset in its manifest; a member without either has
// the client clock. The error comes from reading the file; the rows before it count.
func Tracks(dir string, run *DatabaseRun) ([]clocks.Track, error) {
	exchanges, err := clocks.Read(filepath.Join(dir, FileClock), len(run.Members))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	tracks := make([]clocks.Track, len(run.Members))
	for i, m := range run.Members {
		track, ok := clocks.NewTrack(exchanges, i)
		if !ok && m.Clock != nil {
			track = clocks.Fixed(m.Clock.Offset)
		}
		tracks[i] = track
	}
	return tracks, err
}
