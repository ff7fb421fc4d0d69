package consistency

// findings are the counts of a judge, and the violations that it found.
type findings struct {
	totals, second Counts
	witnesses      []Witness
	most           int     // witnesses
	sample         *sample // nil if no requests are recorded
}

// violate counts a violation and keeps its witness.
func (f *findings) violate(k *key, c Class, older, newer *zone, reads int64) {
	if !f.count(k, c, reads) {
		return
	}
	w := Witness{Class: c, Key: k.number, Older: older.value(), Reads: reads}
	if newer != nil {
		v := newer.value()
		w.Newer = &v
	}
	f.witnesses = append(f.witnesses, w)
}

func (f *findings) doubleSwap(k *key, z *zone, o *Op) {
	if f.count(k, DoubleSwap, 1) {
		f.witnesses = append(f.witnesses, Witness{Class: DoubleSwap, Key: k.number, Older: z.value(), Swaps: []int64{z.taker - 1, o.Request}, Reads: 1})
	}
}

// replacedAgain reports a version that was replaced again.
func (f *findings) replacedAgain(k *key, before Replaced, again *replacement) {
	if again.reported {
		return
	}
	again.reported = true
	if f.count(k, DoubleSwap, 1) {
		f.witnesses = append(f.witnesses, Witness{Class: DoubleSwap, Key: k.number, Replaced: []Replaced{before, again.Replaced}, Reads: 1})
	}
}

// count counts a violation, and reports whether its witness is kept.
func (f *findings) count(k *key, c Class, reads int64) (kept bool) {
	*f.second.of(c) += reads
	f.sample.violated(k.number, reads)
	return len(f.witnesses) < f.most
}
