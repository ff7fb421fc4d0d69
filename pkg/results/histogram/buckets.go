package histogram

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"io"
	"iter"
	"math"
	"slices"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/coreos/dbtester/pkg/files/linefile"
)

// Buckets are the counts of a histogram by value, in rising order, without the empty ones. Each
// value is the least in its bucket.
type Buckets []Bucket

// Bucket counts the values in one bucket.
type Bucket struct{ Value, Count int64 }

// Total returns the number of values, at most [math.MaxInt64].
func (b Buckets) Total() (n int64) {
	for _, one := range b {
		if n > math.MaxInt64-one.Count {
			return math.MaxInt64
		}
		n += one.Count
	}
	return n
}

// AddTo adds the counts to a histogram, and returns the number over its maximum.
func (b Buckets) AddTo(h *hdrhistogram.Histogram) (dropped int64) {
	for _, one := range b {
		if err := h.RecordValues(one.Value, one.Count); err != nil {
			dropped += one.Count
		}
	}
	return dropped
}

// BucketsOf returns a histogram's buckets.
func BucketsOf(h *hdrhistogram.Histogram) (b Buckets) {
	for _, bar := range h.Distribution() {
		if bar.Count > 0 {
			b = append(b, Bucket{bar.From, bar.Count})
		}
	}
	return b
}

// PackedBuckets are buckets with the shape of [New] in a fifth of the memory.
type PackedBuckets []byte

// Pack returns the buckets as bytes: for each bucket its distance from the one before and
// its count, as variable-length integers.
func (b Buckets) Pack() PackedBuckets {
	packed, last := make([]byte, 0, 3*len(b)), 0
	for _, one := range b {
		i := bucketIndex(one.Value)
		packed = binary.AppendUvarint(binary.AppendUvarint(packed, uint64(i-last)), uint64(one.Count))
		last = i
	}
	return slices.Clip(packed)
}

// Buckets inverts [Buckets.Pack].
func (p PackedBuckets) Buckets() (b Buckets) {
	ends := 0 // numbers, two a bucket
	for _, one := range p {
		if one < 0x80 {
			ends++
		}
	}
	b = slices.Grow(b, ends/2)
	index := 0
	for len(p) > 0 {
		step, n := binary.Uvarint(p)
		count, m := binary.Uvarint(p[n:])
		index, p = index+int(step), p[n+m:]
		b = append(b, Bucket{bucketValue(index), int64(count)})
	}
	return b
}

// Sum adds up buckets shaped like [New]. Values over [MaxLatency] are left out. It is not safe
// for concurrent use.
type Sum struct {
	counts []int64
	low    int // bounds the buckets in use; high is one beyond them
	high   int
}

// Add adds counts by bucket.
func (s *Sum) Add(b Buckets) {
	for _, one := range b {
		s.add(one)
	}
}

// Record adds one value, which is not negative.
func (s *Sum) Record(value int64) { s.add(Bucket{value, 1}) }

func (s *Sum) add(b Bucket) {
	if s.counts == nil {
		s.counts = make([]int64, bucketIndex(int64(MaxLatency))+1)
		s.low = len(s.counts)
	}
	if i := bucketIndex(b.Value); i < len(s.counts) {
		s.counts[i] += b.Count
		s.low, s.high = min(s.low, i), max(s.high, i+1)
	}
}

