package consistency

// Second judges requests that ended. This call or an earlier one passed every request that was sent
// before a moment. It returns this call's counts; the batch may be reused.
func (j *Judge) Second(batch []Op, before int64) Counts {
	j.second = Counts{}
	late := j.before
	j.before = max(j.before, before)
	j.sample.add(batch)
	j.begin(batch, late)
	waited := len(j.batch) - len(batch)
	for n := range j.batch {
		if o := &j.batch[n]; n >= waited && !j.tainted && o.usual(late) && uint64(o.Key) < uint64(j.keys.dense) {
			j.second.Judged++
			j.latest = max(j.latest, o.End)
			j.list(int32(n), int32(o.Key))
			continue
		}
		j.take(int32(n), late, n < waited)
	}
	j.second.Operations = int64(len(batch))
	for places := j.touched; len(places) > 0; {
		some := places[:min(together, len(places))]
		places = places[len(some):]
		j.keys.load(some)
		for _, at := range some {
			j.look(at)
		}
	}
	j.revisits.close(j.latest)
	j.second.Keys = int64(j.keys.count)
	j.second.UnknownWrites = int64(len(j.unknown))
	j.totals.Add(&j.second)
	j.sample.close(j.before)
	return j.second
}

// Finish judges the open rest: every request has ended. It returns this call's counts.
func (j *Judge) Finish() Counts { return j.Second(nil, never) }

// look judges the requests in a batch, if any, on the key in a place, and its open values.
func (j *Judge) look(at int32) {
	k, head := j.keys.at(at), j.keys.heads[at]
	j.keys.heads[at] = unlisted
	if !j.plain(k, head) {
		if j.opts.Weaker {
			j.weaker(k, head)
		} else {
			j.register(k, head)
		}
		j.keys.settle(k)
	}
	if j.unfinished && !k.queued {
		k.queued = true
		j.revisits.add(at)
	}
	j.second.OpenZones += int64(len(k.zones))
}

// begin prepares the lists for a batch, and puts the waiting reads in front of it. Open values do
// not change before the moment does.
func (j *Judge) begin(batch []Op, late int64) {
	j.batch, j.touched = batch, j.touched[:0]
	if j.before > late {
		if len(j.waiting) > 0 {
			j.joined = append(append(j.joined[:0], j.waiting...), batch...)
			j.batch, j.waiting = j.joined, j.waiting[:0]
		}
		j.touched = j.revisits.take(j.touched, j.before)
		for _, n := range j.touched {
			j.keys.at(n).queued = false
			j.keys.heads[n] = none
		}
	}
	j.next = growTo(j.next, len(j.batch))
}

func growTo(list []int32, n int) []int32 {
	if cap(list) < n {
		return make([]int32, n, n+n/4)
	}
	return list[:n]
}

// take counts request n in the batch and adds it to the list for its key, if it can be judged. A
// request that waited was counted before.
func (j *Judge) take(n int32, late int64, waited bool) {
	o := &j.batch[n]
	if !waited && !j.admit(o, late) {
		return
	}
	at := j.keys.find(o.Key)
	j.latest = max(j.latest, o.End)
	if at == none {
		j.second.Unjudged++
		return
	}
	k := j.keys.at(at)
	if !waited && o.Sent < late {
		// Its effect on already judged requests is not known any more.
		k.tainted, j.tainted = true, true
	}
	if k.tainted {
		j.second.Unjudged++
		return
	}
	if !waited {
		j.second.Judged++
	}
	j.list(n, at)
}

// list adds request n in the batch to the list for the key in a place.
func (j *Judge) list(n, at int32) {
	head := &j.keys.heads[at]
	if j.next[n] = *head; *head == unlisted {
		j.next[n] = none
		j.touched = append(j.touched, at)
	}
	*head = n
}

// admit counts a request and reports whether it is evidence about its key.
func (j *Judge) admit(o *Op, late int64) bool {
	if o.Sent < late {
		j.second.Late++
	}
	switch {
	case o.Kind == Other || o.Kind > Delete || o.Outcome > NotFound || o.End < o.Sent || o.Request <= NoRequest:
		j.second.Unjudged++
		return false
	case o.Kind == Read && o.Outcome == OK && !o.Known:
		j.second.Unnumbered++
		return false
	case o.Kind == Read && o.Outcome != NotFound && !o.Known, o.Kind == Delete && o.Outcome == Failed:
		j.second.Judged++ // it neither read nor changed anything
		return false
	}
	return true
}

// usual reports whether a request is evidence about its key that arrived in time, as most are.
func (o *Op) usual(late int64) bool {
	return o.Outcome == OK && (o.Kind == Write || o.Kind == Read && o.Known) && o.Sent >= late && o.End >= o.Sent && o.Request > NoRequest
}
