package dbtester_test

import (
	"math/rand/v2"
	"slices"
	"sort"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/coreos/dbtester"
)

const ms = time.Millisecond

// point returns a second in which every request took the same time.
func point(second, requests int64, latency time.Duration) dbtester.DataPoint {
	return dbtester.DataPoint{Timestamp: second, MinLatency: latency, AvgLatency: latency, MaxLatency: latency, ThroughPut: requests}
}

// latencyRow is a key range.
func latencyRow(keys int64, least, mean, most time.Duration) dbtester.CumulativeKeyNumToAvgLatency {
	return dbtester.CumulativeKeyNumToAvgLatency{CumulativeKeyNum: keys, MinLatency: least, AvgLatency: mean, MaxLatency: most}
}

func TestFindRangesLatency(t *testing.T) {
	t.Parallel()
	type rows = dbtester.CumulativeKeyNumToAvgLatencySlice
	for _, tc := range []struct {
		name        string
		data        dbtester.TimeSeries
		unit, total int64
		want        rows
	}{
		{name: "no data", unit: 10, total: 100},
		{name: "nothing was reached", data: dbtester.TimeSeries{point(1, 0, 0)}, unit: 10, total: 100},
		{name: "no unit", data: dbtester.TimeSeries{point(1, 100, ms)}, unit: 0, total: 100},
		{
			name: "a second is several ranges", data: dbtester.TimeSeries{point(1, 30, ms)}, unit: 10, total: 30,
			want: rows{latencyRow(10, ms, ms, ms), latencyRow(20, ms, ms, ms), latencyRow(30, ms, ms, ms)},
		},
		{
			name: "a range has all its seconds, sorted, and its mean is that of its keys",
			data: dbtester.TimeSeries{point(3, 20, 9*ms), point(1, 60, 1*ms), point(2, 20, 5*ms)}, unit: 100,
			want: rows{latencyRow(100, 1*ms, 3400*time.Microsecond, 9*ms)}, // 60·1 + 20·5 + 20·9 ms by 100 keys
		},
		{
			name: "a second belongs to both ranges that it writes", unit: 80,
			data: dbtester.TimeSeries{point(1, 50, 1*ms), point(2, 50, 7*ms), point(3, 60, 3*ms)},
			want: rows{
				latencyRow(80, 1*ms, 3250*time.Microsecond, 7*ms), // 50·1 + 30·7 by 80
				latencyRow(160, 3*ms, 4*ms, 7*ms),                 // 20·7 + 60·3 by 80
			},
		},
		{
			name: "a second without requests has no latency", unit: 10, total: 10,
			data: dbtester.TimeSeries{point(1, 5, 2*ms), point(2, 0, 0), point(3, 5, 4*ms), point(4, 0, 0)},
			want: rows{latencyRow(10, 2*ms, 3*ms, 4*ms)},
		},
		{
			name: "two points of a second, at a change of clients", unit: 10, total: 20,
			data: dbtester.TimeSeries{point(1, 10, 2*ms), point(1, 10, 6*ms)},
			want: rows{latencyRow(10, 2*ms, 2*ms, 2*ms), latencyRow(20, 6*ms, 6*ms, 6*ms)},
		},
		{
			name: "the last range ends with the last key", data: dbtester.TimeSeries{point(1, 25, ms)}, unit: 10, total: 1000,
			want: rows{latencyRow(10, ms, ms, ms), latencyRow(20, ms, ms, ms), latencyRow(25, ms, ms, ms)},
		},
		{
			name: "no range is beyond the total", data: dbtester.TimeSeries{point(1, 25, ms)}, unit: 10, total: 15,
			want: rows{latencyRow(10, ms, ms, ms), latencyRow(15, ms, ms, ms)},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, dbtester.FindRangesLatency(tc.data, tc.unit, tc.total)); diff != "" {
				t.Errorf("ranges (-want +got):\n%s", diff)
			}
		})
	}
}

