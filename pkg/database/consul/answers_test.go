package consul

import (
	"testing"

	"github.com/coreos/dbtester/pkg/databasetest"
)

// answersSuite is for recorded answers from Consul. Only recording them starts a server.
func answersSuite(t testing.TB, transport string) databasetest.Suite {
	t.Helper()
	s := databasetest.Suite{Database: Database(), Addrs: []string{"127.0.5.15"}, Options: "transport: " + transport}
	if databasetest.Recording() {
		s.Tools = databasetest.Release(t, Database(), "1.21.0")
	}
	return s
}

// Whatever members answer, calls return without a panic and without allocating memory that is
// only claimed.
func TestRecordedAnswers(t *testing.T) {
	for _, transport := range []string{"lean", "standard"} {
		t.Run(transport, func(t *testing.T) { databasetest.Answers(t, answersSuite(t, transport), transport) })
	}
}

// Each transport parses in its own way.
func FuzzAnswersLean(f *testing.F) { databasetest.FuzzAnswers(f, answersSuite(f, "lean"), "lean") }

func FuzzAnswersStandard(f *testing.F) {
	databasetest.FuzzAnswers(f, answersSuite(f, "standard"), "standard")
}
