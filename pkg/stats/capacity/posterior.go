package capacity

import (
	"math"
	"slices"
)

// Grid: adjacent rates differ by the factor 2^(1/octave), over three octaves.
const (
	octave = 128
	cells  = 3 * octave
	// floor is the probability that a window far above the threshold passes.
	floor = .002
)

// spreads returns the standard deviations of ln threshold between windows. lapses are the shares of
// windows that fail at any rate for unknown reasons. Their prior decreases, because a lapse is an
// easy excuse.
func spreads() []float64 { return []float64{.003, .006, .012, .025, .05, .1, .2} }
func lapses() []float64  { return []float64{0, .02, .05, .1, .2, .35, .5} }
func excuses() []float64 { return []float64{.5, .2, .12, .08, .05, .03, .02} }

// posterior is the distribution over threshold, spread and lapse: weights by cell of ln rate, then
// spread, then lapse. They sum to 1.
type posterior struct {
	base    float64 // ln rate at cell 0
	weights []float64
	phi     [][]float64 // by spread and distance in cells + cells
	spreads []float64
	lapses  []float64
	// from and to enclose the cells with any weight.
	from, to int
}

// newPosterior returns the prior around a rate, which lies at two thirds of the grid.
func newPosterior(around float64) *posterior {
	p := &posterior{base: math.Log(around) - 2*math.Ln2, spreads: spreads(), lapses: lapses(), to: cells}
	for _, sigma := range p.spreads {
		row := make([]float64, 2*cells+1)
		for d := range row {
			row[d] = .5 * math.Erfc(-float64(d-cells)*math.Ln2/octave/sigma/math.Sqrt2)
		}
		p.phi = append(p.phi, row)
	}
	for range cells {
		for range p.spreads {
			for _, w := range excuses() {
				p.weights = append(p.weights, w/float64(cells*len(p.spreads)))
			}
		}
	}
	return p
}

// cell returns the cell nearest to a rate; it may lie outside the grid.
func (p *posterior) cell(rate float64) int {
	return int(math.Round((math.Log(rate) - p.base) * octave / math.Ln2))
}

// rate returns the rate at a cell, which may be fractional.
func (p *posterior) rate(cell float64) float64 { return math.Exp(p.base + cell*math.Ln2/octave) }

// nothing is so small a probability that no search has enough windows to make it matter again.
const nothing = 1e-14

// observe multiplies by a window's likelihood.
func (p *posterior) observe(rate float64, pass bool) {
	at := min(max(p.cell(rate), -cells), 2*cells)
	per := len(p.spreads) * len(p.lapses)
	n, sum := p.from*per, 0.0
	for mu := p.from; mu < p.to; mu++ {
		for j := range p.spreads {
			phi := p.phi[j][min(max(mu-at, -cells), cells)+cells]
			for _, lapse := range p.lapses {
				q := floor + (1-floor-lapse)*phi
				if !pass {
					q = 1 - q
				}
				p.weights[n] *= q
				sum += p.weights[n]
				n++
			}
		}
	}
	from, to := p.to, p.from
	for n := p.from * per; n < p.to*per; n++ {
		if p.weights[n] /= sum; p.weights[n] < nothing {
			p.weights[n] = 0
			continue
		}
		from, to = min(from, n/per), n/per+1
	}
	p.from, p.to = from, to
}

// marginal is the distribution of the rate at which a share of windows passes.
type marginal struct {
	p *posterior
	// below are the probabilities that the cell for the rate is at most index - cells.
	below []float64
	// never is the probability that no rate passes often enough.
	never float64
}

// at returns the distribution of the rate at which this share of windows passes.
func (p *posterior) at(share float64) *marginal {
	m := &marginal{p: p, below: make([]float64, 3*cells)}
	shift := make([]int, 0, len(p.spreads)*len(p.lapses)) // cells below mu
	for _, sigma := range p.spreads {
		for _, lapse := range p.lapses {
			q := (share - floor) / (1 - floor - lapse)
			if q >= 1 {
				shift = append(shift, math.MaxInt)
				continue
			}
			z := math.Sqrt2 * math.Erfinv(2*q-1)
			shift = append(shift, int(math.Round(min(max(z*sigma*octave/math.Ln2, -cells), cells))))
		}
	}
	n := p.from * len(shift)
	for mu := p.from; mu < p.to; mu++ {
		for _, k := range shift {
			w := p.weights[n]
			n++
			switch {
			case w == 0:
			case k == math.MaxInt:
				m.never += w
			default:
				m.below[min(max(mu-k+cells, 0), 3*cells-1)] += w
			}
		}
	}
	for i := 1; i < len(m.below); i++ {
		m.below[i] += m.below[i-1]
	}
	return m
}

// quantile returns a quantile of the rate, given that there is such a rate.
func (m *marginal) quantile(q float64) float64 {
	all := m.below[len(m.below)-1]
	i, _ := slices.BinarySearch(m.below, q*all)
	return m.p.rate(float64(i - cells))
}

// above returns the probability that the rate exceeds the given one, provided that there is such a
// rate.
func (m *marginal) above(rate float64) float64 {
	all := m.below[len(m.below)-1]
	i := min(max(m.p.cell(rate)+cells, 0), len(m.below)-1)
	return 1 - m.below[i]/all
}

// cramped reports whether much of the posterior for the threshold lies at the grid's ends.
func (p *posterior) cramped() bool {
	const margin = octave / 16
	per := len(p.spreads) * len(p.lapses)
	sum := 0.0
	for i := range margin * per {
		sum += p.weights[i] + p.weights[len(p.weights)-1-i]
	}
	return sum > .005
}
