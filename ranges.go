package dbtester

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// DataPoint holds the requests in one second. It converts from and to the DataPoint in etcd's
// package report.
type DataPoint struct {
	// Timestamp is a unix second.
	Timestamp int64
	// The latencies cover the requests that ended ok in the second.
	MinLatency, AvgLatency, MaxLatency time.Duration
	// ThroughPut counts those requests.
	ThroughPut int64
}

// TimeSeries holds the requests in a load by second, in any order. A second in which the client
// count changed may have two points.
type TimeSeries []DataPoint

// CumulativeKeyNumToAvgLatency holds the latencies of writes to a key range. The higher
// CumulativeKeyNum is, the later the range was reached.
type CumulativeKeyNumToAvgLatency struct {
	// CumulativeKeyNum is the number of the last key in the range, counted from 1.
	CumulativeKeyNum int64
	// MinLatency and MaxLatency are the extremes over the seconds in which keys in the range were
	// written. AvgLatency is the mean over these seconds, weighted by their key counts.
	MinLatency, AvgLatency, MaxLatency time.Duration
}

// CumulativeKeyNumToAvgLatencySlice implements [sort.Interface] by CumulativeKeyNum.
type CumulativeKeyNumToAvgLatencySlice []CumulativeKeyNumToAvgLatency

func (s CumulativeKeyNumToAvgLatencySlice) Len() int      { return len(s) }
func (s CumulativeKeyNumToAvgLatencySlice) Swap(i, j int) { s[i], s[j] = s[j], s[i] }
func (s CumulativeKeyNumToAvgLatencySlice) Less(i, j int) bool {
	return s[i].CumulativeKeyNum < s[j].CumulativeKeyNum
}

// CumulativeKeyNumAndOtherData holds what the servers used in a second, or while a key range was
// written.
type CumulativeKeyNumAndOtherData struct {
	// UnixSecond is the second or, for a range, the second in which its last key was written.
	UnixSecond int64
	// Throughput counts the requests that ended ok in the second, or the keys in the range.
	Throughput int64
	// CumulativeKeyNum is the number of the last key in a range, counted from 1. In the input to
	// [FindRangesData] it has no meaning.
	CumulativeKeyNum int64
	// Memory is in megabytes. A range has the extremes and the mean over its seconds.
	MinMemoryMB, AvgMemoryMB, MaxMemoryMB float64
	// The deltas are in bytes per second; a range has the mean over its seconds.
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

// FindRangesLatency returns the latencies by ranges of unit keys, in key order: it sorts the points
// by second and counts their requests. Ranges that were never reached are left out. The last range
// ends with the last key, or with totalRequests if that is positive and less. With a unit below 1
// there are no ranges. The data is not changed.
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

// FindRangesData returns what the servers used by ranges of unit keys, as [FindRangesLatency]
// returns latencies. A second without requests belongs to the range with the next key; seconds
// after the last key belong to no range.
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

// keyRange is a key range and the points in which its keys were written.
type keyRange struct {
	last  int64 // number of the last key
	parts []part
}

// part counts the keys in a range that one point wrote; 0 for a point without requests before a
// later key in the range.
type part struct {
	point int
	keys  int64
}

// keyRanges divides the keys that points wrote into ranges with unit keys each. The last range may
// be shorter. No key is beyond total unless total is below 1.
func keyRanges(counts []int64, unit, total int64) []keyRange {
	if unit < 1 {
		return nil
	}
	if total < 1 {
		total = math.MaxInt64
	}
	var list []keyRange
	var parts []part // in the range that is not yet full
	var reached int64
	used := 0 // parts up to the last with keys
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
