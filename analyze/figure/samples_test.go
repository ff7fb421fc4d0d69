package figure

import (
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
)

// noise makes reproducible data.
func noise(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }

var databases = []string{"etcd v3.6.16", "ZooKeeper 3.9.5", "Consul 1.22.1"}

// overTime is the latency of three databases over some seconds.
func overTime(seconds int) Figure {
	f := Figure{
		Name: "AVG-LATENCY-MS", Title: "Write 1M keys, 256-byte key, 1 KB value: latency over time",
		Subtitle: "Mean and 99th percentile of each second, 3 members, 100 clients",
		X:        Axis{Label: "Time", Unit: "s"}, Y: Axis{Label: "Latency", Unit: "ms"},
		Notes: []string{"Shared host: 3 members and the client share 2 CPUs and one disk.", "Requests: etcd 601,204, ZooKeeper 498,411, Consul 120,007."},
	}
	for n, name := range databases {
		r := noise(uint64(n))
		var x, mean, p99 []float64
		for i := range seconds {
			level := []float64{8, 12, 31}[n] * (1 + 0.3*math.Sin(float64(i)/9+float64(n)))
			x = append(x, float64(i+1))
			mean = append(mean, level*(0.9+0.2*r.Float64()))
			p99 = append(p99, level*(1.8+r.ExpFloat64()))
		}
		if n == 1 && seconds > 50 {
			for i := 30; i < 34; i++ {
				mean[i], p99[i] = math.NaN(), math.NaN()
			}
		}
		f.Series = append(f.Series,
			Series{Name: name + " mean", Key: n + 1, X: x, Y: mean},
			Series{Name: name + " p99", Key: n + 1, Dash: Dashed, Thin: true, X: x, Y: p99})
	}
	return f
}

// stepped is a run with 1, 10 and 100 clients with bands.
func stepped() Figure {
	f := Figure{
		Name: "AVG-THROUGHPUT", Title: "Throughput with 1, 10 and 100 clients",
		X: Axis{Label: "Time", Unit: "s"}, Y: Axis{Label: "Throughput", Unit: "requests/s"},
		Band:  "min to max of 5 trials",
		Steps: []Boundary{{X: 0, Label: "1 client"}, {X: 20, Label: "10 clients"}, {X: 40, Label: "100 clients"}},
	}
	for n, name := range databases {
		r := noise(uint64(n))
		s := Series{Name: name, Key: n + 1}
		for i := range 60 {
			level := []float64{900, 700, 300}[n] * []float64{1, 8, 41}[i/20]
			y := level * (0.95 + 0.1*r.Float64())
			s.X = append(s.X, float64(i))
			s.Y = append(s.Y, y)
			s.Low = append(s.Low, y*0.8)
			s.High = append(s.High, y*1.15)
		}
		f.Series = append(f.Series, s)
	}
	return f
}

// long is a run with 3,600 points per database, with bands.
func long(bands bool) Figure {
	f := Figure{
		Name: "AVG-CPU", Title: "CPU of the servers over an hour", X: Axis{Label: "Time", Unit: "s"}, Y: Axis{Label: "CPU", Unit: "%"},
	}
	for n, name := range databases {
		r := noise(uint64(n))
		s := Series{Name: name, Key: n + 1}
		for i := range 3600 {
			y := 60 + 70*float64(n) + 15*math.Sin(float64(i)/300) + 12*r.NormFloat64()
			s.X = append(s.X, float64(i))
			s.Y = append(s.Y, max(y, 0))
			if bands {
				s.Low = append(s.Low, max(0, y-20*r.Float64()))
				s.High = append(s.High, y+20*r.Float64())
			}
		}
		f.Series = append(f.Series, s)
	}
	return f
}

// percentiles is the latency distribution, the rarest points uncertain.
func percentiles() Figure {
	f := Figure{
		Name: "LATENCY-PERCENTILES", Kind: Percentiles, Title: "Latency by percentile",
		Subtitle: "All requests of the measured window",
		X:        Axis{Label: "Percentile of requests"}, Y: Axis{Label: "Latency", Unit: "ms"},
		Notes: []string{"Dotted and hollow: fewer than 10/(1-q) samples."},
	}
	for n, name := range databases {
		s := Series{Name: name, Key: n + 1}
		for k := range 41 {
			q := float64(k) / 10
			s.X = append(s.X, 100*(1-math.Pow(10, -q)))
			s.Y = append(s.Y, []float64{2, 3, 9}[n]*math.Exp(q*[]float64{0.7, 0.9, 0.6}[n]))
			s.Uncertain = append(s.Uncertain, n == 2 && q > 3.2)
		}
		f.Series = append(f.Series, s)
	}
	return f
}