// Buckets returns the sum, nil if it is empty.
func (s *Sum) Buckets() (b Buckets) {
	n := 0
	for i := s.low; i < s.high; i++ {
		if s.counts[i] > 0 {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	b = make(Buckets, 0, n)
	for i := s.low; i < s.high; i++ {
		if s.counts[i] > 0 {
			b = append(b, Bucket{bucketValue(i), s.counts[i]})
		}
	}
	return b
}

// Take returns [Sum.Buckets], and empties the sum.
func (s *Sum) Take() Buckets {
	b := s.Buckets()
	if s.low < s.high {
		clear(s.counts[s.low:s.high])
	}
	s.low, s.high = len(s.counts), 0
	return b
}

// each passes each bucket to yield until that returns false.
func (b Buckets) each(yield func(value, count int64) bool) {
	for _, one := range b {
		if !yield(one.Value, one.Count) {
			return
		}
	}
}

// Min and Max are the least and the greatest value that the buckets may hold, 0 without buckets.
// The buckets are shaped like [New].
func (b Buckets) Min() int64 {
	if len(b) == 0 {
		return 0
	}
	return b[0].Value
}

// Max returns the greatest value, as Min the least.
func (b Buckets) Max() int64 {
	if len(b) == 0 {
		return 0
	}
	return b[len(b)-1].last()
}

// last returns the greatest value in a bucket.
func (b Bucket) last() int64 { return b.Value + BucketWidth(b.Value) - 1 }

// Quantile returns [Quantile] for the histogram.
func (b Buckets) Quantile(q float64) int64 {
	rank := Rank(q, b.Total())
	for _, one := range b {
		if rank -= one.Count; rank <= 0 {
			return one.last()
		}
	}
	return 0
}

// BucketLine is a log line.
type BucketLine struct {
	Start  time.Time
	Length time.Duration
	// Tag is "" for a line without one.
	Tag string
	// Buckets are valid until the next line is read.
	Buckets Buckets
}

// ReadBuckets reads a log as [ReadLog] does, with the same errors, but allocates almost
// nothing for a line: a histogram takes 221 KB, mostly for empty buckets.
func ReadBuckets(path string) iter.Seq2[BucketLine, error] {
	return func(yield func(BucketLine, error) bool) {
		var d decoder
		for line, err := range linefile.Lines(path) {
			if err != nil {
				yield(BucketLine{}, err)
				return
			}
			if line.Text == "" || line.Text[0] == '#' || line.Text[0] == '"' {
				continue
			}
			l, encoded, problem := parseFields(line.Text)
			if problem == nil {
				l.Buckets, problem = d.decode(encoded)
			}
			if problem != nil {
				problem.File, problem.Line = path, line.Number
				yield(BucketLine{}, problem)
				return
			}
			if !yield(l, nil) {
				return
			}
		}
	}
}

// decoder decodes one histogram after another in the same memory. It is not safe for
// concurrent use.
type decoder struct {
	packed   []byte
	source   bytes.Reader
	inflater io.ReadCloser
	plain    []byte
	buckets  Buckets
}

// decode decodes histograms shaped like [New] by itself, and leaves broken ones and other shapes
// to the library.
func (d *decoder) decode(text string) (Buckets, *linefile.SyntaxError) {
	if d.own(text) {
		return d.buckets, nil
	}
	h, err := decoded(text)
	if err != nil {
		return nil, err
	}
	return BucketsOf(h), nil
}

// own fills d.buckets, and reports whether the histogram has our shape and is whole.
func (d *decoder) own(text string) bool {
	if n := base64.StdEncoding.DecodedLen(len(text)); cap(d.packed) < n {
		d.packed = make([]byte, 2*n)
	}
	n, err := base64.StdEncoding.Decode(d.packed[:cap(d.packed)], []byte(text))
	if err != nil || n < 8 || binary.BigEndian.Uint32(d.packed) != compressedCookie || int(binary.BigEndian.Uint32(d.packed[4:])) != n-8 {
		return false
	}
	if !d.inflate(d.packed[8:n]) {
		return false
	}
	b := d.plain
	if len(b) < encodedHeaderSize || binary.BigEndian.Uint32(b) != encodingCookie || binary.BigEndian.Uint32(b[8:]) != 0 ||
		binary.BigEndian.Uint32(b[12:]) != Digits || binary.BigEndian.Uint64(b[16:]) != 1 ||
		binary.BigEndian.Uint64(b[24:]) != uint64(MaxLatency) || int(binary.BigEndian.Uint32(b[4:])) != len(b)-encodedHeaderSize {
		return false
	}
	return d.counts(b[encodedHeaderSize:])
}

// counts reads each count as a variable-length integer; a negative one is the length of an empty
// bucket run.
func (d *decoder) counts(b []byte) bool {
	last := bucketIndex(int64(MaxLatency))
	d.buckets = d.buckets[:0]
	for index := 0; len(b) > 0; {
		count, n := binary.Varint(b)
		if n <= 0 || count < -int64(last)-1 {
			return false
		}
		b = b[n:]
		if count < 0 {
			index -= int(count)
			continue
		}
		if index > last {
			return false
		}
		if count > 0 {
			d.buckets = append(d.buckets, Bucket{bucketValue(index), count})
		}
		index++
	}
	return true
}

// inflate fills d.plain, with the same bound as for the library.
func (d *decoder) inflate(packed []byte) bool {
	d.source.Reset(packed)
	var err error
	if d.inflater == nil {
		d.inflater, err = zlib.NewReader(&d.source)
	} else {
		err = d.inflater.(zlib.Resetter).Reset(&d.source, nil)
	}
	if err != nil {
		d.inflater = nil
		return false
	}
	d.plain = d.plain[:0]
	for {
		if len(d.plain) == cap(d.plain) {
			d.plain = append(d.plain, make([]byte, max(4096, cap(d.plain)))...)[:len(d.plain)]
		}
		n, err := d.inflater.Read(d.plain[len(d.plain):cap(d.plain)])
		d.plain = d.plain[:len(d.plain)+n]
		switch {
		case err == io.EOF:
			return true
		case err != nil || len(d.plain) > maxInflated:
			return false
		}
	}
}
