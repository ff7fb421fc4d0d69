// Package capacity searches for the rate that a server sustains under a limit on
// latency: the rate at which a given share of windows pass. "The highest rate that
// passed" would be no such number, because it grows with every lucky window.
//
// A window is some seconds of load at one rate, after the server has settled. It passes
// if enough of all requests that were offered were answered within the limit, counted
// from when they were due, and few enough failed. The search is a state machine without
// a clock: [Search.Next] gives a rate, the caller measures a window and gives it to
// [Search.Observe], and [Search.Verdict] is what is known so far. The same windows
// always give the same rates and the same verdict.
//
// Windows at low rates may be longer than others, so that enough of their requests may miss
// the limit: the caller decides how long, by nothing but the rate. Then "the share of windows
// that pass" at a rate is that of windows of its length, and still falls with the rate. It
// need not do so where windows of one length have few requests: of 199 one may be slow at
// 99 %, and of 200 two. Near the rate that is found all windows have nearly one length. Those
// that fail at any rate, by a pause now and then, are more in longer windows: a search at
// low rates can find more lapses or stalls than one at high rates of the same server, and
// counts them as it counts others.
//
// The model is that a window at the rate r passes with the probability
//
//	floor + (1 - floor - lapse) * Phi((mu - ln r) / sigma)
//
// and the search keeps the posterior over mu (the threshold), sigma (how much windows
// vary) and the lapse (windows that fail at any rate), on a grid. Each window lies near
// the rate in question, so that most windows teach something.
//
// Three things are no thresholds, and have answers of their own. A failed window in
// which the server paused for longer than the limit may have failed at any rate: such
// windows are counted apart, and if they are too many no rate passes often enough
// ([Stalls]). Where low rates do not stall, they failed because of their rate. A window that failed because the client was late is void, and three in a row end the
// search ([ClientLimited]). A full store ends it too ([StoreFull]).
package capacity
