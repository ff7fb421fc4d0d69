package consistency

// collect lists the values that the key's requests touched, by number.
func (j *Judge) collect(k *key, head int32) {
	j.touches, j.swaps.replaced = j.touches[:0], j.swaps.replaced[:0]
	for n := head; n != none; n = j.next[n] {
		switch o := &j.batch[n]; {
		case o.Outcome == OK && o.Kind == Write:
			k.wrote = true
			j.touch(o.Request, n, wroteIt)
		case o.Outcome == OK && o.Kind == Read && o.Known && o.Read > NoRequest:
			j.touch(o.Read, n, readIt)
		default:
			j.collectWrite(k, n)
			j.collectRead(k, n)
		}
	}
	j.sorter.sort(j.touches)
}

func (j *Judge) touch(number int64, op int32, r role) {
	j.touches = append(j.touches, touch{number: number, op: op, role: r})
}

func (j *Judge) collectWrite(k *key, n int32) {
	o := &j.batch[n]
	switch o.Kind {
	case Write, Swap, Guarded:
		switch o.Outcome {
		case OK:
			k.wrote = true
			j.touch(o.Request, n, wroteIt)
			if o.Kind == Guarded && o.Known && !j.opts.Weaker {
				j.swaps.add(o)
			}
		case Unknown:
			k.wrote = true
			j.touch(o.Request, n, mayHaveWrittenIt)
		default:
			j.touch(o.Request, n, failedToWriteIt)
		}
	case Delete:
		switch o.Outcome {
		case OK:
			k.wrote = true
			k.made().last = max(k.made().last, o.End)
			j.touch(o.Request, n, deletedIt)
		case Unknown:
			k.made().last = never
		}
	}
}

func (j *Judge) collectRead(k *key, n int32) {
	o := &j.batch[n]
	switch {
	case o.Outcome == NotFound && j.opts.Deletes:
		if !j.opts.Weaker {
			k.made().absent = append(k.made().absent, *o)
		}
	case o.Outcome == NotFound:
		j.touch(Absent, n, readIt)
	case !o.Known || o.Kind != Read && o.Kind != Swap:
	case o.Kind == Swap && o.Outcome == Unknown: // it may read the compared value later
	case o.Read <= NoRequest && j.opts.Weaker:
		j.second.Unrecognised++
	case o.Read <= NoRequest: // no request has such a number
		z := newZone(o.Read)
		z.read(o)
		j.violate(k, Phantom, &z, nil, 1)
	case o.Kind == Swap && o.Outcome == OK:
		j.touch(o.Read, n, tookIt)
	default:
		j.touch(o.Read, n, readIt)
	}
}