// byClients is throughput by client count on two logarithmic axes.
func byClients() Figure {
	f := Figure{
		Name: "AVG-THROUGHPUT-BY-CLIENT-NUM", Kind: Points, Title: "Throughput by number of clients",
		X: Axis{Label: "Clients", Log: true}, Y: Axis{Label: "Throughput", Unit: "requests/s", Log: true},
	}
	for n, name := range databases {
		s := Series{Name: name, Key: n + 1}
		for _, clients := range []float64{1, 10, 50, 100, 300, 500, 700, 1000} {
			s.X = append(s.X, clients)
			s.Y = append(s.Y, []float64{900, 700, 300}[n]*math.Pow(clients, 0.6))
			s.Low = append(s.Low, s.Y[len(s.Y)-1]*0.85)
			s.High = append(s.High, s.Y[len(s.Y)-1]*1.1)
		}
		f.Series = append(f.Series, s)
	}
	f.Band = "min to max of 3 trials"
	return f
}

// network has bars for bytes.
func network() Figure {
	return Figure{
		Name: "NETWORK-TOTALS", Kind: Bars, Title: "Network traffic of the whole run",
		Subtitle:   "Sum over 3 servers, and the client",
		Y:          Axis{Label: "Traffic", Unit: "bytes"},
		Categories: []string{"Servers, received", "Servers, transmitted", "Client, received", "Client, transmitted"},
		Series: []Series{
			{Name: databases[0], Y: []float64{5.1e9, 3.8e9, 0.27e9, 1.4e9}},
			{Name: databases[1], Y: []float64{7.2e9, 5.7e9, 0.35e9, 1.4e9}},
			{Name: databases[2], Y: []float64{11.1e9, 9.6e9, math.NaN(), 1.51e9}},
		},
		Notes: []string{"Shared by 3 members + client: one loopback interface, counted once."},
	}
}

// boxes has latencies by client count, one of them unknown.
func boxes() Figure {
	f := Figure{
		Name: "LATENCY-BOXES", Kind: Bars, Title: "Latency by number of clients", Y: Axis{Label: "Latency", Unit: "ms", Log: true},
		Categories: []string{"1 client", "10 clients", "100 clients"},
	}
	for n, name := range databases {
		s := Series{Name: name, Key: n + 1}
		for i := range f.Categories {
			median := []float64{2, 3, 9}[n] * math.Exp(float64(i))
			s.Y = append(s.Y, median)
			s.Boxes = append(s.Boxes, Box{Least: median / 3, Low: median / 1.5, High: 1.6 * median, P99: 4 * median, Most: 9 * median})
		}
		f.Series = append(f.Series, s)
	}
	f.Series[2].Y[0], f.Series[2].Boxes[0] = math.NaN(), Box{math.NaN(), math.NaN(), math.NaN(), math.NaN(), math.NaN()}
	f.Series[1].Boxes[1].Most = math.NaN()
	return f
}

// everyday are figures as a report has them.
func everyday() []Figure {
	banded := long(true)
	banded.Name = "AVG-CPU-BAND"
	return []Figure{overTime(60), stepped(), banded, percentiles(), byClients(), network(), boxes(), crowded(), heat(60)}
}

// samples are all figures in the tests.
func samples() []Figure {
	linear := byClients()
	linear.Name, linear.X.Log, linear.Y.Log = "BY-CLIENT-LINEAR", false, false
	bytes := overTime(60)
	bytes.Name, bytes.Y, bytes.Title = "BYTES", Axis{Label: "Received", Unit: "bytes/s"}, "Network receive"
	for i := range bytes.Series {
		for j := range bytes.Series[i].Y {
			bytes.Series[i].Y[j] *= 3e6
		}
	}
	logarithmic := overTime(60)
	logarithmic.Name, logarithmic.Y.Log = "LATENCY-LOG", true
	return slices.Concat(everyday(), []Figure{long(false), linear, bytes, logarithmic}, oddities())
}

