// Package cpuprofile reads CPU profiles in pprof's format: how much processor time each function
// used itself.
package cpuprofile

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/google/pprof/profile"
)

// MaxSize bounds a profile, unpacked, in bytes.
const MaxSize = 256 << 20

// Profile is the processor time by function.
type Profile struct {
	// Self is the time by function name in which the function itself ran, without its callees.
	// Inlined functions count separately.
	Self map[string]time.Duration
	// Total is the sum.
	Total time.Duration
}

// Parse reads a profile, which may be compressed by gzip.
func Parse(r io.Reader) (*Profile, error) {
	data, err := unpacked(r)
	if err != nil {
		return nil, fmt.Errorf("read profile: %w", err)
	}
	is, err := profile.ParseUncompressed(data)
	if err == nil {
		err = is.CheckValid()
	}
	if err != nil {
		return nil, fmt.Errorf("read profile: %w", err)
	}
	return of(is)
}

// unpacked reads a profile without its compression. Package profile would unpack any size.
func unpacked(r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, MaxSize+1))
	if err == nil && bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		var z *gzip.Reader
		if z, err = gzip.NewReader(bytes.NewReader(data)); err == nil {
			data, err = io.ReadAll(io.LimitReader(z, MaxSize+1))
		}
	}
	if err == nil && len(data) > MaxSize {
		err = fmt.Errorf("it must have at most %d bytes", MaxSize)
	}
	return data, err
}

// of sums the processor times in a profile.
func of(is *profile.Profile) (*Profile, error) {
	at := slices.IndexFunc(is.SampleType, func(t *profile.ValueType) bool { return t.Type == "cpu" && t.Unit == "nanoseconds" })
	if at < 0 {
		return nil, errors.New("read profile: it must have processor times in nanoseconds")
	}
	p := &Profile{Self: map[string]time.Duration{}}
	for _, s := range is.Sample {
		used := time.Duration(s.Value[at])
		p.Self[innermost(s)] += used
		p.Total += used
	}
	return p, nil
}

// innermost returns the function name in which a sample was taken.
func innermost(s *profile.Sample) string {
	if len(s.Location) > 0 && len(s.Location[0].Line) > 0 {
		if f := s.Location[0].Line[0].Function; f != nil && f.Name != "" {
			return f.Name
		}
	}
	return "(unknown)"
}
