package locks

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/coreos/dbtester/pkg/files/linefile"
)

// FileTurns, in a tag folder, holds every turn in a run.
const FileTurns = "turns.csv"

// Turn is an attempt by a contender to get a lock. Times are nanoseconds since [Outcome.Began] on
// one process's clock, 0 for events that did not happen.
type Turn struct {
	// Asked is just before the request for the lock. Placed is when its place was confirmed, if
	// the recipe reports that.
	Asked, Placed int64
	// Acquired is when the contender learned that it holds the lock. Sent is just before its
	// request to release it, or when it died or learned that it had lost it. Released is after
	// the answer.
	Acquired, Sent, Released int64
	// Stopped is the time for which this process was stopped since the lock was free.
	Stopped int64
	Fence   int64
	// Stage, Name and Contender count from 0, contenders within a stage.
	Stage, Name, Contender int32
	End                    End
}

// End is the outcome of a turn.
type End uint8

// The ends.
const (
	// Waiting turns had no lock when their stage was over.
	Waiting End = iota
	// Refused turns got an error instead of a lock.
	Refused
	// Released locks were released, and Abandoned ones belonged to a holder that died.
	Released
	Abandoned
	// Lost locks were no longer held when they were released. Releasing Unclear ones ended with
	// another error.
	Lost
	Unclear
)

// ends returns the words in the file, by End.
func ends() []string {
	return []string{Waiting: "waiting", Refused: "refused", Released: "released", Abandoned: "abandoned", Lost: "lost", Unclear: "unclear"}
}

// String returns the word for the end.
func (e End) String() string { return ends()[e] }

// Held reports whether the contender had the lock.
func (t *Turn) Held() bool { return t.End != Waiting && t.End != Refused }

// columns declares the file.
func columns() []linefile.Column[Turn] {
	return []linefile.Column[Turn]{
		small("stage", func(t *Turn) *int32 { return &t.Stage }),
		small("name", func(t *Turn) *int32 { return &t.Name }),
		small("contender", func(t *Turn) *int32 { return &t.Contender }),
		linefile.IntColumn("asked_ns", func(t *Turn) *int64 { return &t.Asked }),
		linefile.IntColumn("placed_ns", func(t *Turn) *int64 { return &t.Placed }),
		linefile.IntColumn("acquired_ns", func(t *Turn) *int64 { return &t.Acquired }),
		linefile.IntColumn("sent_ns", func(t *Turn) *int64 { return &t.Sent }),
		linefile.IntColumn("released_ns", func(t *Turn) *int64 { return &t.Released }),
		linefile.IntColumn("stopped_ns", func(t *Turn) *int64 { return &t.Stopped }),
		linefile.IntColumn("fence", func(t *Turn) *int64 { return &t.Fence }),
		{
			Name:   "end",
			Format: func(b []byte, t *Turn) []byte { return append(b, t.End.String()...) },
			Parse: func(t *Turn, field string) error {
				i := slices.Index(ends(), field)
				if i < 0 {
					return fmt.Errorf("%q is no end of a turn", field)
				}
				t.End = End(i)
				return nil
			},
		},
	}
}

// small declares a column for a number that counts from 0.
func small(name string, at func(*Turn) *int32) linefile.Column[Turn] {
	return linefile.Column[Turn]{
		Name:   name,
		Format: func(b []byte, t *Turn) []byte { return strconv.AppendInt(b, int64(*at(t)), 10) },
		Parse: func(t *Turn, field string) error {
			v, err := strconv.ParseInt(field, 10, 32)
			if err != nil || v < 0 {
				return fmt.Errorf("%q is not a number from 0 on", field)
			}
			*at(t) = int32(v)
			return nil
		},
	}
}

// atOnce is the number of turns written at once.
const atOnce = 4096

// WriteTurns writes turns to a file. Without turns it writes no file.
func WriteTurns(path string, turns []Turn) (err error) {
	if len(turns) == 0 {
		return nil
	}
	w, err := linefile.NewTableWriter(path, columns())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	for part := range slices.Chunk(turns, atOnce) {
		if err := w.Write(part); err != nil {
			return err
		}
	}
	return nil
}

// ReadTurns reads a file with turns. The turns before an error are valid.
func ReadTurns(path string) ([]Turn, error) {
	return linefile.ReadTable(path, columns(), linefile.ZeroRows[Turn])
}
