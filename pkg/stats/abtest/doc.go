// Package abtest decides whether B is better than A, worse, equivalent, or whether the
// measurements are too few to decide. Its unit is the run: everything inside one run
// shares that run's cluster and minute, so one run gives one value of each metric.
//
// Values are compared as natural logarithms, because a host that is 5 % slower makes
// both sides 5 % slower. A shift of s means that B is exp(s) times A. Runs made side by
// side are [Pairs], and only the differences within a pair count; runs made at other
// times are [Groups].
//
// A metric has two tests. The difference test is the exact signed rank of Wilcoxon, or
// for groups the exact rank sum; its p-values are adjusted by Holm over the metrics that
// decide. The equivalence test is two such tests against the margin on either side; it
// needs no adjustment, because the whole is equivalent only if every metric is. A metric
// that is shown to lie inside the margin is equivalent, even if its difference from 0 is
// certain.
//
// Looking again after more pairs has a price: [Rule.Looks] lists the numbers of pairs at
// which the tests look, and every p-value becomes that of the smallest one over all of
// these looks (the constant bound of Pocock).
//
// The package does not print, and nothing in it depends on time, so that the same
// numbers give the same verdict. Its functions may be called concurrently.
package abtest
