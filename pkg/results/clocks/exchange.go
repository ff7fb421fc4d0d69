// Package clocks compares member clocks with the client clock: time stamp exchanges, their record
// over time, and times converted from one clock to another.
package clocks

import (
	"time"

	"github.com/coreos/dbtester/pkg/files/linefile"
	"github.com/coreos/dbtester/pkg/results/declared"
)

// Exchange records four time stamps exchanged with a member's agent, as in NTP (RFC 5905, section
// 8): one row of clock.csv.
type Exchange struct {
	// UnixNano is when the answer arrived, in the client clock.
	UnixNano int64
	// Member is an index as in the manifest, from 0.
	Member int
	// OffsetNS is the lead of the agent clock over the client clock. The true offset is at most
	// ErrorNS away, because neither direction takes less than no time.
	OffsetNS, ErrorNS int64
	// RoundTripNS is the time that request and answer were in transit.
	RoundTripNS int64
}

// NewExchange returns the exchange with four time stamps in unix nanoseconds: sent and back by the
// client clock, received and replied by the agent clock. A round trip below 0 is impossible, so its
// size counts as uncertainty, like that of a real round trip.
func NewExchange(member int, sent, received, replied, back int64) Exchange {
	trip := (back - sent) - (replied - received)
	bound := trip
	if bound < 0 {
		bound = -bound
	}
	return Exchange{
		UnixNano: back, Member: member, OffsetNS: ((received - sent) + (replied - back)) / 2,
		ErrorNS: bound/2 + bound%2, RoundTripNS: trip,
	}
}

// least and most bound the agent's true offset, in nanoseconds.
func (e Exchange) least() int64 { return e.OffsetNS - e.ErrorNS }
func (e Exchange) most() int64  { return e.OffsetNS + e.ErrorNS }

// Estimate sums up the exchanges with one member in constant memory. Its zero value has no
// exchanges. It is not safe for concurrent use.
type Estimate struct {
	best Exchange
	n    int
	// least is the largest lower bound, most the smallest upper one. A clock that does not move
	// has its offset between them.
	least, most int64
}

// Add adds an exchange.
func (s *Estimate) Add(e Exchange) {
	if s.n == 0 || e.ErrorNS < s.best.ErrorNS {
		s.best = e
	}
	if s.n == 0 || e.least() > s.least {
		s.least = e.least()
	}
	if s.n == 0 || e.most() < s.most {
		s.most = e.most()
	}
	s.n++
}

// N returns the number of exchanges.
func (s *Estimate) N() int { return s.n }

// Best returns the exchange with the shortest round trip.
func (s *Estimate) Best() Exchange { return s.best }

// Moved returns the distance that the offset surely moved between two exchanges, beyond their
// errors. It is 0 if one offset fits all exchanges.
func (s *Estimate) Moved() time.Duration { return time.Duration(max(s.least-s.most, 0)) }

// Furthest returns the distance that the clock surely was from the client clock at some time: the
// largest not within the error of its exchange.
func (s *Estimate) Furthest() time.Duration { return time.Duration(max(s.least, -s.most, 0)) }

// columns declares clock.csv, in column order. Each row read must name a member below members.
func columns(members int) []linefile.Column[Exchange] {
	return []linefile.Column[Exchange]{
		linefile.IntColumn("unix_ns", func(e *Exchange) *int64 { return &e.UnixNano }),
		linefile.IntColumn("member", func(e *Exchange) *int { return &e.Member }).Checked(func(e *Exchange) error { return declared.CheckMember(e.Member, 0, members) }),
		linefile.IntColumn("offset_ns", func(e *Exchange) *int64 { return &e.OffsetNS }),
		linefile.IntColumn("error_ns", func(e *Exchange) *int64 { return &e.ErrorNS }),
		linefile.IntColumn("round_trip_ns", func(e *Exchange) *int64 { return &e.RoundTripNS }),
	}
}

// Writer appends to clock.csv. It is not safe for concurrent use.
type Writer struct {
	table linefile.TableWriter[Exchange]
}

// NewWriter opens or creates the file; a new one gets its header at once.
func NewWriter(path string) (*Writer, error) {
	table, err := linefile.NewTableWriter(path, columns(0))
	if err != nil {
		return nil, err
	}
	return &Writer{table}, nil
}

// Write appends a row and returns when the kernel has it. After an error every Write
// returns that error.
func (w *Writer) Write(e Exchange) error { return w.table.Write([]Exchange{e}) }

// Close closes the file.
func (w *Writer) Close() error { return w.table.Close() }

// Read reads the clock.csv of a run; a row for a member beyond members is an error. The rows before
// an error are good; the error matches [linefile.ErrTruncated] if only an incomplete last line was
// dropped.
func Read(path string, members int) ([]Exchange, error) {
	return linefile.ReadTable(path, columns(members), linefile.ZeroRows[Exchange])
}
