package consistency

// open adds the write to a new zone if its outcome is unknown.
func (j *Judge) open(k *key, z *zone) {
	if k.odd().unknowns == 0 {
		return
	}
	at := valueOf{k.number, z.number}
	if o, found := j.unknown[at]; found {
		delete(j.unknown, at)
		k.rare.unknowns--
		z.wrote(&o)
	}
}

// keep remembers a write that did not end ok and that was not read.
func (j *Judge) keep(k *key, group []touch) {
	o := &j.batch[group[0].op]
	if group[0].role == failedToWriteIt {
		j.failed.add(o)
		return
	}
	j.remember(k, *o)
}

// remember keeps a write of unknown outcome until it is read, if there is room.
func (j *Judge) remember(k *key, o Op) {
	if len(j.unknown) >= j.opts.MostUnknown {
		k.made().forgot = true
		return
	}
	j.unknown[valueOf{k.number, o.Request}] = o
	k.made().unknowns++
}
