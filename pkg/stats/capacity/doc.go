// Package capacity searches for the rate that a server sustains under a latency limit: the rate at
// which a given share of windows pass. "The highest rate that passed" is not that number, because
// it grows with every lucky window.
//
// A window is some seconds of load at one rate, after the server has settled. It passes if enough
// offered requests were answered within the limit, counted from when they were due, and few enough
// failed. The search is a state machine without a clock: [Search.Next] returns a rate, the caller
// measures a window and passes it to [Search.Observe], and [Search.Verdict] is the result so far.
// The same windows always give the same rates and the same verdict.
//
// Windows at low rates may be longer than others, so that enough requests may miss the limit: the
// caller decides the length, by the rate alone. Then "the share of windows that pass" at a rate is
// the probability for equally long windows, and still falls with the rate. It need not fall where
// equally long windows have few requests: at 99 %, one of 199 may be slow, but two of 200. Near the
// final rate all windows are nearly equally long. Longer windows fail more often at any rate, by an
// occasional pause. So a search at low rates can find more lapses or stalls than one at high rates
// on the same server, and counts them like others.
//
// The model is that a window at the rate r passes with the probability
//
//	floor + (1 - floor - lapse) * Phi((mu - ln r) / sigma)
//
// and the search keeps the posterior over mu (the threshold), sigma (the variation between windows)
// and the lapse (windows that fail at any rate), on a grid. Each window lies near the rate in
// question, so that most windows teach something.
//
// Three cases are not thresholds, and have their own answers. A failed window in which the
// server paused for longer than the limit may have failed at any rate. Such windows are
// counted separately, and if there are too many, no rate passes often enough ([Stalls]). If
// low rates do not stall, they failed because of their rate. A window that failed because
// the client was late is void, and three in a row end the search ([ClientLimited]). A full
// store also ends it ([StoreFull]).
package capacity
