package load

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/coreos/dbtester/pkg/database"
)

// A value names the request that wrote it, so that whoever reads it can compute
// the rest: the first eight bytes are the request's number, which is negative for
// what was written before the load; what follows is random and depends on seed,
// key and number. Values shorter than twice that depend on seed and key only.
const valueHeader = 8

// appendValue appends the value that request number writes to key.
func (w *workload) appendValue(dst []byte, key, number int64) []byte {
	size := w.valueSize(number)
	if size < 2*valueHeader {
		return appendRandom(dst, w.spec.Seed^mix64(uint64(key)), 0, size)
	}
	dst = binary.LittleEndian.AppendUint64(dst, uint64(number))
	return appendRandom(dst, w.spec.Seed^mix64(uint64(key)), number, size-valueHeader)
}

// valueSize is the size of the value that request number writes.
func (w *workload) valueSize(number int64) int {
	lo, hi := w.spec.ValueSize, w.spec.ValueSizeMax
	if hi <= lo {
		return lo
	}
	return lo + int(below(mix64(w.spec.Seed^mix64(uint64(number)+2)), int64(hi-lo+1)))
}

// verify checks a value that was read from key: the length always, all of it if
// whole is set. Scratch is a buffer to compute in; it is returned grown.
func (w *workload) verify(scratch, value []byte, key int64, whole bool) ([]byte, error) {
	var number int64
	if len(value) >= 2*valueHeader {
		number = int64(binary.LittleEndian.Uint64(value))
	}
	if want := w.valueSize(number); len(value) != want {
		return scratch, wrongValue(fmt.Errorf("read %d bytes, want %d", len(value), want))
	}
	if !whole {
		return scratch, nil
	}
	scratch = w.appendValue(scratch[:0], key, number)
	if !bytes.Equal(scratch, value) {
		return scratch, wrongValue(errors.New("the value read was not written to this key"))
	}
	return scratch, nil
}

// verifyEvery is how often the content of a value that was read is checked, not
// only its length.
const verifyEvery = 1000

// verifies tells whether a request checks the content of what it reads. It draws:
// every thousandth request would read one key only, if keys are taken in turn and
// a thousand is a multiple of how many there are.
func (w *workload) verifies(number int64) bool {
	return mix64(w.spec.Seed^mix64(uint64(number)+3))%verifyEvery == 0
}

// verifyRange checks how many keys a range from key on read, and the bytes of
// their values. Keys that existed before the load are all there unless it
// deletes; others may have been created behind them.
func (w *workload) verifyRange(key int64, keys int, size int64) error {
	exist := w.spec.Keys
	if w.spec.SameKey {
		exist = 1
	}
	most, least := int64(w.spec.RangeLimit), int64(0)
	if !w.deletes {
		least = max(min(most, exist-key), 0)
	}
	if n := int64(keys); n < least || n > most {
		return wrongValue(fmt.Errorf("read %d keys, want %d to %d", keys, least, most))
	}
	if w.spec.FirstKey > 0 {
		return nil // an earlier load's keys may lie between, with values of other sizes
	}
	low, high := int64(w.spec.ValueSize), int64(max(w.spec.ValueSize, w.spec.ValueSizeMax))
	if size < int64(keys)*low || size > int64(keys)*high {
		return wrongValue(fmt.Errorf("read %d bytes in %d keys, want %d to %d in each", size, keys, low, high))
	}
	return nil
}

func wrongValue(err error) error { return database.NotApplied(database.ClassWrongValue, err) }

// appendRandom appends size bytes that no compressor shrinks, a function of seed
// and number.
//
// The generator is SplitMix64 (Steele, Lea and Flood, "Fast splittable
// pseudorandom number generators", OOPSLA 2014), started from a mix of both.
func appendRandom(dst []byte, seed uint64, number int64, size int) []byte {
	state := mix64(seed ^ mix64(uint64(number)+golden))
	for ; size >= 8; size -= 8 {
		state += golden
		dst = binary.LittleEndian.AppendUint64(dst, mix64(state))
	}
	if size > 0 {
		state += golden
		var last [8]byte
		binary.LittleEndian.PutUint64(last[:], mix64(state))
		dst = append(dst, last[:size]...)
	}
	return dst
}

const golden = 0x9e3779b97f4a7c15

// mix64 is SplitMix64's finalizer: every bit of z changes half of the result.
func mix64(z uint64) uint64 {
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb
	return z ^ (z >> 31)
}
