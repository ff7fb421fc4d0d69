package consistency

// Options describe a load to a judge.
type Options struct {
	// Initial returns the number of the value that a key has before the first request, Absent or
	// Unstated. Nil means Absent.
	Initial func(key int64) int64
	// Wrote reports whether a request, by number, wrote its value to a key, if the load knows. It
	// only distinguishes values that were replaced long ago from values that no request wrote.
	Wrote func(key, number int64) bool
	// Deletes is set if requests may delete keys.
	Deletes bool
	// Weaker is set if reads promise less than linearizability. Such reads get a staleness: the
	// time for which the value had surely been replaced when the read was sent.
	Weaker bool
	// Keys is the number of keys, from 0 on, that the load surely takes; memory for them, up to
	// MostKeys, is allocated at once.
	Keys int64
	// MostKeys bounds the judged keys; requests on later keys are only counted. 0 means 1<<20.
	MostKeys int
	// Remembered is the number of replaced values to remember, to explain reads of them. 0 means
	// 1<<15.
	Remembered int
	// MostUnknown bounds the writes with unknown outcomes that are kept until they are read. 0
	// means 1<<20. Reads of further ones are not judged.
	MostUnknown int
	// MostWitnesses bounds the kept witnesses. 0 means 100.
	MostWitnesses int
	// Sampled is the number of keys, the first that requests take, whose requests are recorded; see
	// [Judge.Sampled].
	Sampled int
}