// crowded has long texts, many series and many steps.
func crowded() Figure {
	f := Figure{
		Name:  "CROWDED",
		Title: "Write 3,000,000 keys with 256-byte keys and 1,024-byte values, then read them linearizably, with between 1 and 1,000 clients, on machines of 16 CPUs and 60 GB of memory",
		X:     Axis{Label: "Cumulative number of keys"}, Y: Axis{Label: "Throughput", Unit: "requests/s"},
		Notes: []string{"A note that is long: " + "the servers had 16 CPUs, 60 GB of memory and a persistent disk of 300 GB, and the client had the same, in one zone, and nothing else ran there."},
	}
	for n := range 10 {
		r := noise(uint64(n))
		s := Series{Name: "database-" + strconv.Itoa(n+1) + " v1." + strconv.Itoa(n) + ".0 with 100 connections"}
		for i := range 100 {
			s.X = append(s.X, float64(i)*30_000)
			s.Y = append(s.Y, 4000*float64(n+1)*(0.97+0.06*r.Float64()))
		}
		f.Series = append(f.Series, s)
	}
	for i := range 15 {
		f.Steps = append(f.Steps, Boundary{X: float64(i) * 200_000, Label: strconv.Itoa(1+i*70) + " clients"})
	}
	for i := range 3 {
		f.Steps = append(f.Steps, Boundary{X: float64(i)*1_000_000 + 70_000, Label: "etcd step " + strconv.Itoa(i), Key: 1})
	}
	return f
}

// oddities are data that often break plots.
func oddities() []Figure {
	x := Axis{Label: "Time", Unit: "s"}
	y := Axis{Label: "Latency", Unit: "ms"}
	nan := math.NaN()
	one := func(name string, s Series) Figure {
		s.Name = "etcd"
		return Figure{Name: name, Title: name, X: x, Y: y, Series: []Series{s}}
	}
	unlike := one("ODD-LOG-ZERO", Series{X: []float64{1, 2, 3, 4}, Y: []float64{0, 3, -2, 120}})
	unlike.Y.Log = true
	clipped := one("ODD-CLIPPED", Series{X: []float64{0, 1, 2, 3, 4}, Y: []float64{1, 50, 4, 80, 2}, Low: []float64{0, 30, 2, 40, 1}, High: []float64{2, 70, 8, 90, 4}})
	top := 20.0
	clipped.Y.Max = &top
	return []Figure{
		{Name: "ODD-NO-SERIES", Title: "No series at all", X: x, Y: y},
		one("ODD-EMPTY", Series{}),
		one("ODD-ALL-NAN", Series{X: []float64{1, 2, 3}, Y: []float64{nan, nan, nan}}),
		one("ODD-ONE-POINT", Series{X: []float64{5}, Y: []float64{42}}),
		one("ODD-ONE-X", Series{X: []float64{5, 5, 5}, Y: []float64{1, 2, 3}, Low: []float64{0, 1, 2}, High: []float64{2, 3, 4}}),
		one("ODD-HUGE", Series{X: []float64{1, 2, 3}, Y: []float64{1e17, 9e17, math.MaxFloat64}}),
		one("ODD-TINY", Series{X: []float64{1, 2, 3}, Y: []float64{1e-7, 9e-7, 3e-7}}),
		one("ODD-CONSTANT", Series{X: []float64{1, 2, 3}, Y: []float64{7, 7, 7}}),
		one("ODD-ZERO", Series{X: []float64{1, 2, 3}, Y: []float64{0, 0, 0}}),
		one("ODD-NEGATIVE", Series{X: []float64{-3, 2, 3}, Y: []float64{-20, 5, math.Inf(1)}}),
		one("ODD-GAPS", Series{X: []float64{1, 2, 3, 4, 5, 6}, Y: []float64{1, nan, 3, 4, nan, 6}}),
		{Name: "ODD-STAIRS", Kind: Stairs, Title: "Stairs", X: x, Y: Axis{Label: "Clients"}, Series: []Series{{Name: "clients", X: []float64{0, 20, 40, 60}, Y: []float64{1, 10, 100, 100}}}},
		{Name: "ODD-BARS-EMPTY", Kind: Bars, Title: "Bars without data", Y: y, Categories: []string{"a", "b"}, Series: []Series{{Name: "etcd", Y: []float64{nan, nan}}}},
		{Name: "ODD-BARS-NEGATIVE", Kind: Bars, Title: "Bars below 0", Y: y, Categories: []string{"a", "b"}, Series: []Series{{Name: "etcd", Y: []float64{-5, 7}}}},
		unlike, clipped, named("HEAT-LONG", heat(120)), named("ODD-HEAT-ONE", heat(1)),
		{Name: "ODD-HEAT-EMPTY", Kind: Heat, Title: "A grid without counts", X: x, Y: y, Grid: &Grid{}},
		{Name: "ODD-HEAT-ZERO", Kind: Heat, Title: "A row that a logarithm has no place for", X: x, Y: Axis{Log: true},
			Grid: &Grid{X: []float64{0, 1}, Y: []float64{0, 1, 2}, Counts: [][]float64{{3, 4}}, Of: "requests"}},
	}
}

func named(name string, f Figure) Figure {
	f.Name = name
	return f
}
