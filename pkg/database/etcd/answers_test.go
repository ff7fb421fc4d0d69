package etcd

import (
	"testing"

	"github.com/coreos/dbtester/pkg/databasetest"
)

// answersSuite is for recorded answers from the embedded etcd. Only recording them starts a server.
func answersSuite(t testing.TB, transport string) databasetest.Suite {
	t.Helper()
	s := suite()
	s.Addrs, s.Options = []string{"127.0.2.18"}, "transport: "+transport
	return s
}

// Whatever members answer, calls return without a panic and without allocating memory that is
// only claimed.
func TestRecordedAnswers(t *testing.T) {
	for _, transport := range []string{"lean", "grpc", "clientv3"} {
		t.Run(transport, func(t *testing.T) { databasetest.Answers(t, answersSuite(t, transport), transport) })
	}
}

// Each transport parses in its own way.
func FuzzAnswersLean(f *testing.F) { databasetest.FuzzAnswers(f, answersSuite(f, "lean"), "lean") }

func FuzzAnswersGRPC(f *testing.F) { databasetest.FuzzAnswers(f, answersSuite(f, "grpc"), "grpc") }

func FuzzAnswersLibrary(f *testing.F) {
	databasetest.FuzzAnswers(f, answersSuite(f, "clientv3"), "clientv3")
}
