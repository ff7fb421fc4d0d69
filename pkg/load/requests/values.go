package requests

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"

	"github.com/coreos/dbtester/pkg/database"
)

// A value of at least minChecked bytes is
//
//	number    8 bytes, little endian: the request that wrote it, negative for
//	          preloaded keys
//	random    a function of seed, key and number
//	checksum  4 bytes, little endian: CRC-32C of seed, key and all bytes before it
//
// so that a reader can check every byte at little cost, and can recompute the value. A
// shorter value is random bytes that depend only on seed and key, and is recomputed for
// each check.
const (
	valueHeader   = 8
	valueChecksum = 4
	minChecked    = 2 * valueHeader
)

// LeastNumbered is the size in bytes of the smallest value that holds a request number.
const LeastNumbered = minChecked

// castagnoli is the polynomial for which processors have an instruction: 1 KiB takes
// about 50 ns, a quarter of the time to make the value.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Writer is the request that wrote a value. It is not known for a wrong value, or one too short
// for a number.
type Writer struct {
	Number int64
	Known  bool
}

// AppendValue appends the value that a request writes, if it writes a value.
func (g *Sequence) AppendValue(dst []byte, r Request) []byte {
	if !g.sends[r.Op] {
		return dst
	}
	return g.appendValue(dst, r.Key, r.Number)
}

// Check returns an error if a value that a request read was not written to its key. It checks the
// length and the content of every value, by checksum if the value has one, and compares one in a
// thousand byte by byte. Scratch is a buffer to compute in; it is returned grown.
func (g *Sequence) Check(scratch, value []byte, r Request) (grown []byte, by Writer, err error) {
	return g.verify(scratch, value, r.Key, g.verifies(r.Number))
}

// CheckKey returns an error unless a load with this seed and these sizes wrote a value to a key.
func (g *Sequence) CheckKey(value []byte, key int64) (Writer, error) {
	_, by, err := g.verify(nil, value, key, true)
	return by, err
}

// CheckRange returns an error if a range read the wrong number of keys or value bytes.
func (g *Sequence) CheckRange(r Request, keys int, size int64) error {
	return g.verifyRange(r.Key, keys, size)
}

// appendValue appends the value that request number writes to key.
func (g *Sequence) appendValue(dst []byte, key, number int64) []byte {
	size := g.valueSize(number)
	if size < minChecked {
		return appendRandom(dst, g.seed^Mix64(uint64(key)), 0, size)
	}
	start := len(dst)
	dst = binary.LittleEndian.AppendUint64(dst, uint64(number))
	dst = appendRandom(dst, g.seed^Mix64(uint64(key)), number, size-valueHeader-valueChecksum)
	return binary.LittleEndian.AppendUint32(dst, g.checksum(dst[start:], key))
}

// checksum returns the checksum over the other bytes of a value. Equal bytes under two keys below
// 1<<32 always have different checksums: CRC maps its start value one to one.
func (g *Sequence) checksum(value []byte, key int64) uint32 {
	start := uint32(Mix64(g.seed)) ^ uint32(key) ^ uint32(Mix64(uint64(key)>>32))
	return crc32.Update(start, castagnoli, value)
}

// valueSize returns the size in bytes of the value that a request writes.
func (g *Sequence) valueSize(number int64) int {
	if g.load.ValueSizeMax <= g.load.ValueSize {
		return g.load.ValueSize
	}
	return g.sizes.Size(Mix64(g.seed ^ Mix64(uint64(number)+2)))
}

// verify checks a value read from key: its length, and its content by its checksum, or byte by
// byte if whole is set or the value has no checksum. Scratch is a buffer to compute in; it is
// returned grown.
func (g *Sequence) verify(scratch, value []byte, key int64, whole bool) (grown []byte, by Writer, err error) {
	if len(value) >= minChecked {
		by = Writer{Number: int64(binary.LittleEndian.Uint64(value)), Known: true}
	}
	if want := g.valueSize(by.Number); len(value) != want {
		return scratch, Writer{}, wrongValue(fmt.Errorf("read %d bytes, want %d", len(value), want))
	}
	if by.Known {
		content := value[:len(value)-valueChecksum]
		if binary.LittleEndian.Uint32(value[len(content):]) != g.checksum(content, key) {
			return scratch, Writer{}, wrongValue(errAltered)
		}
		if !whole {
			return scratch, by, nil
		}
	}
	scratch = g.appendValue(scratch[:0], key, by.Number)
	if !bytes.Equal(scratch, value) {
		return scratch, Writer{}, wrongValue(errAltered)
	}
	return scratch, by, nil
}

var errAltered = errors.New("the value read was altered, or not written to this key")

// verifyEvery is the number of reads, on average, for each read whose value is compared byte by
// byte, in case a wrong value has a right checksum.
const verifyEvery = 1000

// verifies reports whether a request compares the value it reads byte by byte. It draws at
// random, because every thousandth request would always read the same key if keys are
// taken in turn and their number divides a thousand.
func (g *Sequence) verifies(number int64) bool {
	return Mix64(g.seed^Mix64(uint64(number)+3))%verifyEvery == 0
}

// verifyRange checks the counts that a range from key on read: keys, and bytes in their values. All
// keys that existed before the load are there unless the load deletes; others may have been created
// behind them.
func (g *Sequence) verifyRange(key int64, keys int, size int64) error {
	exist := g.load.Keys
	if g.load.SameKey {
		exist = 1
	}
	how := g.load.RangeMode
	most, least := int64(math.MaxInt64), int64(0)
	if how.Bounded() {
		most = int64(g.load.RangeLimit)
	}
	if !g.deletes {
		least = max(min(most, exist-key), 0)
	}
	if n := int64(keys); n < least || n > most {
		want := fmt.Sprintf("%d to %d", least, most)
		if !how.Bounded() {
			want = fmt.Sprintf("%d or more", least)
		}
		return wrongValue(fmt.Errorf("read %d keys, want %s", keys, want))
	}
	if !how.Values() {
		if size != 0 {
			return wrongValue(fmt.Errorf("read %d bytes of values, want none", size))
		}
		return nil
	}
	if g.firstKey > 0 {
		return nil // keys from an earlier load may lie between, with other value sizes
	}
	low, high := int64(g.load.ValueSize), int64(g.load.LargestValue())
	if size < int64(keys)*low || size > int64(keys)*high {
		return wrongValue(fmt.Errorf("read %d bytes in %d keys, want %d to %d in each", size, keys, low, high))
	}
	return nil
}

func wrongValue(err error) error { return database.NotApplied(database.ClassWrongValue, err) }

// appendRandom appends size incompressible bytes, a function of seed and number.
//
// The generator is SplitMix64 (Steele, Lea and Flood, "Fast splittable
// pseudorandom number generators", OOPSLA 2014), started from a mix of both.
func appendRandom(dst []byte, seed uint64, number int64, size int) []byte {
	state := Mix64(seed ^ Mix64(uint64(number)+golden))
	for ; size >= 8; size -= 8 {
		state += golden
		dst = binary.LittleEndian.AppendUint64(dst, Mix64(state))
	}
	if size > 0 {
		state += golden
		var last [8]byte
		binary.LittleEndian.PutUint64(last[:], Mix64(state))
		dst = append(dst, last[:size]...)
	}
	return dst
}
