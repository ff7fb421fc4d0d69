// Package cpuprofile reads CPU profiles in pprof's format: how much processor time each
// function used itself.
package cpuprofile

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// MaxSize bounds a profile, unpacked, in bytes.
const MaxSize = 256 << 20

// Profile is the processor time by function.
type Profile struct {
	// Self is the time in which a function ran that no other function had called from it,
	// by its name. Inlined functions count alone.
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
	var m message
	if err := m.read(data); err != nil {
		return nil, fmt.Errorf("read profile: %w", err)
	}
	return m.profile()
}

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

// The numbers of fields in profile.proto.
const (
	profileSampleType = 1
	profileSample     = 2
	profileLocation   = 4
	profileFunction   = 5
	profileString     = 6

	typeName, typeUnit           = 1, 2
	sampleLocation, sampleValue  = 1, 2
	locationID, locationLine     = 1, 4
	lineFunction                 = 1
	functionID, functionNameText = 1, 2
)

// message is what is read of a profile.
type message struct {
	types   [][2]uint64 // name and unit, as places in texts
	samples []sample
	// leaves are the innermost functions of locations, names the names of functions.
	leaves, names map[uint64]uint64
	texts         []string
}

type sample struct {
	leaf   uint64 // location
	values []uint64
}

func (m *message) read(data []byte) error {
	m.leaves, m.names = map[uint64]uint64{}, map[uint64]uint64{}
	return fields(data, func(f field) error {
		switch f.number {
		case profileSampleType:
			return m.sampleType(f.data)
		case profileSample:
			return m.sample(f.data)
		case profileLocation:
			return m.location(f.data)
		case profileFunction:
			return m.function(f.data)
		case profileString:
			m.texts = append(m.texts, string(f.data))
		}
		return nil
	})
}

func (m *message) sampleType(data []byte) error {
	var one [2]uint64
	err := fields(data, func(f field) error {
		switch f.number {
		case typeName:
			one[0] = f.value
		case typeUnit:
			one[1] = f.value
		}
		return nil
	})
	m.types = append(m.types, one)
	return err
}

func (m *message) sample(data []byte) error {
	var locations, values []uint64
	err := fields(data, func(f field) (err error) {
		switch f.number {
		case sampleLocation:
			locations, err = f.numbers(locations)
		case sampleValue:
			values, err = f.numbers(values)
		}
		return err
	})
	if len(locations) > 0 {
		m.samples = append(m.samples, sample{locations[0], values})
	}
	return err
}

func (m *message) location(data []byte) error {
	var id, function uint64
	lines := 0
	err := fields(data, func(f field) error {
		switch f.number {
		case locationID:
			id = f.value
		case locationLine:
			if lines++; lines > 1 {
				return nil // the first is the innermost of inlined calls
			}
			return fields(f.data, func(f field) error {
				if f.number == lineFunction {
					function = f.value
				}
				return nil
			})
		}
		return nil
	})
	m.leaves[id] = function
	return err
}

func (m *message) function(data []byte) error {
	var id, name uint64
	err := fields(data, func(f field) error {
		switch f.number {
		case functionID:
			id = f.value
		case functionNameText:
			name = f.value
		}
		return nil
	})
	m.names[id] = name
	return err
}

func (m *message) text(at uint64) string {
	if at >= uint64(len(m.texts)) {
		return ""
	}
	return m.texts[at]
}

// profile sums the times of functions.
func (m *message) profile() (*Profile, error) {
	at := -1
	for i, t := range m.types {
		if m.text(t[0]) == "cpu" && m.text(t[1]) == "nanoseconds" {
			at = i
		}
	}
	if at < 0 {
		return nil, errors.New("read profile: it must have processor times in nanoseconds")
	}
	p := &Profile{Self: map[string]time.Duration{}}
	for _, s := range m.samples {
		if at >= len(s.values) {
			return nil, fmt.Errorf("read profile: a sample must have %d values, got %d", len(m.types), len(s.values))
		}
		name := m.text(m.names[m.leaves[s.leaf]])
		if name == "" {
			name = "(unknown)"
		}
		used := time.Duration(s.values[at])
		p.Self[name] += used
		p.Total += used
	}
	return p, nil
}

// field is one field of a message: a number, or bytes.
type field struct {
	number protowire.Number
	value  uint64
	data   []byte
}

// fields calls do with each field of a message.
func fields(data []byte, do func(field) error) error {
	for len(data) > 0 {
		number, kind, n := protowire.ConsumeTag(data)
		if n < 0 {
			return protowire.ParseError(n)
		}
		data = data[n:]
		f := field{number: number}
		switch kind {
		case protowire.VarintType:
			f.value, n = protowire.ConsumeVarint(data)
		case protowire.BytesType:
			f.data, n = protowire.ConsumeBytes(data)
		default:
			n = protowire.ConsumeFieldValue(number, kind, data)
		}
		if n < 0 {
			return protowire.ParseError(n)
		}
		data = data[n:]
		if err := do(f); err != nil {
			return err
		}
	}
	return nil
}

// numbers appends the numbers of a repeated field, packed or one of them.
func (f field) numbers(list []uint64) ([]uint64, error) {
	if f.data == nil {
		return append(list, f.value), nil
	}
	for rest := f.data; len(rest) > 0; {
		v, n := protowire.ConsumeVarint(rest)
		if n < 0 {
			return list, protowire.ParseError(n)
		}
		list, rest = append(list, v), rest[n:]
	}
	return list, nil
}
