package dbtester

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// DataPoint holds the requests of one second. It converts from and to the DataPoint of
// etcd's package report.
type DataPoint struct {
	// Timestamp is a unix second.
	Timestamp int64
	// The latencies cover the requests that ended ok in the second.
	MinLatency, AvgLatency, MaxLatency time.Duration
	// ThroughPut is the number of those requests.
	ThroughPut int64
}

// TimeSeries holds the requests of a load by second, in any order. A second in which the
// load changed its number of clients may have two points.
type TimeSeries []DataPoint

// CumulativeKeyNumToAvgLatency holds the latencies at which a range of keys was written.
// The higher CumulativeKeyNum is, the later the range was reached.
type CumulativeKeyNumToAvgLatency struct {
	// CumulativeKeyNum is the number of the last key of the range, counted from 1.
	CumulativeKeyNum int64
	// MinLatency and MaxLatency are the extremes of the seconds in which keys of the range
	// were written. AvgLatency is the seconds' mean, weighted by their numbers of keys.
	MinLatency, AvgLatency, MaxLatency time.Duration
}

// CumulativeKeyNumToAvgLatencySlice implements [sort.Interface] by CumulativeKeyNum.
type CumulativeKeyNumToAvgLatencySlice []CumulativeKeyNumToAvgLatency

func (s CumulativeKeyNumToAvgLatencySlice) Len() int      { return len(s) }
func (s CumulativeKeyNumToAvgLatencySlice) Swap(i, j int) { s[i], s[j] = s[j], s[i] }
func (s CumulativeKeyNumToAvgLatencySlice) Less(i, j int) bool {
	return s[i].CumulativeKeyNum < s[j].CumulativeKeyNum
}

// CumulativeKeyNumAndOtherData holds the servers' resource usage in a second, or while a
// range of keys was written.
type CumulativeKeyNumAndOtherData struct {
	// UnixSecond is the second or, for a range, the second in which its last key was written.
	UnixSecond int64
	// Throughput is the number of requests that ended ok in the second, or the number of
	// keys in the range.
	Throughput int64
	// CumulativeKeyNum is the number of the last key of a range, counted from 1. In the
	// input of [FindRangesData] it has no meaning.
	CumulativeKeyNum int64
	// Memory is in megabytes. A range has the extremes and the mean of its seconds.
	MinMemoryMB, AvgMemoryMB, MaxMemoryMB float64
	// The deltas are in bytes per second; a range has the mean of its seconds.
	AvgReadBytesDelta, AvgWriteBytesDelta float64
}

// CumulativeKeyNumAndOtherDataSlice implements [sort.Interface] by CumulativeKeyNum.
type CumulativeKeyNumAndOtherDataSlice []CumulativeKeyNumAndOtherData

func (s CumulativeKeyNumAndOtherDataSlice) Len() int      { return len(s) }
func (s CumulativeKeyNumAndOtherDataSlice) Swap(i, j int) { s[i], s[j] = s[j], s[i] }
func (s CumulativeKeyNumAndOtherDataSlice) Less(i, j int) bool {
	return s[i].CumulativeKeyNum < s[j].CumulativeKeyNum
}

// CumulativeKeyNumAndOtherDataByUnixSecond implements [sort.Interface] by UnixSecond.
type CumulativeKeyNumAndOtherDataByUnixSecond []CumulativeKeyNumAndOtherData

func (s CumulativeKeyNumAndOtherDataByUnixSecond) Len() int      { return len(s) }
func (s CumulativeKeyNumAndOtherDataByUnixSecond) Swap(i, j int) { s[i], s[j] = s[j], s[i] }
func (s CumulativeKeyNumAndOtherDataByUnixSecond) Less(i, j int) bool {
	return s[i].UnixSecond < s[j].UnixSecond
}