// Ten seconds with 50 requests each, out of 555 requested ones: 25 ranges with 20 keys were
// reached. The classic library had three more rows, all zeros.
func TestFindRangesUnreached(t *testing.T) {
	t.Parallel()
	var data dbtester.TimeSeries
	for i := range int64(10) {
		data = append(data, point(i+1, 50, time.Duration(i+1)*ms))
	}
	got := dbtester.FindRangesLatency(data, 20, 555)
	if len(got) != 25 || got[0] != latencyRow(20, ms, ms, ms) || got[24] != latencyRow(500, 10*ms, 10*ms, 10*ms) {
		t.Errorf("got %d ranges, want 25 from 20 keys at 1 ms to 500 keys at 10 ms:\n%v", len(got), got)
	}
	for i, row := range got {
		if row.CumulativeKeyNum != int64(20*(i+1)) || row.MinLatency == 0 {
			t.Errorf("range %d is %+v, want %d keys and a latency", i, row, 20*(i+1))
		}
	}
}

func TestFindRangesData(t *testing.T) {
	t.Parallel()
	second := func(unix, requests int64, least, mean, most, read float64) dbtester.CumulativeKeyNumAndOtherData {
		return dbtester.CumulativeKeyNumAndOtherData{
			UnixSecond: unix, Throughput: requests, MinMemoryMB: least, AvgMemoryMB: mean, MaxMemoryMB: most,
			AvgReadBytesDelta: read, AvgWriteBytesDelta: 2 * read,
		}
	}
	data := []dbtester.CumulativeKeyNumAndOtherData{
		second(4, 0, 90, 90, 90, 900), // after the last key
		second(3, 60, 20, 30, 40, 60),
		second(1, 50, 10, 10, 10, 30),
		second(2, 0, 5, 20, 80, 0), // a stall has memory too
	}
	before := slices.Clone(data)
	got := dbtester.FindRangesData(data, 100, 110)
	row := func(keys, unix, count int64, least, mean, most, read float64) dbtester.CumulativeKeyNumAndOtherData {
		r := second(unix, count, least, mean, most, read)
		r.CumulativeKeyNum = keys
		return r
	}
	want := dbtester.CumulativeKeyNumAndOtherDataSlice{row(100, 3, 100, 5, 20, 80, 30), row(110, 3, 10, 20, 30, 40, 60)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("ranges (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before, data); diff != "" {
		t.Errorf("the input was changed:\n%s", diff)
	}
}

// For any data, ranges follow one another without a gap up to the last key, and values lie within
// the extremes of the data.
func TestFindRangesCover(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		var data dbtester.TimeSeries
		var keys int64
		for second := range r.Int64N(20) {
			p := point(second, r.Int64N(50), time.Duration(1+r.Int64N(100))*ms)
			keys += p.ThroughPut
			data = append(data, p)
		}
		unit := 1 + r.Int64N(60)
		var last int64
		for _, row := range dbtester.FindRangesLatency(data, unit, 0) {
			if row.CumulativeKeyNum <= last || row.CumulativeKeyNum > last+unit || row.MinLatency < ms || row.AvgLatency < row.MinLatency || row.AvgLatency > row.MaxLatency {
				t.Errorf("seed %d: range %+v after key %d, want at most %d keys and least <= mean <= most", seed, row, last, unit)
			}
			last = row.CumulativeKeyNum
		}
		if last != keys {
			t.Errorf("seed %d: the ranges end with key %d, want the last one, %d", seed, last, keys)
		}
	}
}

// Slices sort as in the classic library.
func TestSortRanges(t *testing.T) {
	t.Parallel()
	latencies := dbtester.CumulativeKeyNumToAvgLatencySlice{{CumulativeKeyNum: 2}, {CumulativeKeyNum: 1}}
	others := dbtester.CumulativeKeyNumAndOtherDataSlice{{CumulativeKeyNum: 2}, {CumulativeKeyNum: 1}}
	seconds := dbtester.CumulativeKeyNumAndOtherDataByUnixSecond{{UnixSecond: 2}, {UnixSecond: 1}}
	for _, list := range []sort.Interface{latencies, others, seconds} {
		sort.Sort(list)
	}
	if latencies[0].CumulativeKeyNum != 1 || others[0].CumulativeKeyNum != 1 || seconds[0].UnixSecond != 1 {
		t.Errorf("sorted: %v, %v and %v, want 1 first in each", latencies, others, seconds)
	}
}
