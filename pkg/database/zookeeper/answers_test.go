package zookeeper

import (
	"testing"

	"github.com/coreos/dbtester/pkg/databasetest"
)

// answersSuite is for recorded answers from ZooKeeper. Only recording them starts a server.
func answersSuite(t testing.TB, transport string) databasetest.Suite {
	t.Helper()
	s := databasetest.Suite{Database: Database(), Addrs: []string{"127.0.7.15"}, Options: small + "\nkey_parents: 20\ntransport: " + transport}
	if databasetest.Recording() {
		s.Tools = databasetest.Release(t, Database(), "3.9.5")
	}
	return s
}

// Whatever members answer, calls return without a panic and without allocating memory that is
// only claimed.
func TestRecordedAnswers(t *testing.T) {
	t.Parallel()
	for _, transport := range []string{"lean", "standard"} {
		t.Run(transport, func(t *testing.T) {
			t.Parallel()
			databasetest.Answers(t, answersSuite(t, transport), transport)
		})
	}
}

// Each transport parses in its own way.
func FuzzAnswersLean(f *testing.F) { databasetest.FuzzAnswers(f, answersSuite(f, "lean"), "lean") }

func FuzzAnswersStandard(f *testing.F) {
	databasetest.FuzzAnswers(f, answersSuite(f, "standard"), "standard")
}
