package analyze

import (
	"fmt"
	"math"
	"sort"
	"time"

	"github.com/coreos/dbtester/pkg/results"
)

// machine is one sampled machine and process tree, in the client's clock.
type machine struct {
	name    string // "member 1", "client"
	samples []results.Sample
	// missing says why there are no samples.
	missing string
}

// counter reads one cumulative counter of a sample; below 0 is not recorded.
type counter func(results.Sample) float64

// gauge reads one momentary value of a sample; below 0 is not recorded.
type gauge func(results.Sample) float64

// shifted returns samples of a clock that is offset ahead in the client's clock,
// in order.
func shifted(samples []results.Sample, offset int64) []results.Sample {
	out := make([]results.Sample, len(samples))
	for i, s := range samples {
		s.UnixNano -= offset
		out[i] = s
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].UnixNano < out[j].UnixNano })
	return out
}

// closeEnough is how far inside the load a sample may lie and still stand for
// its end: a tenth of the second between samples, in nanoseconds.
const closeEnough = 100e6

// during returns the samples from the last one before the window to the first
// one after it: those whose counters enclose the load.
func (m machine) during(w span) []results.Sample {
	first := sort.Search(len(m.samples), func(i int) bool { return m.samples[i].UnixNano > w.from+closeEnough })
	last := sort.Search(len(m.samples), func(i int) bool { return m.samples[i].UnixNano >= w.to-closeEnough })
	first = max(first-1, 0)
	return m.samples[first:max(first, min(last+1, len(m.samples)))]
}

// within returns the samples that stand for the seconds of the window.
func (m machine) within(w span) []results.Sample {
	if w.empty() {
		return nil
	}
	first, last := floorDiv(w.from, 1e9), floorDiv(w.to-1, 1e9)
	from := sort.Search(len(m.samples), func(i int) bool { return secondOf(m.samples[i]) >= first })
	to := sort.Search(len(m.samples), func(i int) bool { return secondOf(m.samples[i]) > last })
	return m.samples[from:max(from, to)]
}

// growth is how much a counter grew over the window: its last value less its
// first one, so that a missed second is neither lost nor counted twice.
func (m machine) growth(w span, get counter) (value float64, n int64, missing string) {
	samples := m.during(w)
	switch {
	case m.missing != "":
		return 0, 0, m.missing
	case len(samples) < 2:
		return 0, 0, m.name + ": fewer than two samples of the load"
	}
	before := get(samples[0])
	value = -before
	for _, s := range samples {
		now := get(s)
		if now < 0 {
			return 0, 0, m.name + ": not recorded"
		}
		if now < before {
			return 0, 0, m.name + ": the counter started again during the load"
		}
		before = now
	}
	return value + before, int64(len(samples)), ""
}

// peak is the largest value of a gauge in the window.
func (m machine) peak(w span, get gauge) (value float64, n int64, missing string) {
	if m.missing != "" {
		return 0, 0, m.missing
	}
	value = math.Inf(-1)
	for _, s := range m.within(w) {
		if v := get(s); v >= 0 {
			value = max(value, v)
			n++
		}
	}
	if n == 0 {
		return 0, 0, m.name + ": not recorded during the load"
	}
	return value, n, ""
}

// reading is one second of a machine.
type reading struct {
	results.Sample
	// before is the last sample of an earlier second; period the seconds since.
	before results.Sample
	period float64
}

// rate is a counter's growth per second since the reading before, NaN if that is
// not known.
func (r reading) rate(get counter) float64 {
	now, before := get(r.Sample), get(r.before)
	if r.period <= 0 || now < 0 || before < 0 || now < before {
		return math.NaN()
	}
	return (now - before) / r.period
}

// value is a gauge, NaN if it was not recorded.
func (r reading) value(get gauge) float64 {
	if v := get(r.Sample); v >= 0 {
		return v
	}
	return math.NaN()
}

// readings returns one reading per second that was sampled. A sample belongs to
// the second that the middle of its period lies in, because its rates are those
// of the period; of a period in which a sample was missed only the last second
// counts, the others are gaps. Gauges are also those of the second itself.
func (m machine) readings() map[int64]reading {
	out := map[int64]reading{}
	for i, s := range m.samples {
		second := secondOf(s)
		r := reading{Sample: s}
		earlier, again := out[second]
		if again && earlier.period > 0 {
			r.before = earlier.before
		} else if i > 0 {
			r.before = m.samples[i-1]
		}
		if r.before.UnixNano > 0 {
			r.period = float64(s.UnixNano-r.before.UnixNano) / 1e9
		}
		if again {
			r.Join(&earlier.Sample, &r.before, time.Duration(r.period*1e9))
		}
		out[second] = r
		if i > 0 {
			fillShort(out, m.samples[i-1].UnixNano, r)
		}
	}
	m.keepGauges(out)
	return out
}