// FindRangesLatency returns the latencies by ranges of unit keys, in the order of the
// keys: it sorts the points by second and counts their requests. A range that was never
// reached is left out. The last range ends with the last key, or with totalRequests if
// that is positive and less. A unit below 1 has no ranges. The data is not changed.
func FindRangesLatency(data TimeSeries, unit, totalRequests int64) CumulativeKeyNumToAvgLatencySlice {
	sorted := slices.SortedStableFunc(slices.Values(data), func(a, b DataPoint) int { return cmp.Compare(a.Timestamp, b.Timestamp) })
	counts := make([]int64, len(sorted))
	for i, p := range sorted {
		counts[i] = p.ThroughPut
	}
	var list CumulativeKeyNumToAvgLatencySlice
	for _, r := range keyRanges(counts, unit, totalRequests) {
		row := CumulativeKeyNumToAvgLatency{CumulativeKeyNum: r.last, MinLatency: math.MaxInt64}
		var sum, keys float64
		for _, part := range r.parts {
			if part.keys == 0 { // a second without requests has no latency
				continue
			}
			p := sorted[part.point]
			row.MinLatency, row.MaxLatency = min(row.MinLatency, p.MinLatency), max(row.MaxLatency, p.MaxLatency)
			sum, keys = sum+float64(part.keys)*float64(p.AvgLatency), keys+float64(part.keys)
		}
		row.AvgLatency = time.Duration(math.Round(sum / keys))
		list = append(list, row)
	}
	return list
}

// FindRangesData returns the servers' resource usage by ranges of unit keys, as
// [FindRangesLatency] returns latencies. A second without requests belongs to the range of
// the next key; seconds after the last key belong to none.
func FindRangesData(data []CumulativeKeyNumAndOtherData, unit, totalRequests int64) CumulativeKeyNumAndOtherDataSlice {
	sorted := slices.SortedStableFunc(slices.Values(data), func(a, b CumulativeKeyNumAndOtherData) int { return cmp.Compare(a.UnixSecond, b.UnixSecond) })
	counts := make([]int64, len(sorted))
	for i, d := range sorted {
		counts[i] = d.Throughput
	}
	var list CumulativeKeyNumAndOtherDataSlice
	for _, r := range keyRanges(counts, unit, totalRequests) {
		row := CumulativeKeyNumAndOtherData{CumulativeKeyNum: r.last, MinMemoryMB: math.Inf(1), MaxMemoryMB: math.Inf(-1)}
		for _, part := range r.parts {
			d := sorted[part.point]
			row.UnixSecond = d.UnixSecond
			row.Throughput += part.keys
			row.MinMemoryMB, row.MaxMemoryMB = min(row.MinMemoryMB, d.MinMemoryMB), max(row.MaxMemoryMB, d.MaxMemoryMB)
			row.AvgMemoryMB += d.AvgMemoryMB
			row.AvgReadBytesDelta += d.AvgReadBytesDelta
			row.AvgWriteBytesDelta += d.AvgWriteBytesDelta
		}
		seconds := float64(len(r.parts))
		row.AvgMemoryMB /= seconds
		row.AvgReadBytesDelta /= seconds
		row.AvgWriteBytesDelta /= seconds
		list = append(list, row)
	}
	return list
}

// keyRange is a range of keys and the points in which they were written.
type keyRange struct {
	last  int64 // number of the last key
	parts []part
}

// part is the number of a range's keys that one point wrote; 0 for a point without requests
// before a later key of the range.
type part struct {
	point int
	keys  int64
}

// keyRanges divides the keys that points wrote into ranges of unit keys. The last range may
// be shorter. No key is beyond total unless total is below 1.
func keyRanges(counts []int64, unit, total int64) []keyRange {
	if unit < 1 {
		return nil
	}
	if total < 1 {
		total = math.MaxInt64
	}
	var list []keyRange
	var parts []part // of the range that is not full
	var reached int64
	used := 0 // of parts, up to the last with keys
	for i, n := range counts {
		n = min(max(n, 0), total-reached)
		if n == 0 {
			parts = append(parts, part{i, 0})
		}
		for n > 0 {
			keys := min(n, unit-reached%unit)
			parts = append(parts, part{i, keys})
			used = len(parts)
			reached += keys
			n -= keys
			if reached%unit == 0 {
				list = append(list, keyRange{reached, parts})
				parts, used = nil, 0
			}
		}
	}
	if used > 0 {
		list = append(list, keyRange{reached, parts[:used]})
	}
	return list
}
