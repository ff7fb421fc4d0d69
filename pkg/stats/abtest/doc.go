// Package abtest decides whether B is better than A, worse or equivalent, or whether there are too
// few measurements to decide. Its unit is the run: everything inside a run shares its cluster and
// minute, so a run contributes one value per metric.
//
// Values are compared as natural logarithms, because a host that is 5 % slower makes both sides 5 %
// slower. A shift of s means that B is exp(s) times A. Runs made side by side form [Pairs], and
// only the differences within a pair count. Runs made at other times form [Groups].
//
// Each metric has two tests. The difference test is Wilcoxon's exact signed rank test or, for
// groups, the exact rank sum test. Its p-values are adjusted by Holm over the deciding metrics. The
// equivalence test consists of two such tests against the margin, one on either side. It needs no
// adjustment, because the whole is equivalent only if every metric is. A metric that is shown to
// lie inside the margin is equivalent even if it certainly differs from 0.
//
// Looking again after more pairs has a price. [Rule.Looks] lists the numbers of pairs at which the
// tests look, and every p-value becomes the probability that, without a shift, the smallest p-value
// over all these looks is as small (Pocock's constant bound).
//
// The package neither prints nor depends on time, so the same numbers always give the same verdict.
// Its functions are safe for concurrent use.
package abtest