// fillShort makes a reading count for the second before its own, too, if that has
// none, the reading's period holds the middle of both, and no sample was missed in
// it. Such is the last row of an interpolated file, in which the last two samples
// of a run are one.
func fillShort(out map[int64]reading, begin int64, r reading) {
	second := floorDiv(begin, 1e9)
	if _, known := out[second]; known || begin > second*1e9+5e8 || floorDiv(r.UnixNano, 1e9) != second+1 {
		return
	}
	out[second] = r
}

// keepGauges gives each second the gauges that its reading doesn't know, from the
// last sample taken within that second which does: a gauge is of the moment, not
// of a period. A run's last sample may find the processes ended; the sample
// before, in the same second, did not. A second without a reading gets one of its
// gauges alone.
func (m machine) keepGauges(out map[int64]reading) {
	for i := range m.samples {
		s := &m.samples[len(m.samples)-1-i]
		second := floorDiv(s.UnixNano, 1e9)
		r, known := out[second]
		if known {
			r.KeepGauges(s)
		} else {
			r.Sample = *s
			r.CPUPercent = -1
		}
		out[second] = r
	}
}

// secondOf is the unix second that a sample stands for.
func secondOf(s results.Sample) int64 {
	if s.Classic || s.PeriodNS <= 0 {
		return floorDiv(s.UnixNano, 1e9)
	}
	return floorDiv(s.UnixNano-min(s.PeriodNS, 1e9)/2, 1e9)
}

// What a sample says, as counters and gauges. Fields the classic tool filled
// with something else count as not recorded or are put right.

// cpu is the share of a core over a sample's period, which the first has none of.
func cpu(s results.Sample) float64 {
	if s.PeriodNS == 0 {
		return -1
	}
	return s.CPUPercent
}

func load1(s results.Sample) float64   { return s.Load1 }
func clients(s results.Sample) float64 { return float64(s.Clients) }

// rss is the resident memory in bytes. The classic tool multiplied the kernel's
// kB, which are 1024 bytes, by 1000.
func rss(s results.Sample) float64 {
	if s.Classic && s.RSSBytes > 0 {
		return float64(s.RSSBytes) / 1000 * 1024
	}
	return float64(s.RSSBytes)
}

func rssAnon(s results.Sample) float64 { return recorded(s, s.RSSAnonBytes) }
func rssPeak(s results.Sample) float64 { return recorded(s, s.PeakRSSBytes) }

// voluntary and nonvoluntary are context switches. The classic tool wrote the
// number of threads in both columns.
func voluntary(s results.Sample) float64    { return recorded(s, s.VoluntarySwitches) }
func nonvoluntary(s results.Sample) float64 { return recorded(s, s.NonvoluntarySwitches) }
func ownReads(s results.Sample) float64     { return recorded(s, s.ReadBytes) }
func ownWrites(s results.Sample) float64    { return recorded(s, s.WriteBytes) }

func cpuSeconds(s results.Sample) float64 {
	if s.Classic {
		return -1
	}
	return s.CPUSeconds
}

func reads(s results.Sample) float64          { return float64(s.ReadsCompleted) }
func writes(s results.Sample) float64         { return float64(s.WritesCompleted) }
func sectorsRead(s results.Sample) float64    { return float64(s.SectorsRead) }
func sectorsWritten(s results.Sample) float64 { return float64(s.SectorsWritten) }
func deviceRead(s results.Sample) float64     { return bytesOf(s.SectorsRead) }
func deviceWritten(s results.Sample) float64  { return bytesOf(s.SectorsWritten) }
func received(s results.Sample) float64       { return float64(s.ReceiveBytes) }
func transmitted(s results.Sample) float64    { return float64(s.TransmitBytes) }

func bytesOf(sectors int64) float64 {
	if sectors < 0 {
		return -1
	}
	return float64(sectors) * results.SectorBytes
}

// recorded is v, or -1 when the classic tool has no such field.
func recorded(s results.Sample, v int64) float64 {
	if s.Classic {
		return -1
	}
	return float64(v)
}

// source names the physical thing that a counter counts, "" if that is not
// known.
type source func(results.Sample) string

func disk(s results.Sample) string {
	if s.BootID == "" || s.Device == "" {
		return ""
	}
	return fmt.Sprintf("disk %s of %s", s.Device, s.BootID)
}

func network(s results.Sample) string {
	if s.BootID == "" || s.Interface == "" {
		return ""
	}
	return fmt.Sprintf("interface %s of %s %s", s.Interface, s.BootID, s.NetNS)
}

func host(s results.Sample) string { return s.BootID }

// apart is the source of what belongs to one member alone.
func apart(results.Sample) string { return "" }
